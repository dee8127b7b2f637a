package io.gds4j.tools.terminal;

/** Words with which the first line of a result says whether all is well. A terminal shows them in green and red. */
public final class Verdict {
    /** Begins the verdict of what works. */
    public static final String WORKS = "Works:";
    /** Begins the verdict of what does not. */
    public static final String FAILS = "Fails:";

    private Verdict() {
    }
}
