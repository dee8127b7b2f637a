package io.gds4j.loader.internal.file;

import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.LinkOutsideException;
import io.gds4j.internal.file.TrustedFolder;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.function.Supplier;

/**
 * The rule for links while a thread opens a checkpoint. All files of a path that a user named are below its folder; the path itself
 * may be a link. Immutable.
 */
public final class Links {
    private static final ScopedValue<Links> CURRENT = ScopedValue.newInstance();

    private final Path named;
    private final TrustedFolder folder;

    /** Rules by which a thread opens files. */
    public interface Rules {
        /** Does work under these rules, on any thread. */
        void apply(Runnable work);
    }

    private Links(Path named, TrustedFolder folder) {
        this.named = named;
        this.folder = folder;
    }

    /**
     * Returns the result of an action that opens no files outside. Formats of programs open files, too; so the rule is the thread's
     * and no argument.
     *
     * @param named a folder, or a file in it
     * @throws IOException if the folder cannot be found
     */
    public static <T> T bind(Path named, Supplier<T> action) throws IOException {
        if (named.getFileSystem() != FileSystems.getDefault()) {
            return action.get(); // objects of servers and members of archives are no links
        }
        Path folder = Files.isDirectory(named) ? named : Objects.requireNonNullElse(named.getParent(), Path.of("."));
        Links links = new Links(named, new TrustedFolder(realPath(folder)));
        return ScopedValue.where(CURRENT, links).call(action::get);
    }

    /** Returns the absolute path of a folder without links, spelt as the kernel spells the paths of the files below. */
    private static Path realPath(Path folder) throws IOException {
        try (FoundFile found = FoundFile.at(ThreadLibc.descriptors(), folder)) {
            return found.place();
        }
    }

    /** Returns the rule of this thread for other threads. */
    static Rules rules() {
        Links links = CURRENT.isBound() ? CURRENT.get() : null;
        return links == null ? Runnable::run : work -> ScopedValue.where(CURRENT, links).run(work);
    }

    /** Checks where a file is that the current thread opens. */
    static void check(Path path, Path real) throws LinkOutsideException {
        if (CURRENT.isBound() && !path.equals(CURRENT.get().named)) {
            CURRENT.get().folder.check(path, real);
        }
    }
}
