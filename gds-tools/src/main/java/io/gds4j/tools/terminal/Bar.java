package io.gds4j.tools.terminal;

import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.Locale;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** A progress bar. The consumer is given: the library's own choice loads native code and draws into pipes. */
final class Bar implements Progress {
    private static final int UPDATE_MILLIS = 100;

    private final ProgressBar bar;

    Bar(Terminal terminal, String task, long total) {
        Scale scale = Scale.of(total);
        // One column stays free: a line that fills the last one wraps on some terminals.
        bar = new ProgressBarBuilder()
                .setTaskName(task)
                .setInitialMax(total)
                .setUnit(scale.unit, scale.factor)
                .setStyle(terminal.showsUnicode() ? ProgressBarStyle.UNICODE_BLOCK : ProgressBarStyle.ASCII)
                .setUpdateIntervalMillis(UPDATE_MILLIS)
                .setConsumer(new ConsoleProgressBarConsumer(terminal.err(), terminal.columns() - 1))
                .showSpeed(new DecimalFormat("0.00", DecimalFormatSymbols.getInstance(Locale.ROOT)))
                .hideEta()
                .build();
    }

    @Override
    public void advanceTo(long bytes) {
        bar.stepTo(bytes);
    }

    @Override
    public void close() {
        bar.close();
    }

    private enum Scale {
        KILO(" kB", 1_000),
        MEGA(" MB", 1_000_000),
        GIGA(" GB", 1_000_000_000);

        private final String unit;
        private final long factor;

        Scale(String unit, long factor) {
            this.unit = unit;
            this.factor = factor;
        }

        static Scale of(long total) {
            return total >= 100 * GIGA.factor ? GIGA : total >= 100 * KILO.factor ? MEGA : KILO;
        }
    }
}
