package io.gds4j.tools.terminal;

import java.io.PrintStream;
import java.util.List;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressState;

/**
 * A progress bar that erases itself at the end. It sets its own consumer, because the library's default loads native
 * code and also draws into pipes, and its own renderer, because the library counts whole seconds and cuts figures off.
 */
final class Bar implements Progress {
    private static final int UPDATE_MILLIS = 100;

    private final ProgressBar bar;
    private final Line line;
    private final ProgressLine text;
    private final long start = System.nanoTime();
    /** Erases the bar on a signal, so that the shell's prompt starts on an empty line. */
    private final Thread hook = new Thread(this::wipe, "gds-progress-wipe");

    Bar(Terminal terminal, String task, long total) {
        text = new ProgressLine(terminal, task, List.of());
        line = new Line(terminal.err(), terminal.lineColumns() - 1);
        bar = new ProgressBarBuilder()
                .setTaskName(task)
                .setInitialMax(total)
                .setRenderer((state, columns) -> rendered(state))
                .setUpdateIntervalMillis(UPDATE_MILLIS)
                .setConsumer(line)
                .build();
        Runtime.getRuntime().addShutdownHook(hook);
    }

    private String rendered(ProgressState state) {
        double seconds = Math.max(1, System.nanoTime() - start) / 1e9;
        return text.of(state.getTaskName(), state.getCurrent(), state.getMax(), state.getCurrent() / seconds);
    }

    @Override
    public void advanceTo(long bytes) {
        bar.stepTo(bytes);
    }

    @Override
    public void close() {
        ShutdownState.remove(hook);
        wipe(); // twice if the process is ending, which is harmless
    }

    private void wipe() {
        bar.close();
        // The library does not erase the line if it has not drawn since the last call.
        line.clear();
        line.close();
    }

    /** The library's consumer, but without a line break at the end. */
    private static final class Line extends ConsoleProgressBarConsumer {
        private final PrintStream stream;

        Line(PrintStream stream, int columns) {
            super(stream, columns);
            this.stream = stream;
        }

        @Override
        public void close() {
            stream.flush();
        }
    }
}
