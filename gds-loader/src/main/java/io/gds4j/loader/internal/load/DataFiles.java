package io.gds4j.loader.internal.load;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.internal.CheckedFiles;
import io.gds4j.source.FileVersion;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The files of a load. */
public final class DataFiles extends CheckedFiles {
    private final LoadOptions options;
    private final List<CheckpointFile> files;

    DataFiles(CuFileDriver driver, LoadOptions options, List<CheckpointFile> files) {
        super(
                driver,
                versions(files),
                options.io().direct() ? new OpenOption[]{CuFileOpenOption.DIRECT} : new OpenOption[0]);
        this.options = options;
        this.files = files;
    }

    /** A read of a file, which returns the number of bytes. */
    interface Read {
        long of(CuFileHandle handle);
    }

    /** Returns the versions of files by their paths. */
    static Map<Path, FileVersion> versions(List<CheckpointFile> files) {
        Map<Path, FileVersion> versions = HashMap.newHashMap(files.size());
        files.forEach(file -> versions.put(file.path(), file.version()));
        return versions;
    }

    /** Opens all files once. */
    void openAll(Runnable beforeEach) {
        openAll(files.stream().map(CheckpointFile::path).toList(), beforeEach);
    }

    /** @throws CheckpointException FILE_CHANGED if the read brings fewer bytes than requested */
    void read(int index, long fileOffset, long requested, Read read) {
        CheckpointFile file = files.get(index);
        use(file.path(), handle -> {
            long count = read.of(handle);
            if (count < requested) {
                throw CheckpointException.of(
                        CheckpointRule.FILE_CHANGED,
                        file.path(),
                        Math.min(handle.size(), fileOffset + count),
                        "the file ends here now; it had %s bytes when its header was read".formatted(file.size()));
            }
        });
    }

    @Override
    protected void opened(Path path, CuFileHandle handle) {
        DirectStorageDemand.check(options.directStorage(), path, handle);
        super.opened(path, handle);
    }
}
