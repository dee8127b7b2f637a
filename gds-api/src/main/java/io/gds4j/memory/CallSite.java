package io.gds4j.memory;

import java.util.regex.Pattern;

/** Finds where in the caller's program an object was made, for messages about forgotten ones. */
final class CallSite {
    private static final StackWalker WALKER = StackWalker.getInstance();

    /** The library itself; samples, the command and tests are programs like any other. */
    private static final Pattern LIBRARY = Pattern.compile(
            "io\\.gds4j\\.([A-Z].*|(memory|config|error|spi|statistics|internal|ffi|engine|jcuda|compat|libcufile|loader)\\..*)|java\\..*");

    private CallSite() {
    }

    /** The first frame on this thread's stack that is not the library's. */
    static String ofCaller() {
        return WALKER.walk(frames -> frames.filter(
                frame -> !LIBRARY.matcher(frame.getClassName()).matches())
                .findFirst()
                .map(frame -> frame.toStackTraceElement().toString())
                .orElse("unknown place"));
    }
}
