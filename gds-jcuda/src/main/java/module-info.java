/** Converts pointers and streams between gds4j and JCuda. */
module io.gds4j.jcuda {
    requires transitive io.gds4j;
    requires io.gds4j.ffi;
    requires jcuda;

    exports io.gds4j.jcuda;
}
