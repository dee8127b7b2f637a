package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.InertText;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * One of several writers that save one checkpoint together, each with some of the tensors, in this or in other processes.
 *
 * <pre>{@code
 * SavePlan plan = SavePlan.builder()
 *         .tensor("experts.0", DType.BF16, memory, 4096, 1024)    // of this writer
 *         .elsewhere("experts.1", DType.BF16, 4096, 1024)         // of another one
 *         .toFolder(folder);
 * CollectiveSave save = CollectiveSave.of(plan, "step-1000", rank, world);
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
 * on a network file system. Each writer has the plan's {@link Consistency}, snapshot memory, streams and progress for itself.
 *
 * <p>
 * Thread-safe. An interrupt or {@code cancel} ends a write of this process; it has no effect on a commit that runs.
 *
 * @since 0.1
 */
public final class CollectiveSave {
    private static final int MAX_WRITERS = 99_999;
    private static final int ID_BYTES = 8;
    private static final int MAX_SHARE = Integer.MAX_VALUE - 8;

    private final SaveContent content;
    private final FileCalls calls;
    private final String name;
    /** Link that tells the writers the random part of their names. */
    private final Path secret;
    private final int rank;
    private final int world;
    /** Random part of the names that this writer has used last: another save may have removed the link. */
    private volatile String used = "";

    private CollectiveSave(SaveContent content, FileCalls calls, String name, int rank, int world) {
        this.content = content;
        this.calls = calls;
        this.name = name;
        SaveTarget target = content.target();
        this.secret = target.folder().resolve(target.secretName(ids("").getFirst()));
        this.rank = rank;
        this.world = world;
    }

    /**
     * Returns one writer of a save.
     *
     * @param plan the tensors of all writers
     * @param name a name that all writers of this save give, such as the step. A save or a commit that was interrupted may be repeated
     *        with the same name. No writer begins another save of this name before the commit has returned
     * @param rank number of this writer, from 0
     * @param world number of writers, 1 to 99,999
     * @throws CuFileException INVALID_VALUE if a number is out of range
     */
    public static CollectiveSave of(SavePlan plan, String name, int rank, int world) {
        Objects.requireNonNull(name, "name");
        if (world < 1 || world > MAX_WRITERS || rank < 0 || rank >= world) {
            throw CuFileException.invalid("CollectiveSave.of",
                    "writer %s of %s: allowed are 1 to %s writers, numbered from 0"
                            .formatted(rank, world, MAX_WRITERS));
        }
        plan.content().target().ofFiles("CollectiveSave.of");
        return new CollectiveSave(plan.content(), FileCalls.SYSTEM, name, rank, world);
    }

    /** Returns the same writer with other calls, for tests. */
    CollectiveSave with(FileCalls other) {
        return new CollectiveSave(content, other, name, rank, world);
    }

    /**
     * Returns two identifiers of the save. All writers take the first whose files are not those of the checkpoint: it has one of them
     * if a save of the same name was interrupted while it replaced the old checkpoint.
     */
    private List<String> ids(String random) {
        byte[] digest = sha256(
                List.of(random.getBytes(StandardCharsets.UTF_8), name.getBytes(StandardCharsets.UTF_8)));
        return List.of(
                HexFormat.of().formatHex(digest, 0, ID_BYTES),
                HexFormat.of().formatHex(digest, ID_BYTES, 2 * ID_BYTES));
    }

    /** Writes without a listener; see {@link #write(CuFileDriver, SaveListener)}. */
    public SaveReport write(CuFileDriver driver) {
        return write(driver, SaveListener.NONE);
    }

    /**
     * Writes the tensors of this writer and forces them to the disk. The old checkpoint remains. After a failure or an interrupt the
     * program calls it again, or {@link #abandon} once. If the files could not be forced to the disk, the files of all writers are gone, and
     * all write again.
     *
     * @param listener receives progress: of the bytes of this writer
     * @return what this writer has written
     * @throws CuFileException as {@link SavePlan#save(CuFileDriver)}; IO_ERROR (ESTALE) if another save removed the files
     *         meanwhile
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public SaveReport write(CuFileDriver driver, SaveListener listener) {
        return start(driver, listener).await();
    }

    /** Writes without a listener; see {@link #writeAsync(CuFileDriver, SaveListener)}. */
    public CompletableFuture<SaveReport> writeAsync(CuFileDriver driver) {
        return writeAsync(driver, SaveListener.NONE);
    }

    /**
     * Starts {@link #write(CuFileDriver, SaveListener)} and returns its future, as {@link SavePlan#saveAsync(CuFileDriver,
     * SaveListener)} does: with a snapshot, when the tensors of this writer may change again. {@code cancel} waits for the
     * writes in flight; the save then lacks this writer until it writes again.
     *
     * @param listener receives progress: of the bytes of this writer
     */
    public CompletableFuture<SaveReport> writeAsync(CuFileDriver driver, SaveListener listener) {
        SaveFuture future = start(driver, listener);
        if (content.options().consistency() != Consistency.STOP) {
            future.awaitReleased();
        }
        return future;
    }

    private SaveFuture start(CuFileDriver driver, SaveListener listener) {
        Objects.requireNonNull(driver, "driver");
        Objects.requireNonNull(listener, "listener");
        return SaveFuture.start(released -> new Write(driver, listener, released));
    }

    /**
     * Replaces the old checkpoint. One writer calls it, after {@link #write} of all writers has returned.
     *
     * @return the whole checkpoint
     * @throws CuFileException as {@link SavePlan#save(CuFileDriver)}; INVALID_VALUE if a writer has not finished, if a tensor
     *         has no writer or two, or if writers have different plans. The files remain until {@link #abandon}, unless they could not be
     *         forced to the disk: then all writers write again
     */
    public SaveReport commit(CuFileDriver driver) {
        Objects.requireNonNull(driver, "driver");
        return SaveFuture.start(released -> new Commit(driver, released)).await();
    }

    /**
     * Removes the files of all writers, which have ended; for a save that is given up. The next save of the same name removes them,
     * too. Keeps files that belong to the checkpoint already, because a commit failed after it had replaced the index.
     *
     * @throws CuFileException with an errno if a file cannot be deleted
     */
    public void abandon() {
        String random = secret(new GuessableName(calls)).find();
        for (String each : new HashSet<>(List.of(random, used))) {
            for (String id : ids(each)) {
                Publication publication = publication(id);
                if (!publication.isLive()) {
                    publication.abandon();
                }
                removeShares(publication);
            }
        }
        calls.delete(secret);
    }

    /** The work of one writer. */
    private final class Write extends SaveJob {
        private final GuessableName names = new GuessableName(CollectiveSave.this.calls);
        private List<ShareFile.Tensor> tensors = List.of();

        Write(CuFileDriver driver, SaveListener listener, Runnable onRelease) {
            super(content, driver, listener, CollectiveSave.this.calls, onRelease);
        }

        @Override
        void work() {
            if (content.target().isFolder()) {
                calls.createFolder(content.target().folder(), new ArrayList<>());
            }
            content.target().checkAreNoFolders(content.files().size());
            String random = secret(names).layOrFind();
            used = random;
            List<String> ids = ids(random);
            Publication publication = publication(ids);
            // also what an interrupted commit left: it is not of these bytes
            for (String id : ids) {
                calls.delete(mark(publication(id)));
                calls.delete(share(publication(id), rank));
            }
            awaitStreams();
            List<Run> runs = Run.of(content.files());
            try (Snapshot sources = sources();
                    FileWriter writer = new FileWriter(content, driver, sources, this, listener)) {
                List<ShareFile.Identity> opened = writer.openShare(publication, names);
                try {
                    writeShare(publication, writer, runs, opened);
                } finally {
                    removeIfLost(writer, publication);
                }
            }
        }

        private void writeShare(
                Publication publication, FileWriter writer, List<Run> runs, List<ShareFile.Identity> opened) {
            List<ShareFile.Fragment> fragments = writer.writeShare(runs);
            tensors = CollectiveSave.tensors(runs, writer.shareChecksums());
            written();
            beginPublishing();
            sync(() -> {
                writer.sync();
                requireSame(opened, publication);
                ShareFile share = new ShareFile(world, layout(), opened, tensors, fragments);
                calls.write(share(publication, rank), share.toBytes());
                boolean same = false;
                try {
                    requireSame(opened, publication);
                    same = true;
                } finally {
                    if (!same) {
                        calls.delete(share(publication, rank));
                    }
                }
                calls.sync(content.target().folder());
            });
        }

        /** Another save may have removed the files, and another writer made them anew. */
        private void requireSame(List<ShareFile.Identity> opened, Publication publication) {
            if (!leadTo(opened, publication::temporary)) {
                throw SaveFailure.replaced(content.target().path());
            }
        }

        @Override
        int tensors() {
            return tensors.size();
        }

        @Override
        long bytes() {
            return tensors.stream()
                    .mapToLong(tensor -> content.files().get(tensor.file()).tensors().get(tensor.tensor()).bytes())
                    .sum();
        }
    }

    /** Puts the shares of all writers together; cannot be cancelled. */
    private final class Commit extends SaveJob {
        private final GuessableName names = new GuessableName(CollectiveSave.this.calls);

        Commit(CuFileDriver driver, Runnable onRelease) {
            super(content, driver, SaveListener.NONE, CollectiveSave.this.calls, onRelease);
        }

        @Override
        void work() {
            beginPublishing();
            sync(this::commit);
        }

        /** The writers have written the bytes. */
        @Override
        long writtenBytes() {
            return 0;
        }

        private void commit() {
            SaveTarget target = content.target();
            try (SaveLock _ = calls.lock(target.folder(), target.lockName())) {
                List<String> ids = ids(secret(names).find());
                Publication publication = publication(ids);
                Optional<Publication> published =
                        ids.stream().map(CollectiveSave.this::publication).filter(CollectiveSave.this::isPublished)
                                .findFirst();
                if (published.isPresent()) {
                    published.get().finish();
                    end(published.get());
                    return;
                }
                List<ShareFile> shares = parseShares(publication);
                List<ShareFile.Identity> files = shares.getFirst().identities();
                for (int i = 0; i < world; i++) {
                    if (!leadTo(shares.get(i).identities(), publication::temporary)) {
                        throw SaveFailure.replaced(share(publication, i));
                    }
                }
                try (Snapshot sources = Snapshot.none(content);
                        FileWriter writer = new FileWriter(content, driver, sources, this, listener)) {
                    try {
                        writer.writeShared(publication, names, files, new SharedPages(content.files()).of(shares));
                    } finally {
                        removeIfLost(writer, publication);
                    }
                }
                if (!publication.publish()) {
                    throw SaveFailure.of(CuFileError.IO_NOT_SUPPORTED, target.path(), Errno.EOPNOTSUPP,
                            "the file system renames no files, which several writers need");
                }
                end(publication);
            }
        }
    }

    private SharedSecret secret(GuessableName names) {
        return new SharedSecret(secret, calls, names);
    }

    /** Returns the files of this save, none of which belongs to the checkpoint. */
    private Publication publication(List<String> ids) {
        Publication first = publication(ids.getFirst());
        return first.isLive() ? publication(ids.getLast()) : first;
    }

    private Publication publication(String id) {
        return new Publication(
                content.target(), calls, content.files(), id, String.valueOf(secret.getFileName()));
    }

    private Path share(Publication publication, int writer) {
        return content.target().folder().resolve(content.target().shareName(publication.id(), writer));
    }

    private boolean exists(Path file) {
        return calls.status(file).isPresent();
    }

    /** Returns the name that the share of writer 0 gets when the others may go; no writer has its number. */
    private Path mark(Publication publication) {
        return share(publication, MAX_WRITERS);
    }

    /** Returns whether a commit was interrupted after it had replaced the checkpoint, and no writer has begun since. */
    private boolean isPublished(Publication publication) {
        List<ShareFile> shares;
        if (exists(mark(publication))) {
            shares = List.of(parse(mark(publication)));
        } else if (IntStream.range(0, world).allMatch(writer -> exists(share(publication, writer)))) {
            shares = parseShares(publication);
        } else {
            return false;
        }
        return publication.isLive()
                || shares.stream().allMatch(share -> leadTo(share.identities(), publication::place));
    }

    /** Removes what the writers have left: last the mark, then the link, without which a commit cannot be repeated. */
    private void end(Publication publication) {
        SaveFailure.behindCommit(() -> {
            Path first = share(publication, 0);
            if (exists(first)) {
                calls.move(first, mark(publication));
            }
            removeShares(publication);
        });
        try {
            calls.remove(secret);
        } catch (CuFileException e) {
            // the next save of this name uses the link
            System.getLogger("io.gds4j.loader").log(System.Logger.Level.WARNING, e.getMessage());
        }
    }

    /** Removes the shares, also those of an interrupted save by more writers. */
    private void removeShares(Publication publication) {
        Path folder = content.target().folder();
        calls.list(folder)
                .stream()
                .filter(file -> content.target().isShare(file, publication.id()))
                .sorted()
                .forEach(file -> calls.remove(folder.resolve(file)));
    }

    /** Removes the files of all writers if one could not be forced to the disk: what the disk had of the others may be lost, too. */
    private void removeIfLost(FileWriter writer, Publication publication) {
        if (writer.isLost()) {
            removeShares(publication);
            publication.abandon();
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

    /** Returns the shares of all writers. */
    private List<ShareFile> parseShares(Publication publication) {
        List<ShareFile> shares = new ArrayList<>();
        for (int i = 0; i < world; i++) {
            Path path = share(publication, i);
            if (calls.status(path).isEmpty()) {
                throw CuFileException.of(CuFileError.INVALID_VALUE, SaveFailure.FUNCTION, path,
                        "writer %s of %s has not finished".formatted(i, world));
            }
            shares.add(parse(path));
        }
        return shares;
    }

    private ShareFile parse(Path share) {
        return ShareFile.parse(share, calls.read(share, MAX_SHARE), world, layout(), content.files());
    }

    /** Returns whether the names of all files lead to these. */
    private boolean leadTo(List<ShareFile.Identity> files, IntFunction<Path> names) {
        return files.size() == content.files().size()
                && IntStream.range(0, files.size()).allMatch(i -> isSame(files.get(i), names.apply(i)));
    }

    private boolean isSame(ShareFile.Identity file, Path name) {
        return calls.status(name).filter(found -> file.isSameAs(ShareFile.Identity.of(found))).isPresent();
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

    @Override
    public String toString() {
        return "CollectiveSave[writer %s of %s, %s]".formatted(
                rank, world, InertText.name(content.target().path().toString(), 200));
    }
}
