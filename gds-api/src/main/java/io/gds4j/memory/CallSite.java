package io.gds4j.memory;

/** Finds where in the caller's program an object was made, for messages about forgotten ones. */
public final class CallSite {
    private static final StackWalker WALKER = StackWalker.getInstance();

    private CallSite() {
    }

    /** The first frame on this thread's stack whose class name does not begin with {@code prefix}. */
    public static String outside(String prefix) {
        return WALKER.walk(
                frames -> frames.filter(frame -> !frame.getClassName().startsWith(prefix))
                        .findFirst()
                        .map(frame -> frame.toStackTraceElement().toString())
                        .orElse("unknown place"));
    }
}
