package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.FoundFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Replaces the old checkpoint by the new one, whose temporary files are complete and durable. At each moment the names lead to one
 * complete checkpoint.
 *
 * <p>
 * A single file is renamed over the old one, unless an index names that. Of several files, an index that names the temporary files is renamed over the
 * old index: this commits all of them at once. The files then get their final names as hard links, a second index names these, and
 * the temporary names go.
 */
final class Publication {
    private static final int OWNER_WRITES = 0200;
    private static final int PERMISSIONS = 07777;
    /** The limit of those who read it. */
    private static final int MAX_INDEX = 100_000_000;

    private final SaveTarget target;
    private final FileCalls calls;
    private final List<SaveFile> files;
    private final List<String> names;
    private final List<String> temporaries = new ArrayList<>();
    private final String temporaryIndex;
    /** Permissions of the old files, by their names; read once, before the first of them is replaced. */
    private @Nullable SortedMap<String, Integer> oldPermissions;
    private boolean committed;

    /** @param id 16 hexadecimal digits, different for each save */
    Publication(SaveTarget target, FileCalls calls, List<SaveFile> files, String id) {
        this.target = target;
        this.calls = calls;
        this.files = files;
        this.names = target.names(files.size());
        for (String name : names) {
            temporaries.add(target.temporaryName(name, id));
        }
        this.temporaryIndex = target.temporaryName(target.indexName(), id);
    }

    /** Returns the file that receives the content of a file of the plan. */
    Path temporary(int file) {
        return target.folder().resolve(temporaries.get(file));
    }

    /** Returns the final place of a file. */
    Path place(int file) {
        return target.folder().resolve(names.get(file));
    }

    /** Removes what interrupted saves left; the files that an index names belong to a checkpoint. */
    void removeLeftovers() {
        Set<String> left = present(target::isTemporary);
        if (!left.isEmpty()) {
            // the disk may still have an index that names them
            sync();
            left.removeIf(namedByIndex());
            left.forEach(this::delete);
        }
    }

    /** Reads the index; returns the test for names in it. */
    private Predicate<String> namedByIndex() {
        // names of our files are ASCII; other bytes need no decoding
        byte[] bytes = calls.read(target.folder().resolve(target.indexName()), MAX_INDEX);
        String index = new String(bytes, StandardCharsets.ISO_8859_1);
        return name -> index.contains('"' + name + '"');
    }

    /** Gives a new file the permissions of the file that it replaces; the owner may write until it is complete. */
    void protect(int file, Path created) {
        OptionalInt old = oldPermissions(names.get(file));
        if (old.isPresent()) {
            calls.setPermissions(created, old.getAsInt() | OWNER_WRITES);
        }
    }

    /** Takes the right to write from a complete file whose old one lacked it. */
    private void protectForGood(int file, Path complete) {
        OptionalInt old = oldPermissions(names.get(file));
        if (old.isPresent() && (old.getAsInt() & OWNER_WRITES) == 0) {
            calls.setPermissions(complete, old.getAsInt());
        }
    }

    /** Returns the permissions of an old file; those of another one of the old checkpoint if it had none of this name. */
    private OptionalInt oldPermissions(String name) {
        SortedMap<String, Integer> known = oldPermissions;
        if (known == null) {
            known = new TreeMap<>();
            Optional<StatxResult> created = calls.status(temporary(0));
            for (String old : present(target.isFolder() ? target::isPart : names::contains)) {
                Path file = target.folder().resolve(old);
                OptionalInt permissions = calls.permissions(file);
                if (permissions.isPresent()) {
                    known.put(old, permissions.getAsInt() & mostPermissions(file, created));
                }
            }
            oldPermissions = known;
        }
        if (known.isEmpty()) {
            return OptionalInt.empty();
        }
        return OptionalInt.of(known.getOrDefault(name, known.get(known.firstKey())));
    }

    /** Returns the permissions that an old file may give: files of other users and links take rights away, and give none. */
    private int mostPermissions(Path old, Optional<StatxResult> created) {
        try (FoundFile file = FoundFile.at(old, LinkOption.NOFOLLOW_LINKS);
                FoundFile own = FoundFile.at(temporary(0), LinkOption.NOFOLLOW_LINKS)) {
            if (file.status().isRegularFile() && file.hasOwnerOf(own)) {
                return PERMISSIONS;
            }
        } catch (IOException e) {
            // what cannot be looked at gives no right
        }
        return created.map(StatxResult::mode).orElse(0);
    }

    /**
     * Replaces the old checkpoint.
     *
     * @return false if the file system renames no files; then nothing has changed, and the only file is to be written in place
     */
    boolean publish() {
        for (int i = 0; i < names.size(); i++) {
            protectForGood(i, temporary(i));
        }
        return files.size() == 1 && !replacesFileOfIndex() ? publishFile() : publishFolder();
    }

    /** Returns true if the old index names the only file: a rename over the file would leave an index of other tensors. */
    private boolean replacesFileOfIndex() {
        return target.isFolder()
                && calls.status(target.folder().resolve(target.indexName())).isPresent()
                && namedByIndex().test(names.getFirst());
    }

    private boolean publishFile() {
        if (!rename(temporary(0), place(0))) {
            return false;
        }
        committed = true;
        finishFile();
        return true;
    }

    /** Makes the only file the checkpoint of its folder; its final name exists. */
    void finishFile() {
        SaveFailure.behindCommit(this::useOnlyFile);
    }

    private void useOnlyFile() {
        sync();
        if (target.isFolder()) {
            removeOthers(Set.of(names.getFirst()));
        }
    }

    private boolean publishFolder() {
        Path index = target.folder().resolve(target.indexName());
        // no crash may leave an index without the names in it
        sync();
        boolean renames = commit(index);
        committed = true;
        SaveFailure.behindCommit(() -> {
            sync();
            removeAllButTemporaries();
            if (renames) {
                useFinalNames(index);
            }
        });
        return true;
    }

    private boolean commit(Path index) {
        try {
            return replaceIndex(index, temporaries);
        } catch (CuFileException e) {
            committed = mayBeLive();
            throw committed ? SaveFailure.with(e, "the new checkpoint may be in place") : e;
        }
    }

    /** Returns whether names may lead to the temporary files: a rename that takes effect may report a failure, as on NFS. */
    private boolean mayBeLive() {
        try {
            return temporaries.stream().anyMatch(namedByIndex());
        } catch (CuFileException e) {
            return true;
        }
    }

    private void useFinalNames(Path index) {
        if (linkAll()) {
            sync();
            if (names.size() == 1) {
                delete(target.indexName());
            } else {
                replaceIndex(index, names);
            }
            sync();
            temporaries.forEach(this::delete);
        }
    }

    /** Returns false if the index had to be written in place. */
    private boolean replaceIndex(Path index, List<String> named) {
        byte[] text = IndexText.of(files, named);
        Path temporary = target.folder().resolve(temporaryIndex);
        writeIndex(temporary, text);
        if (rename(temporary, index)) {
            return true;
        }
        writeIndex(index, text);
        return false;
    }

    private void writeIndex(Path index, byte[] text) {
        OptionalInt permissions = oldPermissions(target.indexName());
        calls.write(index, text);
        if (permissions.isPresent()) {
            calls.setPermissions(index, permissions.getAsInt());
        }
    }

    /** Returns false where files have one name only; the temporary names remain in use. */
    private boolean linkAll() {
        for (int i = 0; i < names.size(); i++) {
            try {
                calls.link(temporary(i), place(i));
            } catch (CuFileException e) {
                int errno = e.errno().orElse(0);
                if (errno == Errno.EPERM || errno == Errno.EOPNOTSUPP || errno == Errno.ENOSYS) {
                    return false;
                }
                throw e;
            }
        }
        return true;
    }

    /** Removes the old checkpoint, after the index names the temporary files. */
    private void removeAllButTemporaries() {
        Set<String> current = new HashSet<>(temporaries);
        current.add(target.indexName());
        removeOthers(current);
    }

    /** Removes all other files of a checkpoint of this name, the index first: readers prefer it to files. */
    private void removeOthers(Set<String> current) {
        Set<String> others = present(name -> target.isPart(name) || target.isTemporary(name));
        others.removeAll(current);
        if (others.remove(target.indexName())) {
            delete(target.indexName());
            sync();
        }
        others.forEach(this::delete);
    }

    private Set<String> present(Predicate<String> wanted) {
        Set<String> found = new TreeSet<>(calls.list(target.folder()));
        found.removeIf(wanted.negate());
        // a save makes no folders: one of such a name belongs to the user
        found.removeIf(
                name -> calls.status(target.folder().resolve(name)).filter(StatxResult::isDirectory).isPresent());
        return found;
    }

    /** Keeps the temporary file from now on: while the only file is written in place, it is the only complete one. */
    void keepTemporary() {
        committed = true;
    }

    /** Removes the temporary files, unless they are the checkpoint already. Logs what it cannot remove. */
    void abandon() {
        if (committed) {
            return;
        }
        List<String> left = new ArrayList<>(temporaries);
        left.add(temporaryIndex);
        for (String name : left) {
            try {
                calls.delete(target.folder().resolve(name));
            } catch (CuFileException e) {
                System.getLogger("io.gds4j.loader").log(System.Logger.Level.WARNING, e.getMessage());
            }
        }
    }

    /** Removes what has the final name of a file, as a rename would: a write would change what a link there leads to. */
    void removeOld(int file) {
        calls.delete(place(file));
    }

    /** Removes the temporary file; the final one is complete. */
    void delete(int file) {
        SaveFailure.behindCommit(() -> {
            protectForGood(file, place(file));
            delete(temporaries.get(file));
        });
    }

    private void delete(String name) {
        calls.remove(target.folder().resolve(name));
    }

    private void sync() {
        calls.sync(target.folder());
    }

    /** Returns false if the file system knows no renames. */
    private boolean rename(Path from, Path to) {
        try {
            calls.move(from, to);
            return true;
        } catch (CuFileException e) {
            int errno = e.errno().orElse(0);
            if (errno == Errno.ENOSYS || errno == Errno.EOPNOTSUPP || errno == Errno.EPERM && isUserSpace(from)) {
                return false;
            }
            throw e;
        }
    }

    private static boolean isUserSpace(Path file) {
        try {
            return Files.getFileStore(file).type().startsWith("fuse");
        } catch (IOException e) {
            return false;
        }
    }
}
