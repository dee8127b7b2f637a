package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.internal.Workers;
import io.gds4j.loader.internal.text.OneLine;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/**
 * One of several writers that save one checkpoint together, each with some of the tensors, in this or in other processes.
 *
 * <pre>{@code
 * SavePlan plan = SavePlan.builder()
 *         .tensor("experts.0", DType.BF16, memory, 4096, 1024)    // of this writer
 *         .elsewhere("experts.1", DType.BF16, 4096, 1024)         // of another one
 *         .toFolder(folder);
 * SharedSave save = SharedSave.of(plan, "step-1000", rank, world);
 * save.write(driver);                                             // each writer
 * barrier();                                                      // of the program
 * if (rank == 0) {
 *     save.commit(driver);                                        // one of them
 * }
 * }</pre>
 *
 * <p>
 * All writers add the same tensors in the same order, with the same metadata and options. Each tensor has its memory in one of
 * them. They write disjoint ranges of whole pages to the same temporary files. Bytes of pages that writers share go to a hidden
 * file of each writer, and the one that commits puts them together. So no two of them write to one page, and the folder may be
 * on a network file system. The mode of the plan has no effect: tensors must not change during {@link #write}.
 *
 * <p>
 * Thread-safe. An interrupt has no effect on a call that runs.
 *
 * @since 0.1
 */
public final class SharedSave {
    private static final int MOST_WRITERS = 99_999;
    private static final int ID_BYTES = 8;
    private static final String INODE = "unix:ino";

    private final SaveContent content;
    private final FileCalls calls = FileCalls.SYSTEM;
    private final String id;
    private final int rank;
    private final int world;

    private SharedSave(SaveContent content, String id, int rank, int world) {
        this.content = content;
        this.id = id;
        this.rank = rank;
        this.world = world;
    }

    /**
     * Returns one writer of a save.
     *
     * @param plan the tensors of all writers
     * @param name a name that all writers of this save give and no earlier save of the same files has, such as the step
     * @param rank number of this writer, from 0
     * @param world number of writers, 1 to 99,999
     * @throws CuFileException INVALID_VALUE if a number is out of range
     */
    public static SharedSave of(SavePlan plan, String name, int rank, int world) {
        Objects.requireNonNull(name, "name");
        if (world < 1 || world > MOST_WRITERS || rank < 0 || rank >= world) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    "SharedSave.of",
                    "writer %d of %d: allowed are 1 to %d writers, numbered from 0".formatted(rank, world,
                            MOST_WRITERS));
        }
        byte[] digest = sha256(List.of(name.getBytes(StandardCharsets.UTF_8)));
        return new SharedSave(plan.content(), HexFormat.of().formatHex(digest, 0, ID_BYTES), rank, world);
    }

    /**
     * Writes the tensors of this writer and forces them to the disk. The old checkpoint remains. After a failure the program calls
     * it again, or {@link #abandon} once.
     *
     * @return what this writer has written
     * @throws CuFileException as {@link SavePlan#save(CuFileDriver)}; IO_ERROR (ESTALE) if another save removed the files
     *         meanwhile
     */
    public SaveReport write(CuFileDriver driver) {
        Objects.requireNonNull(driver, "driver");
        return uninterrupted(() -> writeNow(driver));
    }

    /**
     * Replaces the old checkpoint. One writer calls it, after {@link #write} of all writers has returned.
     *
     * @return the whole checkpoint
     * @throws CuFileException as {@link SavePlan#save(CuFileDriver)}; INVALID_VALUE if a writer has not finished, if a tensor
     *         has no writer or two, or if writers have different plans. The files remain until {@link #abandon}
     */
    public SaveReport commit(CuFileDriver driver) {
        Objects.requireNonNull(driver, "driver");
        return uninterrupted(() -> commitNow(driver));
    }

    /**
     * Removes the files of all writers, which have ended; for a save that is given up. The next save of the same name removes them,
     * too.
     *
     * @throws CuFileException with an errno if a file cannot be deleted
     */
    public void abandon() {
        publication().abandon();
        removeShares();
    }

    private SaveReport writeNow(CuFileDriver driver) {
        long start = System.nanoTime();
        Map<IoPath, Long> before = driver.bytesByPath();
        SaveTarget target = content.target();
        Publication publication = publication();
        call(target.folder(), "create the folder", () -> {
            if (target.isFolder()) {
                calls.createFolder(target.folder());
            }
        });
        call(share(rank), "delete the file", () -> calls.delete(share(rank)));
        List<Run> runs = Run.of(content.files());
        ShareFile share;
        try (Snapshot sources = Snapshot.none(content);
                FileWriter writer = writer(driver, sources)) {
            List<ShareFile.Fragment> fragments = writer.writeShare(publication, runs);
            share = new ShareFile(
                    world, layout(), inodes(publication), tensors(runs, writer.shareChecksums()), fragments);
        }
        call(share(rank), "write the file", () -> calls.write(share(rank), share.toBytes()));
        call(target.folder(), "force the folder to the disk", () -> calls.sync(target.folder()));
        long bytes = share.tensors()
                .stream()
                .mapToLong(tensor -> content.files().get(tensor.file()).tensors().get(tensor.tensor()).bytes())
                .sum();
        double seconds = (System.nanoTime() - start) / 1e9;
        return new SaveReport(
                content.files().size(), share.tensors().size(), bytes, content.alignedTensors(), seconds, seconds, 0,
                moved(driver, before));
    }

    private SaveReport commitNow(CuFileDriver driver) {
        long start = System.nanoTime();
        Map<IoPath, Long> before = driver.bytesByPath();
        SaveTarget target = content.target();
        Publication publication = publication();
        try {
            SaveLock lock = SaveLock.take(target.folder(), target.lockName());
            try {
                List<ShareFile> shares = shares(publication);
                try (Snapshot sources = Snapshot.none(content);
                        FileWriter writer = writer(driver, sources)) {
                    writer.writeShared(publication, new SharedPages(content.files()).of(shares));
                }
                if (!publication.publish()) {
                    throw CuFileException.builder(SaveFailure.FUNCTION)
                            .error(CuFileError.IO_NOT_SUPPORTED)
                            .errno(Errno.EOPNOTSUPP)
                            .path(target.path())
                            .detail("the file system renames no files, which several writers need")
                            .build();
                }
                removeShares();
            } finally {
                lock.close();
            }
        } catch (IOException e) {
            throw SaveFailure.of(target.path(), "write to the folder", e);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        return new SaveReport(
                content.files().size(), content.tensors(), content.bytes(), content.alignedTensors(), seconds, 0,
                seconds, moved(driver, before));
    }

    private Publication publication() {
        return new Publication(content.target(), calls, content.files(), id);
    }

    private FileWriter writer(CuFileDriver driver, Snapshot sources) {
        return new FileWriter(content, driver, sources, new Control(), SaveListener.NONE);
    }

    private Path share(int writer) {
        return content.target().folder().resolve(content.target().shareName(id, writer));
    }

    private void removeShares() {
        for (int i = 0; i < world; i++) {
            Path share = share(i);
            call(share, "delete the file", () -> calls.delete(share));
        }
    }

    private static List<ShareFile.Tensor> tensors(List<Run> runs, List<int[]> checksums) {
        List<ShareFile.Tensor> tensors = new ArrayList<>();
        for (Run run : runs) {
            for (int i = run.first(); i < run.last(); i++) {
                tensors.add(new ShareFile.Tensor(run.file(), i, checksums.get(run.file())[i]));
            }
        }
        return tensors;
    }

    private List<ShareFile> shares(Publication publication) {
        List<Long> inodes = inodes(publication);
        List<ShareFile> shares = new ArrayList<>();
        for (int i = 0; i < world; i++) {
            Path path = share(i);
            if (!Files.exists(path)) {
                throw CuFileException.builder(SaveFailure.FUNCTION)
                        .error(CuFileError.INVALID_VALUE)
                        .path(path)
                        .detail("writer %d of %d has not finished".formatted(i, world))
                        .build();
            }
            try {
                byte[] bytes = calls.read(path).getBytes(StandardCharsets.ISO_8859_1);
                ShareFile share = ShareFile.parse(path, bytes, world, layout(), content.files());
                if (!share.inodes().equals(inodes)) {
                    throw replaced(path);
                }
                shares.add(share);
            } catch (IOException e) {
                throw SaveFailure.of(path, "read the file", e);
            }
        }
        return shares;
    }

    /** Returns what tells the temporary files from others of the same names. */
    private List<Long> inodes(Publication publication) {
        List<Long> inodes = new ArrayList<>();
        for (int i = 0; i < content.files().size(); i++) {
            Path file = publication.temporary(i);
            try {
                inodes.add((Long) Files.getAttribute(file, INODE));
            } catch (IOException e) {
                throw replaced(file);
            }
        }
        return inodes;
    }

    private static CuFileException replaced(Path file) {
        return CuFileException.builder(SaveFailure.FUNCTION)
                .error(CuFileError.IO_ERROR)
                .errno(Errno.ESTALE)
                .path(file)
                .detail("another save has removed the files of this one")
                .build();
    }

    /** Returns a digest of the files, their tensors and offsets. */
    private long layout() {
        List<byte[]> headers = new ArrayList<>();
        for (SaveFile file : content.files()) {
            headers.add(file.header(new int[file.tensors().size()]));
        }
        byte[] digest = sha256(headers);
        return ByteBuffer.wrap(digest).getLong();
    }

    private static byte[] sha256(List<byte[]> parts) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            parts.forEach(sha::update);
            return sha.digest();
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-256", e);
        }
    }

    private static Map<IoPath, Long> moved(CuFileDriver driver, Map<IoPath, Long> before) {
        Map<IoPath, Long> paths = new EnumMap<>(IoPath.class);
        driver.bytesByPath().forEach((path, bytes) -> {
            long moved = bytes - before.getOrDefault(path, 0L);
            if (moved > 0) {
                paths.put(path, moved);
            }
        });
        return paths;
    }

    private interface Call {
        void run() throws IOException;
    }

    private static void call(Path path, String action, Call call) {
        try {
            call.run();
        } catch (IOException e) {
            throw SaveFailure.of(path, action, e);
        }
    }

    /** Runs on a thread that no program interrupts: an interrupt would close channels in the middle of a save. */
    private static SaveReport uninterrupted(Supplier<SaveReport> work) {
        try {
            return CompletableFuture
                    .supplyAsync(work, task -> Thread.ofPlatform().name("gds-save").daemon().start(task))
                    .join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException failure ? failure : e;
        }
    }

    /** A save that nothing cancels. */
    private static final class Control implements SaveControl {
        @Override
        public void run(Workers workers) {
            try {
                workers.run();
            } catch (InterruptedException e) {
                throw Workers.interrupted(SaveFailure.FUNCTION);
            }
            workers.<RuntimeException>throwFailure();
        }

        @Override
        public void checkStopped() {
            // nothing stops it
        }
    }

    @Override
    public String toString() {
        return "SharedSave[writer %d of %d, %s]".formatted(
                rank, world, OneLine.of(content.target().path().toString(), 200));
    }
}
