package io.gds4j.tools.terminal;

import io.gds4j.internal.text.SystemReason;
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The streams and the environment of one run of the command.
 *
 * @param out receives only results; UTF-8, because JSON is
 * @param err receives progress and errors
 * @param environment environment variables
 * @param errIsTerminal whether {@code err} is a terminal; evaluated only when needed, because it loads libc bindings
 * @param outIsTerminal whether {@code out} is a terminal; evaluated only when needed
 * @param left what a run leaves to the end of the process, which comes at once; null if the process goes on
 */
public record Terminal(PrintStream out, PrintStream err, Map<String, String> environment,
        BooleanSupplier errIsTerminal, BooleanSupplier outIsTerminal, @Nullable List<AutoCloseable> left) {

    private static final int STANDARD_OUTPUT = 1;
    private static final int STANDARD_ERROR = 2;
    private static final int DEFAULT_COLUMNS = 80;
    private static final int DEFAULT_ROWS = 24;
    private static final int MIN_COLUMNS = 40;
    private static final int MAX_COLUMNS = 200;

    /** A terminal of a process that goes on. */
    public Terminal(PrintStream out, PrintStream err, Map<String, String> environment,
            BooleanSupplier errIsTerminal, BooleanSupplier outIsTerminal) {
        this(out, err, environment, errIsTerminal, outIsTerminal, null);
    }

    /** The terminal of this process. */
    public static Terminal ofProcess() {
        return new Terminal(
                ResultStream.ofProcess(),
                System.err,
                System.getenv(),
                () -> TerminalQueries.isTerminal(STANDARD_ERROR),
                () -> TerminalQueries.isTerminal(STANDARD_OUTPUT));
    }

    /** Returns this terminal for the last run of the process. It holds what the run leaves open: the collector would have gds4j warn of it. */
    public Terminal ofLastRun() {
        return new Terminal(out, err, environment, errIsTerminal, outIsTerminal, new ArrayList<>());
    }

    /** Leaves this to the end of the process, or closes it if the process goes on. */
    public <T extends AutoCloseable> void leave(T open, Consumer<T> close) {
        if (left == null) {
            close.accept(open);
        } else {
            left.add(open);
        }
    }

    /** Prints a JSON object on one line of {@code out}. */
    public void printJson(Map<String, ? extends @Nullable Object> object) {
        out.println(Json.line(object));
    }

    /** Returns why a write to this process's output failed; empty if its reader left, which is no failure. */
    public Optional<String> failure() {
        return out instanceof ResultStream results ? results.failure() : Optional.empty();
    }

    /**
     * True if {@code err} is a terminal that supports a carriage return. Progress uses no escape sequences, so NO_COLOR
     * does not apply.
     */
    public boolean drawsProgress() {
        return !"dumb".equals(environment.get("TERM")) && errIsTerminal.getAsBoolean();
    }

    /**
     * Returns lines of a result as {@code out} shows them: on a terminal wrapped at its width, and coloured unless NO_COLOR is set
     * or TERM is {@code dumb}; elsewhere unchanged, so that scripts see whole lines.
     */
    public List<String> shown(List<String> lines) {
        if (!outIsTerminal.getAsBoolean()) {
            return lines;
        }
        boolean colour = !environment.getOrDefault("TERM", "dumb").equals("dumb")
                && environment.getOrDefault("NO_COLOR", "").isEmpty();
        return new Layout(columns(), colour).of(lines);
    }

    /** Width that results should fit: that of the terminal, and no limit elsewhere. */
    public int resultColumns() {
        return outIsTerminal.getAsBoolean() ? columns() : Integer.MAX_VALUE;
    }

    /** True if {@code out} is a terminal that moves its cursor. NO_COLOR excludes colour, not that. */
    boolean drawsScreens() {
        return !environment.getOrDefault("TERM", "dumb").equals("dumb") && outIsTerminal.getAsBoolean();
    }

    /** True if {@code err} can print block characters. */
    public boolean showsUnicode() {
        Charset charset = err.charset();
        return charset.equals(StandardCharsets.UTF_8);
    }

    /** Width in characters, limited to a readable range. */
    public int columns() {
        return Math.max(MIN_COLUMNS, lineColumns());
    }

    /** Width in characters of a line that is erased later, and so must not wrap. */
    int lineColumns() {
        OptionalInt columns = number(environment.get("COLUMNS"));
        int known = columns.orElseGet(() -> TerminalQueries.size().columns());
        return known == 0 ? DEFAULT_COLUMNS : Math.min(known, MAX_COLUMNS);
    }

    /** Height in lines. */
    int rows() {
        int known = number(environment.get("LINES")).orElseGet(() -> TerminalQueries.size().rows());
        return known == 0 ? DEFAULT_ROWS : known;
    }

    private static OptionalInt number(@Nullable String text) {
        boolean digits = text != null
                && !text.isEmpty()
                && text.length() <= 4
                && text.chars().allMatch(c -> c >= '0' && c <= '9');
        return digits ? OptionalInt.of(Integer.parseInt(text)) : OptionalInt.empty();
    }

    /** Standard output in UTF-8 that keeps the reason of a failed write. PrintStream alone only reports that one failed. */
    private static final class ResultStream extends PrintStream {
        private final Sink sink;

        private ResultStream(Sink sink) {
            super(new BufferedOutputStream(sink), false, StandardCharsets.UTF_8);
            this.sink = sink;
        }

        static ResultStream ofProcess() {
            return new ResultStream(new Sink());
        }

        /** Reason of the last failed write; empty if the reader closed the pipe, as {@code head} does after enough lines. */
        Optional<String> failure() {
            String failure = sink.failure;
            return SystemReason.BROKEN_PIPE.text().equals(failure)
                    ? Optional.empty()
                    : Optional.of(failure == null ? "write failed" : failure);
        }

        private static final class Sink extends OutputStream {
            private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
            private volatile @Nullable String failure;

            @Override
            public void write(int b) throws IOException {
                write(new byte[]{(byte) b}, 0, 1);
            }

            @Override
            public void write(byte[] bytes, int offset, int length) throws IOException {
                try {
                    out.write(bytes, offset, length);
                } catch (IOException e) {
                    failure = String.valueOf(e.getMessage());
                    throw e;
                }
            }
        }
    }
}
