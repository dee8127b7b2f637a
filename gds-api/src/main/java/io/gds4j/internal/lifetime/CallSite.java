package io.gds4j.internal.lifetime;

import java.util.List;
import java.util.function.Supplier;

/**
 * The place in the caller's program that made an object, for messages about forgotten objects. A walk over the stack takes longer than
 * opening a small file: who makes many objects looks once, and names the place for each of them.
 */
public final class CallSite {
    private static final StackWalker WALKER = StackWalker.getInstance();
    private static final ScopedValue<CallSite> KNOWN = ScopedValue.newInstance();
    private static final String OURS = "io.gds4j.";
    /** Packages below ours that are programs; tests in {@code site} are, too. */
    private static final List<String> PROGRAMS = List.of("samples.", "tools.", "benchmarks.", "testkit.", "site.");

    private final String place;

    private CallSite(String place) {
        this.place = place;
    }

    /** Returns the place that this thread works for if it is known, else the first frame on its stack outside the library. */
    public static CallSite ofCaller() {
        if (KNOWN.isBound()) {
            return KNOWN.get();
        }
        return new CallSite(WALKER.walk(frames -> frames.filter(frame -> isProgram(frame.getClassName()))
                .findFirst()
                .map(frame -> frame.toStackTraceElement().toString())
                .orElse("unknown place")));
    }

    /** Returns the result of an action whose objects this place made, whichever thread it runs on. */
    public <T> T of(Supplier<T> action) {
        return ScopedValue.where(KNOWN, this).call(action::get);
    }

    static boolean isProgram(String className) {
        return !className.startsWith("java.")
                && (!className.startsWith(OURS)
                        || PROGRAMS.stream().anyMatch(program -> className.startsWith(program, OURS.length())));
    }

    @Override
    public String toString() {
        return place;
    }
}
