package io.gds4j.loader.internal;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileException;
import io.gds4j.source.FileVersion;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Map;

/** Files whose headers were read. Each must be the same file when a driver opens it and when its use ends. Thread-safe. */
public class CheckedFiles extends OpenFiles<CuFileHandle> {
    private final CuFileDriver driver;
    private final Map<Path, FileVersion> versions;
    private final OpenOption[] options;

    /**
     * @param versions versions of the files when their headers were read; must not change
     * @param options how to open them
     */
    public CheckedFiles(CuFileDriver driver, Map<Path, FileVersion> versions, OpenOption... options) {
        this.driver = driver;
        this.versions = Collections.unmodifiableMap(versions); // a copy takes 14 ms for 10,000 files
        this.options = options.clone();
    }

    /** Returns the versions of the files when their headers were read. */
    public final Map<Path, FileVersion> versions() {
        return versions;
    }

    @Override
    protected CuFileHandle openFile(Path path) {
        try {
            return driver.openFile(path, options);
        } catch (CuFileException e) {
            throw unopened(path, e);
        }
    }

    /**
     * Compares the version of a file after a failed read, which may have met its end.
     *
     * @throws io.gds4j.loader.format.CheckpointException FILE_CHANGED if the file has become too short
     */
    public final void checkAfter(CuFileException failed, Path path, CuFileHandle handle) {
        if (failed.errno().isEmpty()) {
            finishFile(path, handle);
        }
    }

    @Override
    protected final void finishFile(Path path, CuFileHandle handle) {
        check(path, versions.get(path), handle.version());
    }

    @Override
    protected final void closeFile(CuFileHandle handle) {
        handle.close();
    }
}
