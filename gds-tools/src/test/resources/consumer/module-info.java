/** A user of gds4j, which requires only the API: the module system resolves the backends. */
module consumer {
    requires io.gds4j;
}
