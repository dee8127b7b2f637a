package io.gds4j.tools.stats;

import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Fields;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Screen;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One run of {@code gds top}. Reads counters that every session has; never changes the level of statistics of a program.
 *
 * @param pid the only process; empty for all JVMs of the user
 * @param anyUser whether that process may belong to another user
 * @param intervalSeconds time between two rounds
 * @param count number of rounds; empty for no end
 * @param output where the samples go
 */
public record TopRun(OptionalLong pid, boolean anyUser, double intervalSeconds, OptionalInt count, Output output) {
    /** Shows the speeds of JVMs until they are all shown, the only one has ended, or a signal ends the process. */
    public ExitStatus run() {
        // One JSON object needs an end.
        long rounds = count.orElse(output.json() ? 1 : Integer.MAX_VALUE);
        long interval = (long) (intervalSeconds * TimeUnit.SECONDS.toNanos(1));
        List<Map<String, @Nullable Object>> samples = new ArrayList<>();
        try (JvmWatch watch = new JvmWatch(pid, anyUser);
                Screen screen = Screen.of(output)) {
            TopText text = new TopText(screen.chartColumns(), screen.showsUnicode());
            TopView view = new TopView();
            List<JvmRates> jvms = List.of();
            watch.begin();
            long due = System.nanoTime();
            boolean over = false;
            for (long round = 0; round < rounds && !over; round++) {
                due += interval;
                if (!sleptUntil(due, view, text, screen, jvms)) {
                    break;
                }
                jvms = watch.next();
                // Also if nobody reads any more, as after head.
                over = watch.isOver() || output.terminal().out().checkError();
                if (output.json()) {
                    samples.add(sample(jvms));
                } else {
                    screen.show(text.lines(jvms, view));
                }
            }
        }
        if (output.json()) {
            output.print(object -> {
                object.put("intervalSeconds", intervalSeconds);
                object.put("samples", samples);
            }, List::of);
        }
        return ExitStatus.DONE;
    }

    /** Waits for the next round, and shows what keys change. Returns false if the command ends. */
    private static boolean sleptUntil(
            long due, TopView view, TopText text, Screen screen, List<JvmRates> shown) {
        try {
            for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
                Optional<Integer> key = screen.nextKey(left);
                if (key.isPresent()) {
                    if (!view.take(key.get())) {
                        return false;
                    }
                    screen.show(text.lines(shown, view));
                }
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private static Map<String, @Nullable Object> sample(List<JvmRates> jvms) {
        return Fields.of("bytesPerSecond", Math.round(jvms.stream().mapToDouble(JvmRates::bytesPerSecond).sum()))
                .and("jvms", jvms.stream().map(TopRun::object).toList()).map();
    }

    private static Map<String, @Nullable Object> object(JvmRates jvm) {
        return Fields.of("pid", jvm.pid())
                .and("program", jvm.program())
                .and("state", jvm.state().word())
                .and("message", jvm.message().isEmpty() ? null : jvm.message())
                .and("bytesPerSecond", Math.round(jvm.bytesPerSecond()))
                .and("sessions", jvm.sessions().stream().map(TopRun::object).toList()).map();
    }

    private static Map<String, @Nullable Object> object(JvmRates.Session session) {
        EngineSample sample = session.sample();
        return Fields.of("session", sample.number())
                .and("backend", sample.backend())
                .and("level", sample.level())
                .and("bytesPerSecond", Math.round(session.bytesPerSecond()))
                .and("ioPaths", sample.bytesByPath())
                .and("ioPathsPerSecond", rounded(session.byPath()))
                .and("gpus", sample.bytesByGpu())
                .and("gpusPerSecond", rounded(session.byGpu()))
                .and("bouncePoolBytes", sample.bouncePoolBytes())
                .and("bouncePoolPeakBytes", sample.bouncePoolPeakBytes())
                .and("queueDepth", sample.queueDepth())
                .and("retries", sample.retries()).map();
    }

    private static Map<String, Long> rounded(Map<String, Double> rates) {
        Map<String, Long> rounded = new LinkedHashMap<>();
        rates.forEach((name, rate) -> rounded.put(name, Math.round(rate)));
        return rounded;
    }
}
