package io.gds4j.loader;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.text.InertText;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.TensorInfo;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Finds a regular expression in names of tensors. The program knows the expression and a stranger the names, so a budget bounds the
 * characters that the search reads: some expressions take quadratic or exponential time on names that are made for them.
 */
final class NameSearch {
    /** Rule that a search breaks whose steps are spent. */
    static final CheckpointRule LIMIT = new CheckpointRule("SearchLimit", "cannot be searched");

    /** Reads for every search: about a second. */
    private static final long FREE_READS = 100_000_000;
    /**
     * Reads that each character of a name adds: the time stays linear in the size of the header, and quadratic expressions such as
     * {@code .*proj.*} work with the names of any real model.
     */
    private static final long READS_PER_CHARACTER = 200;

    private static final int MAX_SHOWN = 120;

    private final String regex;
    private final Pattern pattern;
    private long reads = FREE_READS;

    private NameSearch(String regex, Pattern pattern) {
        this.regex = regex;
        this.pattern = pattern;
    }

    /**
     * Compiles an expression.
     *
     * @throws CuFileException INVALID_VALUE for a malformed one
     */
    static NameSearch of(String regex) {
        try {
            return new NameSearch(regex, Pattern.compile(regex));
        } catch (PatternSyntaxException e) {
            throw CuFileException.invalid("LoadPlan",
                    "not a regular expression: %s at %s of %s"
                            .formatted(e.getDescription(), e.getIndex(), shown(regex)));
        }
    }

    /**
     * Returns the names in which the expression is found.
     *
     * @throws CheckpointException SEARCH_LIMIT if the search has no end in sight, or recurses too deeply
     */
    Set<String> find(Collection<TensorInfo> tensors) {
        Set<String> found = new HashSet<>();
        for (TensorInfo tensor : tensors) {
            String name = tensor.name();
            reads += READS_PER_CHARACTER * name.length();
            try {
                if (pattern.matcher(new Counted(name, 0, name.length())).find()) {
                    found.add(name);
                }
            } catch (StackOverflowError | Spent e) {
                throw CheckpointException.of(
                        LIMIT,
                        tensor.file(),
                        -1,
                        name,
                        "the expression %s takes too many steps for tensor %s, whose name has %s characters"
                                .formatted(
                                        shown(regex),
                                        CheckpointException.quote(name),
                                        name.length()));
            }
        }
        return found;
    }

    /** The expression is the user's own: its backslashes stay single. */
    private static String shown(String regex) {
        return "'" + InertText.line(regex, MAX_SHOWN) + "'";
    }

    /** The budget is spent. */
    private static final class Spent extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Spent() {
            super(null, null, false, false);
        }
    }

    /** A name that counts how often its characters are read. */
    private final class Counted implements CharSequence {
        private final String name;
        private final int begin;
        private final int end;

        Counted(String name, int begin, int end) {
            this.name = name;
            this.begin = begin;
            this.end = end;
        }

        @Override
        public char charAt(int index) {
            if (--reads < 0) {
                throw new Spent();
            }
            return name.charAt(begin + index);
        }

        @Override
        public int length() {
            return end - begin;
        }

        @Override
        public CharSequence subSequence(int from, int to) {
            return new Counted(name, begin + from, begin + to);
        }

        @Override
        public String toString() {
            return name.substring(begin, end);
        }
    }
}
