package io.gds4j.tools.option;

import java.util.Iterator;
import java.util.List;

/** Words that shells complete as values of options. An option takes each of its words. */
public abstract class Candidates implements Iterable<String> {
    private final List<String> words;

    private Candidates(String... words) {
        this.words = List.of(words);
    }

    @Override
    public final Iterator<String> iterator() {
        return words.iterator();
    }

    /** Of {@code --target}. */
    public static final class Targets extends Candidates {
        Targets() {
            super("host", "gpu:0");
        }
    }

    /** Of {@code --parallel}. */
    public static final class Modes extends Candidates {
        Modes() {
            super("replicate", "column");
        }
    }

    /** Of {@code --backend}. */
    public static final class Backends extends Candidates {
        Backends() {
            super("auto", "compat", "libcufile");
        }
    }

    /** Of {@code --direct-storage}. */
    public static final class Demands extends Candidates {
        Demands() {
            super("auto", "require", "off");
        }
    }

    /** Of {@code --remainder}. */
    public static final class Remainders extends Candidates {
        Remainders() {
            super("keep", "drop", "pad");
        }
    }

    /** Of {@code --require}. */
    public static final class Requirements extends Candidates {
        Requirements() {
            super("gpu", "libcufile", "nvfs", "p2pdma", "odirect");
        }
    }
}
