package io.gds4j.tools.stats;

import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Patience;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Follows one JVM, or all of this user that have a session. Used by one thread. */
final class JvmWatch implements AutoCloseable {
    /** Longest wait for the first answer of all JVMs; slower ones join later. */
    private static final long FIRST_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** Longest wait for later answers. */
    private static final long ANSWER_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final OptionalLong only;
    private final Map<Long, String> programs = new TreeMap<>();
    private final Map<Long, JvmReader<EngineSample>> readers = new LinkedHashMap<>();

    /** @param anyUser whether the only process may belong to another user */
    JvmWatch(OptionalLong only, boolean anyUser) {
        this.only = only;
        only.ifPresent(pid -> {
            readers.put(pid, JvmReader.start(pid, anyUser, EngineSample::read));
            programs.put(pid, new Patience().with(() -> JvmList.program(pid)));
        });
    }

    /**
     * Reads all JVMs for the first time.
     *
     * @throws CommandFailure if the only JVM fails or does not answer
     */
    void begin() {
        if (only.isPresent()) {
            readers.values().forEach(JvmReader::answerNow);
        } else {
            find();
            ask(FIRST_NANOS);
        }
    }

    /** Reads all JVMs again and returns what they did since. */
    List<JvmRates> next() {
        if (only.isEmpty()) {
            find();
        }
        ask(ANSWER_NANOS);
        List<JvmRates> rates = new ArrayList<>();
        programs.forEach((pid, program) -> {
            JvmReader<EngineSample> reader = readers.get(pid);
            rates.add(reader == null ? JvmRates.withoutDriver(pid, program) : JvmRates.of(pid, program, reader));
        });
        return rates;
    }

    private void ask(long nanos) {
        long deadline = System.nanoTime() + nanos;
        readers.values().forEach(JvmReader::ask);
        for (JvmReader<EngineSample> reader : readers.values()) {
            if (!reader.await(deadline)) {
                return;
            }
        }
    }

    /** Looks for new JVMs and new sessions. A JVM that has ended stays for the round that says so. */
    private void find() {
        Map<Long, String> now = new Patience().with(JvmList::others);
        programs.keySet().removeIf(pid -> !now.containsKey(pid) && hasFailed(readers.get(pid)));
        programs.putAll(now);
        readers.entrySet().removeIf(entry -> {
            if (programs.containsKey(entry.getKey())) {
                return false;
            }
            entry.getValue().close();
            return true;
        });
        now.keySet().forEach(pid -> {
            if (!readers.containsKey(pid) && JvmList.holdsDriver(pid)) {
                readers.put(pid, JvmReader.start(pid, false, EngineSample::read));
            }
        });
    }

    private static boolean hasFailed(@Nullable JvmReader<EngineSample> reader) {
        return reader == null || reader.failure().isPresent();
    }

    /** Returns whether the only JVM has ended, or its connection is lost. */
    boolean isOver() {
        return only.isPresent() && readers.values().stream().allMatch(JvmWatch::hasFailed);
    }

    @Override
    public void close() {
        readers.values().forEach(JvmReader::close);
    }
}
