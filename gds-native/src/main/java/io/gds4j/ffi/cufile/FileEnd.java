package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.Linkage;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;

/**
 * Where a file ends, by {@code lseek(2)}: asked before every read into a GPU, it has to be the cheapest call that knows. It
 * moves the position of the open file, so it is for those alone that nobody reads by position.
 */
final class FileEnd {
    private static final int SEEK_END = 2;
    private static final MethodHandle LSEEK =
            Linkage.ofLibc()
                    .function(
                            "lseek",
                            FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT),
                            // It never waits: the end of a file is in memory.
                            Linker.Option.critical(false));

    private FileEnd() {
    }

    /** Bytes of the file or block device, or -1. */
    static long of(int fd) {
        try {
            return (long) LSEEK.invokeExact(fd, 0L, SEEK_END);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }
}
