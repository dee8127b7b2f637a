/** Objects of HTTP servers as sources of gds4j. */
module io.gds4j.remote {
    requires transitive io.gds4j;
    requires transitive java.net.http;

    exports io.gds4j.remote;
}
