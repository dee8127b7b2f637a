package io.gds4j.tools.terminal;

import io.gds4j.internal.text.InertText;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Where and how a command prints its result.
 *
 * @param terminal the streams
 * @param schema schema name of the JSON object
 * @param json whether to print one JSON object on standard output
 * @param quiet whether to print only errors and the JSON object
 * @param progress whether to draw progress on a terminal
 * @param statistics whether to collect and print statistics
 * @param listener hears the fields and lines of the result; null for nothing
 */
public record Output(
        Terminal terminal, String schema, boolean json, boolean quiet, boolean progress, boolean statistics,
        @Nullable BiConsumer<Map<String, @Nullable Object>, List<String>> listener) {

    /** A progress that shows nothing. */
    private static final Progress SILENT = new Progress() {
        @Override
        public void advanceTo(long bytes) {
            // shows nothing
        }

        @Override
        public void close() {
            // nothing to end
        }
    };

    /** Returns the schema name of a command's JSON object. Within a schema number, releases only add fields. */
    public static String schema(String command) {
        return "gds4j." + command + "/1";
    }

    /** An output without statistics, to which nothing listens. */
    public Output(Terminal terminal, String schema, boolean json, boolean quiet, boolean progress) {
        this(terminal, schema, json, quiet, progress, false, null);
    }

    /** Returns this output with statistics. */
    public Output counting() {
        return new Output(terminal, schema, json, quiet, progress, true, listener);
    }

    /** Returns this output with a listener, which hears the result before it is printed. */
    public Output told(BiConsumer<Map<String, @Nullable Object>, List<String>> listener) {
        return new Output(terminal, schema, json, quiet, progress, statistics, listener);
    }

    /** Returns the environment variables. */
    public Map<String, String> environment() {
        return terminal.environment();
    }

    /** True if the command prints its result as text. */
    public boolean table() {
        return !json && !quiet;
    }

    /**
     * Prints the result.
     *
     * @param fields adds the fields of the JSON object, behind its schema
     * @param lines returns the lines of the text
     */
    public void print(Consumer<Map<String, @Nullable Object>> fields, Supplier<List<String>> lines) {
        tell(fields, lines);
        if (json) {
            Map<String, @Nullable Object> object = new LinkedHashMap<>();
            object.put("schema", schema);
            fields.accept(object);
            terminal.printJson(object);
        } else if (table()) {
            terminal.shown(lines.get().stream().map(InertText::line).toList()).forEach(terminal.out()::println);
        }
    }

    /** Tells the listener the result, and prints nothing. */
    public void tell(Consumer<Map<String, @Nullable Object>> fields, Supplier<List<String>> lines) {
        if (listener != null) {
            Map<String, @Nullable Object> object = new LinkedHashMap<>();
            fields.accept(object);
            listener.accept(object, lines.get().stream().map(InertText::line).toList());
        }
    }

    /** Prints a line of the text at once. */
    public void say(String line) {
        if (table()) {
            terminal.shown(List.of(InertText.line(line))).forEach(terminal.out()::println);
            terminal.out().flush();
        }
    }

    /** Prints a note to standard error, unless the command is quiet. */
    public void note(String text) {
        if (!quiet) {
            warn("note: " + text);
        }
    }

    /** Prints a line to standard error. */
    public void warn(String text) {
        terminal.err().println("gds: " + InertText.line(text));
    }

    /**
     * Starts a progress with a line for each file in work if this output and the terminal allow it, else what the other method
     * returns. Lines need escape sequences, which NO_COLOR excludes.
     *
     * @param files bytes of each file, by name
     */
    public Progress start(String task, Map<String, Long> files) {
        boolean lines = files.size() > 1 && terminal.environment().getOrDefault("NO_COLOR", "").isEmpty();
        return lines && showsProgress()
                ? new FileBars(terminal, task, files)
                : start(task, files.values().stream().mapToLong(Long::longValue).sum());
    }

    /**
     * Starts a progress bar on standard error if this output and the terminal allow it, else a progress that shows nothing.
     *
     * @param task label of one or two words, such as {@code loading}
     * @param total bytes in all
     */
    public Progress start(String task, long total) {
        return total > 0 && showsProgress() ? new Bar(terminal, task, total) : SILENT;
    }

    /** Returns whether a progress bar may be shown. */
    public boolean showsProgress() {
        return progress && !quiet && terminal.drawsProgress();
    }
}
