package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.plain.PlainBackend;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.CheckedFiles;
import io.gds4j.loader.internal.MovedBytes;
import io.gds4j.loader.internal.Workers;
import io.gds4j.loader.internal.search.CheckpointFiles;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.source.FileVersion;
import io.gds4j.source.SourcePath;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads a saved checkpoint back and compares the CRC32C of every tensor with the one in its file
 * ({@link SaveOptions#checksums}).
 *
 * <pre>{@code
 * ChecksumReport report = ChecksumVerifier.verify(Path.of("step-1000"));
 * }</pre>
 *
 * @since 0.1
 */
public final class ChecksumVerifier {
    private static final String FUNCTION = "ChecksumVerifier.verify";
    private static final int READS_IN_FLIGHT = 4;

    /** Bytes of a tensor: {@code length} of them, from {@code offset} of its file on. */
    private record Part(int tensor, long offset, long length) {
    }

    private final CuFileDriver driver;
    private final List<CheckpointFile> checkpoint;
    private final CheckedFiles files;
    private final List<TensorInfo> tensors = new ArrayList<>();
    private final List<Integer> expected = new ArrayList<>();
    private final List<String> unchecked = new ArrayList<>();
    private final List<Part> parts = new ArrayList<>();
    private final MovedBytes moved = new MovedBytes();

    private ChecksumVerifier(CuFileDriver driver, List<CheckpointFile> checkpoint, FileCalls calls) {
        this.driver = driver;
        this.checkpoint = checkpoint;
        Map<Path, FileVersion> versions = new HashMap<>();
        checkpoint.forEach(file -> versions.put(file.path(), file.version()));
        this.files = new CheckedFiles(driver, versions, CuFileOpenOption.DIRECT) {
            @Override
            protected CuFileHandle openFile(Path path) {
                try {
                    if (!(path instanceof SourcePath)) {
                        calls.dropCached(path);
                    }
                } catch (CuFileException e) {
                    throw unopened(path, e);
                }
                return super.openFile(path);
            }
        };
    }

    /**
     * Reads with O_DIRECT by a driver of its own, so that the bytes come from the disk and not from the page cache. What the page
     * cache holds is dropped first: the last bytes of a file, and files on file systems without direct I/O, come from the disk, too. The
     * exceptions are file systems in memory, and such bytes while a process maps them. Without native access, and on other systems than
     * Linux, java.nio reads, also from the page cache.
     *
     * @param path as of {@link io.gds4j.loader.Checkpoint#open}
     * @throws CuFileException as {@link #verify(CuFileDriver, Path)} and {@link CuFileDriver#open(CuFileConfig)}
     */
    public static ChecksumReport verify(Path path) {
        CuFileConfig config = CuFileConfig.builder().set(CuFileKeys.FORCE_ODIRECT_MODE, true).build();
        boolean isPlain = SystemFileCalls.ofProcess() != SystemFileCalls.INSTANCE;
        try (CuFileDriver driver =
                isPlain ? CuFileDriver.open(new PlainBackend()) : CuFileDriver.open(config)) {
            return verify(driver, path);
        }
    }

    /**
     * Reads by a driver of the program. What the page cache holds is dropped first; the driver may take bytes from the cache that
     * other readers bring there meanwhile.
     *
     * @param path as of {@link io.gds4j.loader.Checkpoint#open}
     * @throws io.gds4j.loader.format.CheckpointException FILE_CHANGED if a file changed after its header was read
     * @throws CuFileException as {@link io.gds4j.loader.Checkpoint#open} and {@link CuFileHandle#readFully(io.gds4j.memory.IoMemory, long)};
     *         INVALID_VALUE if the checksums of a file are malformed
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static ChecksumReport verify(CuFileDriver driver, Path path) {
        return verify(driver, path, SystemFileCalls.ofProcess());
    }

    /** Verifies with file system calls that a test may replace. */
    static ChecksumReport verify(CuFileDriver driver, Path path, FileCalls calls) {
        CheckpointFiles found = CheckpointFiles.open(path, false);
        found.tensors(); // refuses tensors that two files have
        return new ChecksumVerifier(driver, found.files(), calls).run();
    }

    private ChecksumReport run() {
        long start = System.nanoTime();
        checkpoint.forEach(this::expect);
        int[] crcs = new int[parts.size()];
        try (files) {
            new Workers("gds-verify-", READS_IN_FLIGHT, parts.size(), () -> new Reader(crcs)).run(FUNCTION);
            files.finish();
        }
        List<String> different = compare(crcs);
        long bytes = tensors.stream().mapToLong(TensorInfo::length).sum();
        return new ChecksumReportParts(
                tensors.size(), bytes, (System.nanoTime() - start) / 1e9, different, unchecked, moved.byPath());
    }

    private void expect(CheckpointFile file) {
        List<TensorInfo> withBytes = file.tensors().stream().filter(tensor -> tensor.length() > 0).toList();
        Map<String, Integer> recorded = TensorChecksums.recorded(file);
        for (TensorInfo tensor : withBytes) {
            Integer crc = recorded.get(tensor.name());
            if (crc == null) {
                unchecked.add(tensor.name());
                continue;
            }
            expected.add(crc);
            for (long offset = tensor.fileOffset(); offset < tensor.fileEnd();) {
                long end = Math.min(tensor.fileEnd(), (offset & -WriteRange.BUFFER) + WriteRange.BUFFER);
                parts.add(new Part(tensors.size(), offset, end - offset));
                offset = end;
            }
            tensors.add(tensor);
        }
    }

    private List<String> compare(int... crcs) {
        int[] joined = new int[tensors.size()];
        for (int i = 0; i < crcs.length; i++) {
            Part part = parts.get(i);
            joined[part.tensor] = TensorChecksums.combine(joined[part.tensor], crcs[i], part.length);
        }
        List<String> different = new ArrayList<>();
        for (int i = 0; i < joined.length; i++) {
            if (joined[i] != expected.get(i)) {
                different.add(tensors.get(i).name());
            }
        }
        return different;
    }

    /** Reads parts on one thread. */
    private final class Reader implements Workers.Worker {
        private final int[] crcs;
        private final MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, WriteRange.BUFFER);

        Reader(int... crcs) {
            this.crcs = crcs;
        }

        @Override
        public void work(int number) {
            Part part = parts.get(number);
            TensorInfo tensor = tensors.get(part.tensor);
            try (CheckedFiles.Share share = files.borrow(tensor.file())) {
                try {
                    crcs[number] = TensorChecksums.of(share.file(), part.offset, part.length, memory, moved);
                } catch (CuFileException e) {
                    files.checkAfter(e, tensor.file(), share.file());
                    throw e;
                }
            }
        }

        @Override
        public void close() {
            memory.close();
        }
    }
}
