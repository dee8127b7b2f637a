package io.gds4j.loader.parallel;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import java.io.Serializable;
import java.util.Objects;

/**
 * Tells how to split the tensors with certain names.
 *
 * <p>
 * A pattern such as {@code layers.*.self_attn.q_proj} names a module, and applies to all of its tensors; it may name a tensor, too.
 * It matches whole components between dots, at the end of the name: prefixes such as {@code model.} may be left out. {@code *}
 * stands for any characters within one component, so the pattern {@code *} matches every name.
 *
 * @param pattern pattern of names, not empty
 * @param split how to split the tensors
 * @param optional true if the rule may match no tensor
 * @since 0.1
 */
public record ParallelRule(String pattern, Split split, boolean optional) implements Serializable {

    /** Longest pattern in characters. */
    public static final int MAX_PATTERN = 1024;

    /** The last rule of plans that replicate tensors without a rule. */
    static final ParallelRule REST = new ParallelRule("*", Split.replicate(), true);

    /**
     * Creates a rule.
     *
     * @throws CuFileException INVALID_VALUE for a pattern that is empty, has an empty component or more than
     *         {@value #MAX_PATTERN} characters
     */
    public ParallelRule {
        Objects.requireNonNull(split, "split");
        if (pattern.isEmpty() || pattern.startsWith(".") || pattern.endsWith(".") || pattern.contains("..")) {
            throw CuFileException.invalid("ParallelRule",
                    "the pattern %s has an empty component; write names with a dot between them"
                            .formatted(CheckpointException.quote(pattern)));
        }
        if (pattern.length() > MAX_PATTERN) {
            throw CuFileException.invalid("ParallelRule",
                    "the pattern %s has %s characters; allowed are %s"
                            .formatted(CheckpointException.quote(pattern), pattern.length(), MAX_PATTERN));
        }
    }

    /** Creates a rule that must match. */
    public ParallelRule(String pattern, Split split) {
        this(pattern, split, false);
    }

    /** Returns whether the rule applies to the tensor of this name. */
    public boolean matches(String tensor) {
        return endsWithPattern(tensor, tensor.length()) || endsWithPattern(tensor, tensor.lastIndexOf('.'));
    }

    /** Compares component by component, from the last one on. */
    private boolean endsWithPattern(String name, int length) {
        int nameEnd = length;
        int patternEnd = pattern.length();
        while (true) {
            if (nameEnd < 0) {
                return false;
            }
            int nameStart = name.lastIndexOf('.', nameEnd - 1) + 1;
            int patternStart = pattern.lastIndexOf('.', patternEnd - 1) + 1;
            if (!matches(name, nameStart, nameEnd, pattern, patternStart, patternEnd)) {
                return false;
            }
            if (patternStart == 0) {
                return true;
            }
            nameEnd = nameStart - 1;
            patternEnd = patternStart - 1;
        }
    }

    /** Matches a component; remembers only the last star, which suffices and takes no exponential time. */
    static boolean matches(String name, int nameAt, int nameEnd, String glob, int globAt, int globEnd) {
        int n = nameAt;
        int g = globAt;
        int star = -1;
        int resume = n;
        while (n < nameEnd) {
            if (g < globEnd && glob.charAt(g) == '*') {
                star = g++;
                resume = n;
            } else if (g < globEnd && glob.charAt(g) == name.charAt(n)) {
                g++;
                n++;
            } else if (star >= 0) {
                g = star + 1;
                n = ++resume;
            } else {
                return false;
            }
        }
        while (g < globEnd && glob.charAt(g) == '*') {
            g++;
        }
        return g == globEnd;
    }
}
