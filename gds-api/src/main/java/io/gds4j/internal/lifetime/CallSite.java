package io.gds4j.internal.lifetime;

import java.util.regex.Pattern;

/** Finds the place in the caller's program that made an object, for messages about forgotten objects. */
final class CallSite {
    private static final StackWalker WALKER = StackWalker.getInstance();

    /** Classes of gds4j and the JDK; samples, the command and tests count as programs. */
    private static final Pattern LIBRARY = Pattern.compile(
            "io\\.gds4j\\.([A-Z].*|(memory|config|error|spi|statistics|internal|ffi|engine|jcuda|compat|libcufile|loader)\\..*)|java\\..*");

    private CallSite() {
    }

    /** Returns the first frame on this thread's stack outside the library. */
    static String ofCaller() {
        return WALKER.walk(frames -> frames.filter(
                frame -> !LIBRARY.matcher(frame.getClassName()).matches())
                .findFirst()
                .map(frame -> frame.toStackTraceElement().toString())
                .orElse("unknown place"));
    }
}
