package io.gds4j.tools.command;

import java.util.Iterator;
import java.util.List;

/** Words that shells complete as values of options. An option takes each of its words. */
abstract class Candidates implements Iterable<String> {
    private final List<String> words;

    private Candidates(String... words) {
        this.words = List.of(words);
    }

    @Override
    public final Iterator<String> iterator() {
        return words.iterator();
    }

    /** Of {@code --target}. */
    static final class Targets extends Candidates {
        Targets() {
            super("host", "gpu:0");
        }
    }

    /** Of {@code --parallel}. */
    static final class Modes extends Candidates {
        Modes() {
            super("replicate", "column");
        }
    }

    /** Of {@code --backend}. */
    static final class Backends extends Candidates {
        Backends() {
            super("auto", "compat", "libcufile");
        }
    }

    /** Of {@code --direct-storage}. */
    static final class Demands extends Candidates {
        Demands() {
            super("auto", "require", "off");
        }
    }

    /** Of {@code --remainder}. */
    static final class Remainders extends Candidates {
        Remainders() {
            super("keep", "drop", "pad");
        }
    }

    /** Of {@code --require}. */
    static final class Requirements extends Candidates {
        Requirements() {
            super("gpu", "libcufile", "nvfs", "p2pdma", "odirect");
        }
    }
}
