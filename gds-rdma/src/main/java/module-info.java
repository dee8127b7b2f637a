/** RDMA verbs over gds4j's memory: domains, regions, windows, queue pairs, and files sent to peers. */
module io.gds4j.rdma {
    requires transitive io.gds4j;
    requires io.gds4j.ffi;

    exports io.gds4j.rdma;
}
