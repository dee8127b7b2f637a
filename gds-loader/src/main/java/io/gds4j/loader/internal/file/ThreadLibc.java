package io.gds4j.loader.internal.file;

import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixDescriptors;
import io.gds4j.internal.file.Descriptors;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;

/** The libc by which a thread opens files: that of the process, or another one, whose calls tests let fail. */
final class ThreadLibc {
    private static final ScopedValue<Posix> OTHER = ScopedValue.newInstance();
    private static final PosixDescriptors DESCRIPTORS = new PosixDescriptors(ThreadLibc::posix);

    private ThreadLibc() {
    }

    /** Returns the calls of libc; empty where this process may not call it. */
    static Optional<Descriptors> descriptors() {
        return DESCRIPTORS.isUsable() ? Optional.of(DESCRIPTORS) : Optional.empty();
    }

    private static Posix posix() {
        return OTHER.isBound() ? OTHER.get() : FfmPosix.instance();
    }

    /** Returns the result of an action whose files the thread opens by another libc. */
    static <T> T with(Posix libc, Callable<T> action) throws Exception {
        return ScopedValue.where(OTHER, libc).call(action::call);
    }

    /** Does work whose files the thread opens by another libc. */
    static void run(Posix libc, Runnable work) {
        ScopedValue.where(OTHER, libc).run(work);
    }

    /** Returns the libc of this thread that is not that of the process; null if there is none. */
    static @Nullable Posix other() {
        return OTHER.isBound() ? OTHER.get() : null;
    }
}
