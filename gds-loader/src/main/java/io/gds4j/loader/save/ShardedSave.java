package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.OwnFolder;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.TensorInfo;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A new checkpoint whose shards other processes write, each to a file of its own. One process begins and commits it.
 *
 * <pre>{@code
 * try (ShardedSave save = ShardedSave.begin(Path.of("step-1000"))) {
 *     // in other processes: builder.toFile(ShardedSave.part(save.temporary(), rank, attempt)).save(driver)
 *     save.commit(parts);      // the files of the attempts that succeeded
 * }
 * }</pre>
 *
 * <p>
 * The shards lie in {@code step-1000.tmp} (after a name of more than 249 bytes, in a folder of another name) until the commit gives them their final names, writes the index and renames the folder. A
 * crash at any moment leaves {@code step-1000} absent or complete, and other checkpoints as they were. An attempt that still writes
 * after the commit cannot reach the checkpoint: each attempt has a file of its own. The next save to the same folder removes what a
 * crash left. {@link CollectiveSave} is for processes that write ranges of the same files. Not thread-safe.
 *
 * @since 0.1
 */
public final class ShardedSave implements AutoCloseable {
    private static final String SUFFIX = ".tmp";
    private static final String LOCK = ".%s.lock";
    /** Longest name, in bytes, whose lock and temporary folder have no more than the 255 bytes of a file name. */
    private static final int MAX_NAME = 255 - LOCK.formatted("").length();
    private static final String READY = "ready";
    /** A file in each temporary folder: what lacks it is not deleted. */
    private static final String MARK = ".gds4j-save";

    private final FileCalls calls;
    private final SaveTarget target;
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

    private ShardedSave(Path folder, Path parent, FileCalls calls) {
        this.target = SaveTarget.folder(folder);
        this.calls = calls;
        this.parent = parent;
        this.stem = SaveTarget.fitting(String.valueOf(folder.getFileName()), MAX_NAME);
        this.temporary = parent.resolve(stem + SUFFIX);
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
        return begin(folder, FileCalls.SYSTEM);
    }

    /** Begins a save whose file system calls a test may replace. */
    static ShardedSave begin(Path folder, FileCalls calls) {
        Path place = SaveTarget.folder(folder).ofFiles("ShardedSave.begin").folder();
        Path parent = place.getParent();
        if (parent == null) {
            throw SaveFailure.taken(folder, "the root folder holds no checkpoint; name a folder in it");
        }
        ShardedSave save = new ShardedSave(place, parent, calls);
        return Undo.ifFails(save::close, () -> {
            save.prepare();
            return save;
        });
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
        calls.write(folder.path().resolve(MARK), new byte[0]);
    }

    /**
     * Makes the shards the checkpoint, in their order. A file without tensors is left out.
     *
     * @param parts files of {@link #part}, complete and durable, one for each rank
     * @return the files of the checkpoint, one for each part; the folder for a part that was left out
     * @throws CuFileException INVALID_VALUE for no parts, or if the save is closed
     * @throws CheckpointException as {@link Checkpoint#open} for a file that is missing or malformed; TENSOR_IN_TWO_FILES if two of
     *         them have a tensor of the same name
     * @throws CuFileException with the errno of the call that failed. The checkpoint does not exist then, unless the message says that it is
     *         in place
     */
    public List<Path> commit(List<Path> parts) {
        OwnFolder folder = work;
        if (folder == null) {
            throw CuFileException.invalid(SaveFailure.FUNCTION, "the save is closed");
        }
        if (parts.isEmpty()) {
            throw CuFileException.invalid(SaveFailure.FUNCTION, "there are no shards; allowed are 1 and more");
        }
        Map<String, TensorInfo> tensors = new LinkedHashMap<>();
        List<Path> filled = new ArrayList<>();
        for (Path part : parts) {
            Checkpoint shard = Checkpoint.open(part);
            for (TensorInfo tensor : shard.tensors().values()) {
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
        publish(folder, nameOf, tensors);
        return parts.stream()
                .map(part -> nameOf.containsKey(part) ? target.folder().resolve(nameOf.get(part)) : target.folder())
                .toList();
    }

    private void publish(OwnFolder folder, Map<Path, String> nameOf, Map<String, TensorInfo> tensors) {
        Path place = folder.path().resolve(READY);
        calls.createFolder(place, new ArrayList<>());
        try (OwnFolder ready = calls.open(place)) {
            // a commit that failed may have left files of other attempts
            calls.clear(ready, "");
            for (Map.Entry<Path, String> part : nameOf.entrySet()) {
                calls.move(held(folder, part.getKey()), ready.path().resolve(part.getValue()));
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
        return temporary.equals(part.getParent()) ? folder.path().resolve(part.getFileName()) : part;
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
            boolean removed = false;
            try {
                calls.delete(folder.path().resolve(MARK));
                if (calls.hasItsName(folder)) {
                    calls.delete(folder.sibling(temporary));
                }
                removed = true;
            } finally {
                if (!removed && calls.hasItsName(folder)) {
                    // an attempt that has not ended added a file: the next save knows the folder
                    mark(folder);
                }
            }
        }
    }

    @Override
    public String toString() {
        return "ShardedSave[%s]".formatted(target.folder());
    }
}
