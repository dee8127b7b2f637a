package io.gds4j.tools.stats;

import io.gds4j.tools.terminal.CommandFailure;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Reads the sessions of a JVM each time it is asked, on a thread of its own: a JVM that is stopped never answers, and a caller must
 * not wait for it. Thread-safe.
 *
 * @param <S> what is read of a session
 */
final class JvmReader<S> implements AutoCloseable {
    /**
     * An answer of the JVM.
     *
     * @param nanos when it came, by {@link System#nanoTime}
     */
    record Answer<S>(long nanos, List<S> sessions) {}

    private final long pid;
    private final RunningJvm.SessionReader<S> reader;
    private long asked;
    private long answered;
    private long waitsSince;
    private boolean listens;
    private boolean closed;
    private @Nullable Answer<S> last;
    private @Nullable Answer<S> before;
    private @Nullable RuntimeException failure;

    private JvmReader(long pid, RunningJvm.SessionReader<S> reader) {
        this.pid = pid;
        this.reader = reader;
    }

    /** @param anyUser whether the process may belong to another user */
    static <S> JvmReader<S> start(long pid, boolean anyUser, RunningJvm.SessionReader<S> reader) {
        JvmReader<S> started = new JvmReader<>(pid, reader);
        Thread.ofPlatform().daemon().name("gds-jvm-" + pid).start(() -> started.run(anyUser));
        return started;
    }

    private void run(boolean anyUser) {
        try {
            JmxGuard.with(() -> {
                answerAll(anyUser);
                return true;
            });
        } catch (IOException e) {
            fail(CommandFailure.device("NOT_A_JVM", String.valueOf(e.getMessage())));
        } catch (OutOfMemoryError | StackOverflowError e) {
            fail(CommandFailure.device("NOT_A_JVM",
                    "process %s sends more than fits in memory, or what contains itself".formatted(pid)));
        } catch (RuntimeException e) {
            fail(e);
        }
    }

    private void answerAll(boolean anyUser) {
        try (RunningJvm jvm = RunningJvm.connect(pid, anyUser)) {
            for (long wanted = next(0, jvm.startedAgent()); wanted > 0; wanted = next(wanted, jvm.startedAgent())) {
                List<S> sessions = jvm.sessions(reader);
                answer(wanted, new Answer<>(System.nanoTime(), sessions));
            }
        }
    }

    private synchronized long next(long done, boolean startedAgent) {
        listens = startedAgent;
        try {
            while (asked == done && !closed) {
                wait();
            }
        } catch (InterruptedException e) {
            return 0;
        }
        return closed ? 0 : asked;
    }

    private synchronized void answer(long round, Answer<S> answer) {
        answered = round;
        before = last;
        last = answer;
        notifyAll();
    }

    private synchronized void fail(RuntimeException cause) {
        failure = cause;
        notifyAll();
    }

    /** Asks for an answer. */
    synchronized void ask() {
        if (answered == asked) {
            waitsSince = System.nanoTime();
        }
        asked++;
        notifyAll();
    }

    /** Waits for the answer, a failure, or a time of {@link System#nanoTime}. Returns false if it was interrupted. */
    synchronized boolean await(long deadline) {
        try {
            while (answered < asked && failure == null && deadline - System.nanoTime() > 0) {
                TimeUnit.NANOSECONDS.timedWait(this, deadline - System.nanoTime());
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Returns the next answer.
     *
     * @throws CommandFailure if the JVM fails or does not answer
     */
    List<S> answerNow() {
        ask();
        await(System.nanoTime() + JmxGuard.PATIENCE_NANOS);
        synchronized (this) {
            if (failure != null) {
                throw failure;
            }
            if (answered < asked || last == null) {
                throw CommandFailure.device("NO_ANSWER",
                        "process %s does not answer: it may be stopped".formatted(pid));
            }
            return last.sessions();
        }
    }

    /** Returns the last answer; empty before the first one. */
    synchronized Optional<Answer<S>> last() {
        return Optional.ofNullable(last);
    }

    /** Returns the answer before the last one. */
    synchronized Optional<Answer<S>> before() {
        return Optional.ofNullable(before);
    }

    /** Returns why the JVM gives no answers any more. */
    synchronized Optional<RuntimeException> failure() {
        return Optional.ofNullable(failure);
    }

    /** Returns the seconds in which the JVM has left a question unanswered; 0 if it has answered. */
    synchronized double silentSeconds() {
        return answered == asked ? 0 : (System.nanoTime() - waitsSince) / 1e9;
    }

    /** Returns whether the JVM began to listen for JMX connections because of this reader. */
    synchronized boolean listens() {
        return listens;
    }

    /** Ends the thread once the JVM answers; a daemon never keeps the process. */
    @Override
    public synchronized void close() {
        closed = true;
        notifyAll();
    }
}
