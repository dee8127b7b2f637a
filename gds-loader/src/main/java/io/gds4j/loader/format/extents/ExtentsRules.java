package io.gds4j.loader.format.extents;

import io.gds4j.loader.format.CheckpointRule;

/** The rules for lists of extents. */
final class ExtentsRules {
    /** A list that is not JSON of the expected structure. */
    static final CheckpointRule LIST = new CheckpointRule("ExtentsList", "broken list of extents");
    /** A file outside the list's folder. */
    static final CheckpointRule FILE_NAME = new CheckpointRule("ExtentsFileName", "broken list of extents");
    /** Bytes that do not match type and shape. */
    static final CheckpointRule SIZE = new CheckpointRule("ExtentsSize", "broken list of extents");
    /** An extent that reaches past the end of its file. */
    static final CheckpointRule OUTSIDE = new CheckpointRule("ExtentsOutside", "wrong file length");

    private ExtentsRules() {
    }
}
