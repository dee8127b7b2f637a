package io.gds4j.ffi.posix;

import io.gds4j.ffi.Linkage;
import java.lang.invoke.MethodHandle;

/**
 * Exit handlers made of functions of libc, since Java code could not run. The handler is {@code sigfillset}, the word its set of
 * signals. It sets all bits except those of two or three signals that libc reserves, of which the lowest is the word's highest bit.
 * glibc and musl set the first 8 bytes or all of a {@code sigset_t}. The {@code __cxa_finalize} of musl does nothing.
 */
public final class LibcExitHandlers implements ExitHandlers {
    private static final Linkage LIBC = Linkage.ofLibc();
    private static final MethodHandle CXA_ATEXIT = LIBC.function("__cxa_atexit", Linkage.WORDS);
    private static final MethodHandle CXA_FINALIZE = LIBC.function("__cxa_finalize", Linkage.WORDS);
    private static final long SIGFILLSET = LIBC.address("sigfillset");

    // After all handles: the linkage knows its failures only then.
    private static final boolean LINKED = LIBC.problem().isEmpty();

    @Override
    public boolean add(long word, long group) {
        try {
            return LINKED && (int) (long) CXA_ATEXIT.invokeExact(SIGFILLSET, word, group, 0L, 0L, 0L) == 0;
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    @Override
    public void runAndForget(long group) {
        if (!LINKED) {
            return;
        }
        try {
            long nothing = (long) CXA_FINALIZE.invokeExact(group, 0L, 0L, 0L, 0L, 0L);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }
}
