package io.gds4j.tools.terminal;

import java.io.PrintStream;
import java.util.concurrent.atomic.AtomicLong;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/**
 * A progress bar that erases itself at the end. It sets its own consumer, because the library's default loads native
 * code and also draws into pipes. It computes the speed, because the library counts whole seconds.
 */
final class Bar implements Progress {
    private static final int UPDATE_MILLIS = 100;
    private static final long UPDATE_NANOS = UPDATE_MILLIS * 1_000_000L;

    private final ProgressBar bar;
    private final Line line;
    private final long total;
    private final long start = System.nanoTime();
    /** Erases the bar on a signal, so that the shell's prompt starts on an empty line. */
    private final Thread hook = new Thread(this::wipe, "gds-progress-wipe");
    private final AtomicLong nextUpdate = new AtomicLong(start + UPDATE_NANOS);

    Bar(Terminal terminal, String task, long total) {
        this.total = total;
        Scale scale = Scale.of(total);
        // One column stays free: some terminals wrap a line that fills the last column.
        line = new Line(terminal.err(), terminal.columns() - 1);
        bar = new ProgressBarBuilder()
                .setTaskName(task)
                .setInitialMax(total)
                .setUnit(scale.unit, scale.factor)
                .setStyle(terminal.showsUnicode() ? ProgressBarStyle.UNICODE_BLOCK : ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(UPDATE_MILLIS)
                .setConsumer(line)
                .hideEta()
                .build();
        Runtime.getRuntime().addShutdownHook(hook);
    }

    @Override
    public void advanceTo(long bytes) {
        bar.stepTo(bytes);
        long now = System.nanoTime();
        long due = nextUpdate.get();
        if (now - due >= 0 && nextUpdate.compareAndSet(due, now + UPDATE_NANOS)) {
            bar.setExtraMessage(message(bytes, (now - start) / 1e9));
        }
    }

    /** Returns the speed and the time that the rest takes at this speed. */
    private String message(long bytes, double seconds) {
        String rate = Units.rate(bytes / seconds);
        return bytes <= 0 ? rate : rate + ", " + Units.remaining(seconds * (total - bytes) / bytes) + " left";
    }

    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The process is ending, and the hook erases the bar as well: erasing it twice is harmless.
        }
        wipe();
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

    private enum Scale {
        KIBI(" KiB", 1L << 10),
        MEBI(" MiB", 1L << 20),
        GIBI(" GiB", 1L << 30);

        private final String unit;
        private final long factor;

        Scale(String unit, long factor) {
            this.unit = unit;
            this.factor = factor;
        }

        static Scale of(long total) {
            return total >= 100 * GIBI.factor ? GIBI : total >= 100 * KIBI.factor ? MEBI : KIBI;
        }
    }
}
