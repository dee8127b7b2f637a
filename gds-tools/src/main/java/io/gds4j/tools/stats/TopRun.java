package io.gds4j.tools.stats;

import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Screen;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Runs {@code gds top}. Reads counters that every session has; never changes the level of statistics of a program. */
public final class TopRun {
    private TopRun() {
    }

    /** Shows the speeds of JVMs until they are all shown, the only one has ended, or a signal ends the process. */
    public static ExitStatus run(TopArguments arguments, Output output) {
        // One JSON object needs an end.
        long rounds = arguments.count().orElse(output.json() ? 1 : Integer.MAX_VALUE);
        long interval = (long) (arguments.intervalSeconds() * TimeUnit.SECONDS.toNanos(1));
        List<Map<String, @Nullable Object>> samples = new ArrayList<>();
        try (JvmWatch watch = new JvmWatch(arguments.pid()); Screen screen = Screen.of(output)) {
            TopText text = new TopText(screen.chartColumns(), screen.showsUnicode());
            watch.begin();
            long due = System.nanoTime();
            boolean over = false;
            for (long round = 0; round < rounds && !over; round++) {
                due += interval;
                if (!sleptUntil(due)) {
                    break;
                }
                List<JvmRates> jvms = watch.next();
                // Also if nobody reads any more, as after head.
                over = watch.isOver() || output.terminal().out().checkError();
                if (output.json()) {
                    samples.add(sample(jvms));
                } else {
                    screen.show(text.lines(jvms));
                }
            }
        }
        if (output.json()) {
            output.print(object -> {
                object.put("intervalSeconds", arguments.intervalSeconds());
                object.put("samples", samples);
            }, List::of);
        }
        return ExitStatus.DONE;
    }

    private static boolean sleptUntil(long due) {
        try {
            TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static Map<String, @Nullable Object> sample(List<JvmRates> jvms) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        object.put("bytesPerSecond", Math.round(jvms.stream().mapToDouble(JvmRates::bytesPerSecond).sum()));
        object.put("jvms", jvms.stream().map(TopRun::object).toList());
        return object;
    }

    private static Map<String, @Nullable Object> object(JvmRates jvm) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        object.put("pid", jvm.pid());
        object.put("program", jvm.program());
        object.put("state", jvm.state().word());
        object.put("message", jvm.message().isEmpty() ? null : jvm.message());
        object.put("bytesPerSecond", Math.round(jvm.bytesPerSecond()));
        object.put("sessions", jvm.sessions().stream().map(TopRun::object).toList());
        return object;
    }

    private static Map<String, @Nullable Object> object(JvmRates.Session session) {
        EngineSample sample = session.sample();
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        object.put("session", sample.number());
        object.put("backend", sample.backend());
        object.put("level", sample.level());
        object.put("bytesPerSecond", Math.round(session.bytesPerSecond()));
        object.put("ioPaths", sample.bytesByPath());
        object.put("ioPathsPerSecond", rounded(session.byPath()));
        object.put("gpus", sample.bytesByGpu());
        object.put("gpusPerSecond", rounded(session.byGpu()));
        object.put("bouncePoolBytes", sample.bouncePoolBytes());
        object.put("bouncePoolPeakBytes", sample.bouncePoolPeakBytes());
        object.put("queueDepth", sample.queueDepth());
        object.put("retries", sample.retries());
        return object;
    }

    private static Map<String, Long> rounded(Map<String, Double> rates) {
        Map<String, Long> rounded = new LinkedHashMap<>();
        rates.forEach((name, rate) -> rounded.put(name, Math.round(rate)));
        return rounded;
    }
}
