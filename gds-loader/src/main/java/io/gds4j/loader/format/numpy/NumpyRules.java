package io.gds4j.loader.format.numpy;

import io.gds4j.loader.format.CheckpointRule;

/** The rules for NumPy arrays, besides those for zip files. */
final class NumpyRules {
    /** A header that is cut, too large or not a dict of descr, fortran_order and shape. */
    static final CheckpointRule HEADER = new CheckpointRule("NpyHeader", "broken NumPy header");
    /** A type that is broken, or that this format does not read, such as Python objects. */
    static final CheckpointRule DESCRIPTION = new CheckpointRule("NpyDescr", "array cannot be loaded");
    /** Less data than type and shape need. */
    static final CheckpointRule DATA = new CheckpointRule("NpyData", "wrong data length");

    private NumpyRules() {
    }
}
