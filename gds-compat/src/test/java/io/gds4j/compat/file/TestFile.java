package io.gds4j.compat.file;

import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.source.RangeSource;
import java.util.Optional;

/** Files to read without a descriptor of the kernel: tests answer the calls, or they fail. */
public final class TestFile {
    private static final long PAGE = 4096;

    private TestFile() {
    }

    /** Returns a file of a local disk. */
    public static CompatFile local(Posix posix) {
        return local(posix, false, false);
    }

    /**
     * Returns a file of a local disk.
     *
     * @param direct whether it is open for direct requests
     * @param drop whether its pages leave the page cache once they are read
     */
    public static CompatFile local(Posix posix, boolean direct, boolean drop) {
        return of(posix, new FileTraits(false, PAGE, 512, false, true, false), direct, drop);
    }

    /** Returns a file of a file system in memory. */
    public static CompatFile inMemory(Posix posix, boolean direct, boolean drop) {
        return of(posix, new FileTraits(false, PAGE, 512, false, true, true), direct, drop);
    }

    /** Returns a file that knows no direct requests. */
    public static CompatFile buffered(Posix posix) {
        return of(posix, new FileTraits(false, 0, PAGE, false, false, false), false, false);
    }

    /** Returns a file of a network file system, open for direct requests. */
    public static CompatFile network(Posix posix) {
        return of(posix, new FileTraits(false, PAGE, 512, true, false, false), true, false);
    }

    /** Returns a file whose bytes a source has. */
    public static CompatFile source(Posix posix, RangeSource source) {
        return new CompatFile(
                new DescriptorTable(posix), posix, new SourceIo(source, Optional.empty(), () -> false),
                Optional.empty());
    }

    private static CompatFile of(Posix posix, FileTraits traits, boolean direct, boolean drop) {
        FileDescriptors.Key key = new FileDescriptors.Key(new FileKey(0, 0, 1), PosixConstants.O_RDONLY, 0);
        FileDescriptors descriptors = new FileDescriptors(posix, key, traits, -1, 0, new RangeLocks(PAGE));
        return new CompatFile(new DescriptorTable(posix), posix, descriptors, Optional.empty(), direct, drop, null);
    }
}
