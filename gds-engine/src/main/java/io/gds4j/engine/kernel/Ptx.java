package io.gds4j.engine.kernel;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The programs of the kernels as the driver gets them: {@code copy.ptx}, {@code gather.ptx} and {@code fragments.ptx}, without comments. Of two remarks this class
 * takes notice: {@code //@ include FILE} stands for a file, and {@code //@ TARGET ...} keeps a line for those targets.
 */
final class Ptx {
    static final String COPY = "gds4j_copy";
    static final String GATHER = "gds4j_gather";
    static final String FRAGMENTS = "gds4j_fragments";

    /** A kernel that sets the word of its first argument to the second. With {@link Target#EARLY} alone. */
    static final String BELL = "gds4j_bell";

    private static final String REMARK = "//";
    private static final String CONDITION = "//@ ";
    private static final String INCLUDE = CONDITION + "include ";

    /** What a GPU must be able to do, best first. {@code gather.ptx} says what. */
    enum Target {
        EARLY, ORDERED, OLD;

        boolean hasBell() {
            return this == EARLY;
        }
    }

    private Ptx() {
    }

    /** Returns the program of {@link CopyKernel}, which every GPU takes. */
    static String copy() {
        return program("copy.ptx", Target.OLD);
    }

    /** Returns the program of {@link FragmentKernel}, which every GPU takes. */
    static String fragments() {
        return program("fragments.ptx", Target.OLD);
    }

    /** Returns the program of {@link GatherKernel}. */
    static String gather(Target target) {
        return program("gather.ptx", target);
    }

    private static String program(String file, Target target) {
        StringBuilder text = new StringBuilder(16 << 10);
        append(text, file, target);
        return text.toString();
    }

    private static void append(StringBuilder text, String file, Target target) {
        for (String line : source(file).split("\n")) {
            int condition = line.indexOf(CONDITION);
            int remark = line.indexOf(REMARK);
            String code = (remark < 0 ? line : line.substring(0, remark)).strip();
            if (line.strip().startsWith(INCLUDE)) {
                String[] words = line.strip().substring(INCLUDE.length()).split(" ");
                if (words.length == 1 || isFor(target, words)) {
                    append(text, words[0], target);
                }
            } else if (!code.isEmpty()
                    && (condition < 0 || isFor(target, line.substring(condition + CONDITION.length()).split(" ")))) {
                text.append(code).append('\n');
            }
        }
    }

    private static boolean isFor(Target target, String[] words) {
        return Arrays.asList(words).contains(target.name());
    }

    private static String source(String file) {
        try (InputStream stream = Ptx.class.getResourceAsStream(file)) {
            if (stream == null) {
                throw new IllegalStateException(file + " is not beside its class");
            }
            return new String(stream.readAllBytes(), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
