package io.gds4j.tools.terminal;

import io.gds4j.internal.text.InertText;
import java.io.PrintStream;
import java.util.List;
import java.util.Optional;

/**
 * Shows blocks of lines: on a terminal each in the place of the one before, on a screen of its own, which the end and a signal leave;
 * elsewhere one after the other, with an empty line between them. Hears the keys that the user presses meanwhile. Thread-safe.
 */
public final class Screen implements AutoCloseable {
    /** Also lets the terminal cut lines that are too long, such as names without spaces: a wrapped line would scroll the others away. */
    private static final String ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
    private static final String LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";
    private static final String HOME = "\u001b[H";
    private static final String ERASE_LINE = "\u001b[K";
    private static final String ERASE_BELOW = "\u001b[J";

    private final Output output;
    private final Terminal terminal;
    private final boolean redraws;
    /** Leaves the screen on a signal, so that the shell's prompt stands where it stood before. */
    private final Thread hook = new Thread(this::leave, "gds-screen-leave");
    private final Keys keys;
    private List<String> last = List.of();
    private boolean entered;
    private boolean closed;

    private Screen(Output output, boolean redraws) {
        this.output = output;
        this.terminal = output.terminal();
        this.redraws = redraws;
        this.keys = chartColumns() > 0 ? Keys.ofTerminal() : Keys.none();
    }

    /** Returns the screen of an output. */
    public static Screen of(Output output) {
        return new Screen(output, output.table() && output.terminal().drawsScreens());
    }

    /** Returns the width of the terminal; 0 if blocks are not drawn in place. */
    public int chartColumns() {
        return redraws ? terminal.columns() : 0;
    }

    /** True if block characters can be shown. */
    public boolean showsUnicode() {
        return terminal.showsUnicode();
    }

    /**
     * Waits for the next key.
     *
     * @param nanos longest wait; 0 or less returns at once
     * @return the key; empty if none was pressed
     */
    public Optional<Integer> nextKey(long nanos) throws InterruptedException {
        return keys.next(nanos);
    }

    /** Shows a block. */
    public synchronized void show(List<String> lines) {
        if (closed || !output.table()) {
            return;
        }
        List<String> shown = terminal.shown(lines.stream().map(InertText::line).toList());
        PrintStream out = terminal.out();
        if (redraws) {
            draw(shown);
        } else {
            if (!last.isEmpty()) {
                out.println();
            }
            shown.forEach(out::println);
        }
        last = shown;
        out.flush();
    }

    private void draw(List<String> lines) {
        StringBuilder text = new StringBuilder();
        if (!entered) {
            entered = true;
            Runtime.getRuntime().addShutdownHook(hook);
            text.append(ENTER);
        }
        text.append(HOME);
        int rows = terminal.rows();
        // The last row stays free: a line break there would scroll.
        int most = Math.max(1, rows - 1);
        List<String> fitting = lines.size() <= most ? lines : lines.subList(0, most - 1);
        fitting.forEach(line -> text.append(line).append(ERASE_LINE).append("\r\n"));
        if (fitting.size() < lines.size()) {
            text.append("… %s more lines".formatted(lines.size() - fitting.size())).append(ERASE_LINE).append("\r\n");
        }
        terminal.out().print(text.append(ERASE_BELOW));
    }

    private synchronized void leave() {
        closed = true;
        if (entered) {
            entered = false;
            terminal.out().print(LEAVE);
            terminal.out().flush();
        }
    }

    /** Leaves the screen, and prints the last block where the command was called. */
    @Override
    public synchronized void close() {
        keys.close();
        if (!entered) {
            closed = true;
            return;
        }
        boolean goesOn = ShutdownState.remove(hook);
        leave();
        if (goesOn) {
            last.forEach(terminal.out()::println);
        }
    }
}
