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
final class DataFiles extends CheckedFiles {
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

    Share borrow(int index) {
        return borrow(files.get(index).path());
    }

    /** @throws CheckpointException FILE_CHANGED if a read brought fewer bytes than requested */
    void checkComplete(int index, CuFileHandle handle, long fileOffset, long requested, long count) {
        if (count < requested) {
            CheckpointFile file = files.get(index);
            throw CheckpointException.of(
                    CheckpointRule.FILE_CHANGED,
                    file.path(),
                    Math.min(handle.size(), fileOffset + count),
                    "the file ends here now; it had %s bytes when its header was read".formatted(file.size()));
        }
    }

    @Override
    protected void opened(Path path, CuFileHandle handle) {
        DirectStorageDemand.check(options.directStorage(), path, handle);
        super.opened(path, handle);
    }
}
