package io.gds4j.testkit;

import java.util.Arrays;
import java.util.Set;

/** The place where a test opened or allocated something. */
final class CallSite {
    /** Number of stack frames in the description of a site. */
    private static final int FRAMES = 8;

    private static final String PACKAGE = CallSite.class.getPackageName() + '.';

    /** Classes of this package between the test and the object; by name, because most of them use this class. */
    private static final Set<String> WATCHERS = Set.of(
            "CallSite",
            "LeakDetector",
            "WatchedBackend",
            "FaultInjectingBackend",
            "FaultyAllocator",
            "FaultyStreams",
            "FakeAllocator",
            "FakeGpuBackend",
            "FakeGrowth",
            "FakeMemory",
            "FakeOperation");

    private final StackTraceElement[] stack = Thread.currentThread().getStackTrace();

    /** {@return what was opened or allocated, and where, over several lines} */
    String describe(String what) {
        StringBuilder text = new StringBuilder(what);
        Arrays.stream(stack)
                .filter(CallSite::isOfProgram)
                .limit(FRAMES)
                .forEach(frame -> text.append("\n        at ").append(frame));
        return text.toString();
    }

    /** {@return whether the place was called by this method} */
    boolean isWithin(Class<?> type, String method) {
        return Arrays.stream(stack)
                .anyMatch(frame -> frame.getClassName().equals(type.getName()) && frame.getMethodName().equals(method));
    }

    private static boolean isOfProgram(StackTraceElement frame) {
        String name = frame.getClassName();
        String outer = name.split("\\$", 2)[0];
        return !name.startsWith("java.lang.Thread")
                && !(outer.startsWith(PACKAGE) && WATCHERS.contains(outer.substring(PACKAGE.length())));
    }
}
