/** A user of gds4j: names the API alone, the backends come by themselves. */
module consumer {
    requires io.gds4j;
}
