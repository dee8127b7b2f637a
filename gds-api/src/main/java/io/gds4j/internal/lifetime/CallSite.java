package io.gds4j.internal.lifetime;

import java.util.regex.Pattern;

/** Finds the place in the caller's program that made an object, for messages about forgotten objects. */
final class CallSite {
    private static final StackWalker WALKER = StackWalker.getInstance();

    /** Classes of the JDK and of gds4j. Samples, the command, benchmarks, the test kit and tests in {@code site} are programs. */
    private static final Pattern LIBRARY = Pattern.compile(
            "java\\..*|io\\.gds4j\\.(?!(samples|tools|benchmarks|testkit|site)\\.).*");

    private CallSite() {
    }

    /** Returns the first frame on this thread's stack outside the library. */
    static String ofCaller() {
        return WALKER.walk(frames -> frames.filter(frame -> isProgram(frame.getClassName()))
                .findFirst()
                .map(frame -> frame.toStackTraceElement().toString())
                .orElse("unknown place"));
    }

    static boolean isProgram(String className) {
        return !LIBRARY.matcher(className).matches();
    }
}
