package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.internal.FileSize;
import java.util.List;

/** Opens the files of a load and notices that one has changed since its header was read. */
final class DataFile {
    private DataFile() {
    }

    /** Opens a file as the options ask, and adds it to the open ones before any check can fail. */
    static void open(CuFileDriver driver, CheckpointFile file, LoadOptions options, List<CuFileHandle> open) {
        CuFileHandle handle = options.io().direct()
                ? driver.openFile(file.path(), CuFileOpenOption.DIRECT)
                : driver.openFile(file.path());
        open.add(handle);
        DirectStorageDemand.check(options.directStorage(), file.path(), handle);
        FileSize.check(file.path(), file.size(), handle.size());
    }

    /** Throws if a read has brought fewer bytes than requested. */
    static void checkCount(CheckpointFile file, CuFileHandle handle, long fileOffset, long count, long requested) {
        if (count < requested) {
            throw CheckpointException.of(
                    CheckpointRule.FILE_CHANGED,
                    file.path(),
                    Math.min(handle.size(), fileOffset + count),
                    "the file ends here now; it had %s bytes when its header was read".formatted(file.size()));
        }
    }
}
