package io.gds4j.tools.stats;

import io.gds4j.tools.terminal.ErrorReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * The speeds of a JVM between its last two answers.
 *
 * @param pid its process
 * @param program class or file that it runs; empty if unknown
 * @param state what is known of it
 * @param message one line why there are no speeds; empty if there are
 * @param listens whether it began to listen for JMX connections because of this command
 * @param sessions its sessions
 */
record JvmRates(long pid, String program, State state, String message, boolean listens, List<Session> sessions) {
    /** What is known of a JVM. */
    enum State {
        OPEN, NO_DRIVER, CONNECTING, SILENT, REFUSED, ENDED;

        String word() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /**
     * The speeds of a session.
     *
     * @param sample its counters now
     * @param byPath bytes a second by I/O path
     * @param byGpu bytes a second by GPU
     */
    record Session(EngineSample sample, Map<String, Double> byPath, Map<String, Double> byGpu) {
        double bytesPerSecond() {
            return byPath.values().stream().mapToDouble(Double::doubleValue).sum();
        }
    }

    double bytesPerSecond() {
        return sessions.stream().mapToDouble(Session::bytesPerSecond).sum();
    }

    /** Returns a JVM that this command has not connected to, because it has no session. */
    static JvmRates withoutDriver(long pid, String program) {
        return new JvmRates(pid, program, State.NO_DRIVER, "no driver is open", false, List.of());
    }

    static JvmRates of(long pid, String program, JvmReader<EngineSample> reader) {
        Optional<RuntimeException> failure = reader.failure();
        if (failure.isPresent()) {
            boolean ended = !JvmList.isRunning(pid);
            return new JvmRates(
                    pid, program, ended ? State.ENDED : State.REFUSED,
                    ended ? "has ended" : ErrorReport.of(failure.get()).message(), false, List.of());
        }
        double silent = reader.silentSeconds();
        if (silent > 0) {
            State state = reader.last().isPresent() || silent > 2 ? State.SILENT : State.CONNECTING;
            String message = state == State.CONNECTING
                    ? "connecting"
                    : String.format(Locale.ROOT, "has not answered for %.0f s: it may be stopped", silent);
            return new JvmRates(pid, program, state, message, reader.listens(), List.of());
        }
        List<Session> sessions = reader.last().map(now -> between(reader.before().orElse(now), now)).orElse(List.of());
        return sessions.isEmpty()
                ? withoutDriver(pid, program)
                : new JvmRates(pid, program, State.OPEN, "", reader.listens(), sessions);
    }

    private static List<Session> between(JvmReader.Answer<EngineSample> before, JvmReader.Answer<EngineSample> now) {
        double seconds = (now.nanos() - before.nanos()) / 1e9;
        List<Session> sessions = new ArrayList<>();
        for (EngineSample sample : now.sessions()) {
            EngineSample earlier = before.sessions().stream()
                    .filter(one -> one.number().equals(sample.number()))
                    .findFirst()
                    .orElse(sample);
            sessions.add(new Session(
                    sample,
                    rates(earlier.bytesByPath(), sample.bytesByPath(), seconds),
                    rates(earlier.bytesByGpu(), sample.bytesByGpu(), seconds)));
        }
        return sessions;
    }

    private static Map<String, Double> rates(Map<String, Long> before, Map<String, Long> now, double seconds) {
        Map<String, Double> rates = new TreeMap<>();
        // A path without bytes is absent. The program may reset the counters of GPUs.
        now.forEach((name, bytes) -> rates.put(
                name, seconds <= 0 ? 0 : Math.max(0, bytes - before.getOrDefault(name, 0L)) / seconds));
        return rates;
    }
}
