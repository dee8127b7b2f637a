package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.IoResult;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.internal.MovedBytes;
import io.gds4j.loader.internal.OpenFiles;
import io.gds4j.memory.IoMemory;
import io.gds4j.source.FileVersion;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The files that a save writes, by their numbers. A file that is closed before the save ends is forced to the disk first: a later
 * descriptor might not learn of a write that failed. Thread-safe, once all files are added.
 */
final class OutputFiles extends OpenFiles<CuFileHandle> {
    private final CuFileDriver driver;
    private final boolean direct;
    private final MovedBytes moved;
    private final List<Path> paths = new ArrayList<>();
    /** How to create the files that do not exist yet. */
    private final Map<Path, OpenOption> creations = new ConcurrentHashMap<>();
    /** Files with writes that are not forced to the disk. */
    private final Set<Path> written = ConcurrentHashMap.newKeySet();
    /** Which files they are: others could lay a link at a name while the file is closed. */
    private final Map<Path, FileVersion> versions = new ConcurrentHashMap<>();

    /** @param moved counts the bytes */
    OutputFiles(CuFileDriver driver, boolean direct, MovedBytes moved) {
        this.driver = driver;
        this.direct = direct;
        this.moved = moved;
    }

    /** Adds a file and creates it. */
    void create(Path path, OpenOption creation) {
        creations.put(path, creation);
        paths.add(path);
        borrow(path).close();
    }

    /** Forgets all files, which are closed. */
    void forget() {
        paths.clear();
    }

    Share borrow(int number) {
        return borrow(paths.get(number));
    }

    /** Writes as {@link CuFileHandle#write(IoMemory, long, long, long)}. */
    void write(int number, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        Path path = paths.get(number);
        IoResult result = new IoResult();
        try (Share share = borrow(path)) {
            written.add(path);
            share.file().write(memory, size, fileOffset, bufferOffset, result);
        } finally {
            moved.add(result);
        }
    }

    /** Forces a file to the disk. */
    void force(int number) {
        Path path = paths.get(number);
        try (Share share = borrow(path)) {
            force(path, share.file());
        }
    }

    private void force(Path path, CuFileHandle handle) {
        written.remove(path);
        handle.force(false);
    }

    @Override
    protected CuFileHandle openFile(Path path) {
        Set<OpenOption> options = new HashSet<>(Set.of(StandardOpenOption.WRITE));
        OpenOption creation = creations.get(path);
        if (creation != null) {
            options.add(creation);
        }
        if (direct) {
            options.add(CuFileOpenOption.DIRECT);
        }
        try {
            CuFileHandle handle = driver.openFile(path, options.toArray(OpenOption[]::new));
            creations.remove(path);
            return handle;
        } catch (CuFileException e) {
            throw e.errno().orElse(0) == Errno.ENOENT && versions.containsKey(path) ? SaveFailure.replaced(path) : e;
        }
    }

    @Override
    protected void opened(Path path, CuFileHandle handle) {
        FileVersion known = versions.putIfAbsent(path, handle.version());
        if (known != null && !handle.version().isSameFileAs(known)) {
            throw SaveFailure.replaced(path);
        }
    }

    @Override
    protected void finishFile(Path path, CuFileHandle handle) {
        if (written.contains(path)) {
            force(path, handle);
        }
    }

    @Override
    protected void closeFile(CuFileHandle handle) {
        handle.close();
    }
}
