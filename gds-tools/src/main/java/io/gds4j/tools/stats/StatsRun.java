package io.gds4j.tools.stats;

import io.gds4j.statistics.GpuStatistics;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs {@code gds stats}. */
public final class StatsRun {
    private StatsRun() {
    }

    /**
     * Reads the statistics of a process and prints them.
     *
     * @param anyUser whether the process may belong to another user
     */
    public static ExitStatus run(long pid, boolean anyUser, Output output) {
        List<SessionStatistics> sessions = read(pid, anyUser, output);
        if (sessions.isEmpty()) {
            throw CommandFailure.badInput(
                    null,
                    !JvmList.holdsDriver(pid) ? "process %s does not use gds4j: it has no driver open".formatted(pid)
                            : "process %s collects no statistics: set profile.cufile_stats to 1, 2 or 3, or call statistics().setLevel"
                                    .formatted(pid));
        }
        output.print(object -> {
            object.put("pid", pid);
            object.put("sessions", sessions.stream().map(StatsRun::object).toList());
        }, () -> sessions.stream().flatMap(session -> StatsText.lines(session).stream()).toList());
        return ExitStatus.DONE;
    }

    private static List<SessionStatistics> read(long pid, boolean anyUser, Output output) {
        try (JvmReader<SessionStatistics> jvm = JvmReader.start(pid, anyUser, SessionStatistics::read)) {
            List<SessionStatistics> sessions = jvm.answerNow();
            if (jvm.listens()) {
                output.note("process %s now listens on a port for JMX until it ends; its JVM accepts only this machine"
                        .formatted(pid));
            }
            return sessions;
        }
    }

    static Map<String, @Nullable Object> object(SessionStatistics session) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        object.put("session", session.number());
        object.put("backend", session.backend());
        object.put("level", session.level());
        object.putAll(CuFileNames.object(session.level1()));
        session.level2().ifPresent(level2 -> {
            object.put("read_size_kb_hist", level2.readSizeKbHistogram());
            object.put("write_size_kb_hist", level2.writeSizeKbHistogram());
        });
        session.level3().ifPresent(level3 -> {
            object.put("num_gpus", level3.gpus().size());
            object.put("per_gpu_stats", level3.gpus().stream().map(StatsRun::gpu).toList());
        });
        object.put("ioPaths", session.bytesByPath());
        object.put("bouncePoolBytes", session.bouncePoolBytes());
        object.put("bouncePoolPeakBytes", session.bouncePoolPeakBytes());
        object.put("queueDepth", session.queueDepth());
        object.put("retries", session.retries());
        object.put("ioUring", session.ioUring());
        return object;
    }

    private static Map<String, @Nullable Object> gpu(GpuStatistics gpu) {
        return CuFileNames.object(gpu);
    }
}
