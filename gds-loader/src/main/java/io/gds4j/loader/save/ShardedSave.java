package io.gds4j.loader.save;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.FileStatus;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.OwnFolder;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.search.CheckpointFiles;
import io.gds4j.source.FileVersion;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A new checkpoint that several processes write, each one file: a shard. Rank 0 begins the save and publishes it.
 *
 * <pre>{@code
 * SavePlan.Builder mine = SavePlan.builder().tensor("experts.0", DType.BF16, memory, 4096, 1024);
 * if (rank == 0) {
 *     try (ShardedSave save = ShardedSave.begin(folder, attempt)) {
 *         mine.toFile(save.part(0)).save(driver);
 *         save.commit(world, Duration.ofMinutes(10));          // waits for the shards of the others
 *     }
 * } else {
 *     Path part = ShardedSave.join(folder, rank, attempt, Duration.ofMinutes(1));    // waits for begin
 *     mine.toFile(part).save(driver);
 * }
 * }</pre>
 *
 * <p>
 * Ranks need nothing but the folder, which all of them mount, and the number of the attempt. A program that passes messages of its own
 * gives the ranks {@link #temporary} in place of {@link #join}, and names the files that they have written to {@link #commit(List)}.
 *
 * <p>
 * The shards lie in {@code step-1000.tmp} (after a name of more than 249 bytes, in a folder of another name) until the commit gives them their final names, writes the index and renames the folder. A
 * crash at any moment leaves {@code step-1000} absent or complete, and other checkpoints as they were. An attempt that still writes
 * after the commit cannot reach the checkpoint: each attempt has a file of its own. The next save to the same folder removes what a
 * crash left. Not thread-safe.
 *
 * @since 0.1
 */
public final class ShardedSave implements AutoCloseable {
    private static final String LOCK = ".%s.lock";
    /** Longest name, in bytes, whose lock and temporary folder have no more than the 255 bytes of a file name. */
    private static final int MAX_NAME = 255 - LOCK.formatted("").length();
    private static final String READY = "ready";
    /** A file in each temporary folder, with the number of the attempt: what lacks it is not deleted. */
    private static final String MARK = ".gds4j-save";

    private static final int MAX_MARK = 64;
    private static final int MAX_WRITERS = 99_999;
    /** Milliseconds between two looks of a rank that waits: a network file system answers each. */
    private static final long PAUSE = 20;

    private final FileCalls calls;
    private final SaveTarget target;
    private final OptionalLong attempt;
    private final Path parent;
    /** First part of the names beside the folder. */
    private final String stem;
    private final Path temporary;
    /** Parents that this save has created; they go with it, unless it is committed. */
    private final List<Path> made = new ArrayList<>();
    private @Nullable SaveLock lock;
    /** The temporary folder, which others cannot exchange as they can its name. */
    private @Nullable OwnFolder work;
    /** Whether this save may have created the temporary folder without opening it. */
    private boolean creates;

    private ShardedSave(Path folder, OptionalLong attempt, FileCalls calls) {
        Path place = SaveTarget.folder(folder).ofFiles("ShardedSave").folder();
        Path around = place.getParent();
        if (around == null) {
            throw SaveFailure.taken(folder, "the root folder holds no checkpoint; name a folder in it");
        }
        this.target = SaveTarget.folder(place);
        this.attempt = attempt;
        this.calls = calls;
        this.parent = around;
        this.stem = SaveTarget.fitting(String.valueOf(place.getFileName()), MAX_NAME);
        this.temporary = around.resolve(stem + SaveTarget.SUFFIX_OF_PARTS);
    }

    /**
     * Begins a save: removes what an interrupted save to this folder left, and creates the temporary folder.
     *
     * @param folder the checkpoint's folder, absent or empty; its parents are created
     * @throws CuFileException IO_ERROR with EEXIST if the folder has entries or is a symbolic link, or if the name of the temporary
     *         folder belongs to something else; EBUSY if another process saves to it; otherwise with
     *         the errno of the call that failed
     */
    public static ShardedSave begin(Path folder) {
        return begin(folder, OptionalLong.empty(), SystemFileCalls.ofProcess());
    }

    /**
     * As {@link #begin(Path)}, for ranks that {@link #join} the save.
     *
     * @param attempt the same number on all ranks, which no save to this folder had before, such as the count of the job's restarts. A
     *        rank of an earlier attempt that still runs cannot reach this save
     */
    public static ShardedSave begin(Path folder, long attempt) {
        return begin(folder, OptionalLong.of(attempt), SystemFileCalls.ofProcess());
    }

    /** Begins a save whose file system calls a test may replace. */
    static ShardedSave begin(Path folder, OptionalLong attempt, FileCalls calls) {
        ShardedSave save = new ShardedSave(folder, attempt, calls);
        return Undo.ifFails(save::close, () -> {
            save.prepare();
            return save;
        });
    }

    /**
     * Waits until rank 0 has begun a save, and returns the file that this rank writes.
     *
     * @param folder as rank 0 gives it
     * @param rank number of the rank, from 0
     * @param attempt as rank 0 gives it
     * @param timeout how long to wait; zero looks once
     * @throws CuFileException IO_ERROR with ETIMEDOUT if rank 0 has not begun; EEXIST if the temporary folder belongs to another user
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static Path join(Path folder, int rank, long attempt, Duration timeout) {
        return join(folder, rank, attempt, timeout, SystemFileCalls.ofProcess());
    }

    /** Waits with file system calls that a test may replace. */
    static Path join(Path folder, int rank, long attempt, Duration timeout, FileCalls calls) {
        ShardedSave save = new ShardedSave(folder, OptionalLong.of(attempt), calls);
        save.await(timeout, save::hasBegun, () -> waited(folder,
                "rank 0 has not begun attempt %s of this save within %s".formatted(attempt, timeout)));
        return save.part(rank);
    }

    private boolean hasBegun() {
        if (calls.status(temporary).isEmpty()) {
            return false;
        }
        try (OwnFolder folder = calls.open(temporary); FoundFile mark = calls.find(folder.path().resolve(MARK))) {
            byte[] told = mark.status().isRegularFile() ? calls.read(mark.path(), MAX_MARK) : new byte[0];
            return Arrays.equals(told, told());
        } catch (CuFileException e) {
            int errno = e.errno().orElse(0);
            if (errno == Errno.ENOENT || errno == Errno.ESTALE) {
                return false; // rank 0 removes what an earlier attempt left
            }
            throw e;
        }
    }

    /** Returns what the mark has. */
    private byte[] told() {
        return (attempt.isPresent() ? Long.toString(attempt.getAsLong()) : "").getBytes(StandardCharsets.US_ASCII);
    }

    /**
     * Returns the file that an attempt to write a shard writes.
     *
     * @param temporary the folder of {@link #temporary}
     * @param rank number of the shard, from 0
     * @param attempt a number that no other attempt has
     */
    public static Path part(Path temporary, int rank, long attempt) {
        return temporary.resolve(String.format(Locale.ROOT, "shard-%05d-%d.safetensors", rank, attempt));
    }

    /**
     * Returns the file that a rank of this attempt writes.
     *
     * @throws CuFileException INVALID_VALUE for a save without an attempt, and a rank out of range
     */
    public Path part(int rank) {
        if (attempt.isEmpty() || rank < 0 || rank >= MAX_WRITERS) {
            throw CuFileException.invalid("ShardedSave", attempt.isEmpty()
                    ? "the save has begun without an attempt"
                    : "rank %s: allowed are 0 to %s".formatted(rank, MAX_WRITERS - 1));
        }
        return part(temporary, rank, attempt.getAsLong());
    }

    /** Returns the folder in which the attempts write. */
    public Path temporary() {
        return temporary;
    }

    private void prepare() {
        calls.createFolder(parent, made);
        lock = calls.lock(parent, LOCK.formatted(stem));
        if (calls.status(temporary).isPresent()) {
            takeOver();
            removeTemporary();
        }
        Path folder = target.folder();
        Optional<StatxResult> there = calls.status(folder);
        boolean used = there.isPresent() && (!there.get().isDirectory() || !calls.list(folder).isEmpty());
        if (used) {
            throw SaveFailure.taken(folder, "this exists and is no empty folder; a save writes a new one");
        }
        creates = true;
        calls.createFolder(temporary, new ArrayList<>());
        mark(takeOver());
        creates = false;
        calls.sync(parent);
    }

    /** Opens the temporary folder, unless it belongs to someone else: it is empty or one of a save, and of this user. */
    private OwnFolder takeOver() {
        OwnFolder folder = calls.open(temporary);
        return Undo.ifFails(folder::close, () -> {
            List<String> names = calls.list(folder.path());
            if (!names.isEmpty() && !names.contains(MARK)) {
                throw SaveFailure.taken(temporary,
                        "this is not the temporary folder of a save, which needs its name; rename it");
            }
            work = folder;
            return folder;
        });
    }

    private void mark(OwnFolder folder) {
        calls.write(folder.path().resolve(MARK), told());
    }

    /**
     * Waits until ranks 0 to {@code world - 1} have written their shards, and makes them the checkpoint.
     *
     * @param world number of ranks, 1 to 99,999
     * @param timeout how long to wait for all of them; zero looks once
     * @return as {@link #commit(List)}
     * @throws CuFileException IO_ERROR with ETIMEDOUT if a rank has written no shard: it may do so, and the commit be repeated; as
     *         {@link #commit(List)}; INVALID_VALUE for a save without an attempt
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public List<Path> commit(int world, Duration timeout) {
        if (world < 1) {
            throw CuFileException.invalid("ShardedSave.commit",
                    "there are %s ranks; allowed are 1 and more".formatted(world));
        }
        OwnFolder folder = open();
        part(world - 1);
        List<Path> parts = new ArrayList<>();
        long begin = System.nanoTime();
        for (int rank = 0; rank < world; rank++) {
            Path part = part(rank);
            String who = "rank %s of %s has written no shard within %s".formatted(rank, world, timeout);
            await(timeout.minusNanos(System.nanoTime() - begin), () -> isWritten(folder, part),
                    () -> waited(part, who));
            parts.add(part);
        }
        return commit(parts);
    }

    /** Returns whether a shard has its name and its save has ended, which drops its lock last. */
    private boolean isWritten(OwnFolder folder, Path part) {
        return calls.status(held(folder, part)).isPresent()
                && calls.status(held(folder, part.resolveSibling(SaveTarget.file(part).lockName()))).isEmpty();
    }

    private void await(Duration timeout, BooleanSupplier done, Supplier<CuFileException> late) {
        long begin = System.nanoTime();
        while (!done.getAsBoolean()) {
            if (Duration.ofNanos(System.nanoTime() - begin).compareTo(timeout) >= 0) {
                throw late.get();
            }
            try {
                Thread.sleep(PAUSE);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw SaveFailure.interrupted(target.path(), "a rank was interrupted while it waited for others");
            }
        }
    }

    private static CuFileException waited(Path path, String detail) {
        return SaveFailure.of(CuFileError.IO_ERROR, path, Errno.ETIMEDOUT, detail);
    }

    private OwnFolder open() {
        OwnFolder folder = work;
        if (folder == null) {
            throw CuFileException.invalid(SaveFailure.FUNCTION, "the save is closed");
        }
        return folder;
    }

    /**
     * Makes the shards the checkpoint, in their order. A file without tensors is left out.
     *
     * @param parts files of {@link #part(Path, int, long)}, complete and durable, one for each rank
     * @return the files of the checkpoint, one for each part; the folder for a part that was left out
     * @throws CuFileException INVALID_VALUE for no parts, for one outside of the temporary folder, or if the save is closed; EPERM for
     *         what is no regular file of this user, or has another name, too; ESTALE for a file that is exchanged meanwhile
     * @throws CheckpointException as {@link io.gds4j.loader.Checkpoint#open} for a file that is missing or malformed; TENSOR_IN_TWO_FILES if two of
     *         them have a tensor of the same name
     * @throws CuFileException with the errno of the call that failed. The checkpoint does not exist then, unless the message says that it is
     *         in place
     */
    public List<Path> commit(List<Path> parts) {
        OwnFolder folder = open();
        if (parts.isEmpty()) {
            throw CuFileException.invalid(SaveFailure.FUNCTION, "there are no shards; allowed are 1 and more");
        }
        Map<String, TensorInfo> tensors = new LinkedHashMap<>();
        Map<Path, FileVersion> versions = new HashMap<>();
        List<Path> filled = new ArrayList<>();
        for (Path part : parts) {
            CheckpointFile shard = look(folder, part);
            versions.put(part, shard.version());
            for (TensorInfo tensor : shard.tensors()) {
                TensorInfo other = tensors.putIfAbsent(tensor.name(), tensor);
                if (other != null) {
                    throw CheckpointException.inTwoFiles(tensor.name(), part, other.file());
                }
            }
            if (!shard.tensors().isEmpty()) {
                filled.add(part);
            }
        }
        if (filled.isEmpty()) {
            filled.addAll(parts.subList(0, 1));
        }
        List<String> names = target.names(filled.size());
        Map<Path, String> nameOf = new LinkedHashMap<>();
        filled.forEach(part -> nameOf.put(part, names.get(nameOf.size())));
        publish(folder, nameOf, versions, tensors);
        return parts.stream()
                .map(part -> nameOf.containsKey(part) ? target.folder().resolve(nameOf.get(part)) : target.folder())
                .toList();
    }

    /** Reads the header of a shard, which other processes may exchange by name: finds it first, and checks what was found. */
    private CheckpointFile look(OwnFolder folder, Path part) {
        if (!temporary.equals(part.getParent())) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, "ShardedSave.commit", part,
                    "a shard lies in the temporary folder of its save");
        }
        try (FoundFile mark = calls.find(folder.path().resolve(MARK));
                FoundFile found = calls.find(held(folder, part))) {
            FileStatus status = found.status();
            // of the user under whose number this file system shows what this process creates
            if (!status.isRegularFile() || status.links() > 1 || !found.hasOwnerOf(mark)) {
                throw SaveFailure.of(part, "use the shard: it is no regular file of this user with one name",
                        Errno.EPERM);
            }
            CheckpointFile shard = CheckpointFiles.open(part, false).files().getFirst();
            if (!shard.version().isSameFileAs(FileVersion.ofInode(status.size(), status.deviceMajor(),
                    status.deviceMinor(), status.inode(), status.changedSeconds(), status.changedNanos()))) {
                throw SaveFailure.replaced(part);
            }
            return shard;
        }
    }

    private void publish(OwnFolder folder, Map<Path, String> nameOf, Map<Path, FileVersion> versions,
            Map<String, TensorInfo> tensors) {
        Path place = folder.path().resolve(READY);
        calls.createFolder(place, new ArrayList<>());
        try (OwnFolder ready = calls.open(place)) {
            // a commit that failed may have left files of other attempts
            calls.clear(ready, "");
            for (Map.Entry<Path, String> part : nameOf.entrySet()) {
                Path moved = ready.path().resolve(part.getValue());
                calls.move(held(folder, part.getKey()), moved);
                if (calls.status(moved).filter(now -> now.version().isSameAs(versions.get(part.getKey()))).isEmpty()) {
                    throw SaveFailure.replaced(part.getKey());
                }
            }
            writeIndex(ready, nameOf, tensors);
            calls.sync(ready.path());
        }
        // over an empty folder of this name, as rename(2) does
        calls.move(place, target.folder());
        made.clear();
        SaveFailure.behindCommit(() -> calls.sync(parent));
    }

    /** Returns the path of a file of the temporary folder that does not change with the name of the folder. */
    private Path held(OwnFolder folder, Path part) {
        return folder.path().resolve(part.getFileName());
    }

    private void writeIndex(OwnFolder ready, Map<Path, String> nameOf, Map<String, TensorInfo> tensors) {
        if (nameOf.size() > 1) {
            Map<String, String> files = new LinkedHashMap<>();
            long bytes = 0;
            for (TensorInfo tensor : tensors.values()) {
                files.put(tensor.name(), nameOf.get(tensor.file()));
                bytes += tensor.length();
            }
            calls.write(ready.path().resolve(target.indexName()), IndexText.of(files, bytes));
        }
    }

    /** Removes the temporary folder: all that is left after a commit, or all of the save without one. Idempotent. */
    @Override
    public void close() {
        SaveLock held = lock;
        lock = null;
        if (held != null) {
            try (held) {
                removeTemporary();
            } catch (CuFileException e) {
                System.getLogger("io.gds4j.loader").log(System.Logger.Level.WARNING, e.getMessage());
            }
        }
        calls.deleteMade(made);
        made.clear();
    }

    /**
     * Removes the temporary folder; its mark goes last, so that a crash leaves no folder that seems to be another's. Leaves what else
     * has its name meanwhile.
     */
    private void removeTemporary() {
        if (work == null && creates && calls.status(temporary).isPresent()) {
            takeOver();
        }
        OwnFolder folder = work;
        work = null;
        if (folder == null) {
            return;
        }
        try (folder) {
            calls.clear(folder, MARK);
            Undo.ifFails(() -> {
                if (calls.hasItsName(folder)) {
                    // an attempt that has not ended added a file: the next save knows the folder
                    mark(folder);
                }
            }, () -> {
                calls.delete(folder.path().resolve(MARK));
                if (calls.hasItsName(folder)) {
                    calls.delete(folder.sibling(temporary));
                }
            });
        }
    }

    @Override
    public String toString() {
        return "ShardedSave[%s]".formatted(target.folder());
    }
}
