module consumer {
    requires io.gds4j.all;
}
