package io.gds4j.loader;

import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.Recognition;

/** A format of a test, which describes any file as the test wants. */
@FunctionalInterface
public interface TestFormat extends CheckpointFormat {
    @Override
    default String id() {
        return "test";
    }

    @Override
    default Recognition recognize(FileHead head) {
        return Recognition.RECOGNIZED;
    }
}
