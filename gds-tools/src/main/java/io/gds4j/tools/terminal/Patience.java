package io.gds4j.tools.terminal;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Waits for work that asks file systems, but not for ever: a server that is gone, or a pipe in place of a file, may leave a system
 * call without an end. Long work is no reason to give up; one call that does not return for a time is. Each command has its own.
 */
public final class Patience {
    /** Seconds that a call may take, for machines with slower storage: a dead server of a hard NFS mount may come back. */
    private static final String PROPERTY = "gds4j.patience.seconds";
    private static final int SECONDS = 30;
    /** A measurement that can be left out waits for this part of the time. */
    private static final int PART = 3;
    private static final long LOOK_MILLIS = 500;

    /** Files for which this command waits no more. */
    private final Set<String> givenUp = ConcurrentHashMap.newKeySet();

    /** Work that asks file systems. */
    public interface Work<T, E extends Exception> {
        /** Does the work. */
        T run() throws E;
    }

    /**
     * Runs work on a daemon thread and returns its result, or throws its failure.
     *
     * @throws CommandFailure NO_ANSWER if a call on a file does not return; the thread stays in it
     */
    public <T, E extends Exception> T with(Work<T, E> work) throws E {
        return with(Integer.getInteger(PROPERTY, SECONDS), work);
    }

    /** As {@link #with}, for work that can be left out: gives up earlier. */
    public <T, E extends Exception> T some(Work<T, E> work) throws E {
        return with((double) Integer.getInteger(PROPERTY, SECONDS) / PART, work);
    }

    /** Closes what the work used; without a wait if a thread stays in a call, because it may never let go. */
    public void close(Runnable close) {
        if (givenUp.isEmpty()) {
            close.run();
        } else {
            Thread.ofPlatform().daemon().name("gds-close").start(close);
        }
    }

    private <T, E extends Exception> T with(double seconds, Work<T, E> work) throws E {
        FutureTask<T> task = new FutureTask<>(work::run);
        Thread thread = Thread.ofPlatform().daemon().name("gds-patience").start(task);
        StalledCalls calls = new StalledCalls();
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return task.get(LOOK_MILLIS, TimeUnit.MILLISECONDS);
                } catch (TimeoutException e) {
                    giveUp(seconds, calls.look());
                } catch (InterruptedException e) {
                    interrupted = true;
                    thread.interrupt();
                }
            }
        } catch (ExecutionException e) {
            throw Patience.<E>thrown(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void giveUp(double seconds, List<StalledCalls.Call> calls) {
        Optional<StalledCalls.Call> longest = calls.stream()
                .filter(call -> call.seconds() >= seconds && !givenUp.contains(call.file()))
                .max(Comparator.comparingDouble(StalledCalls.Call::seconds));
        longest.ifPresent(call -> {
            calls.forEach(other -> givenUp.add(other.file()));
            throw CommandFailure.noAnswer(call.file(), "%s: no answer to %s for %s s: its file system or server hangs"
                    .formatted(Text.name(call.file()), call.action(), Math.round(call.seconds())));
        });
    }

    /** Returns what the work has thrown, and throws what it need not declare. */
    @SuppressWarnings("unchecked")
    private static <E extends Exception> E thrown(Throwable failure) {
        switch (failure) {
            case Error error -> throw error;
            case RuntimeException unchecked -> throw unchecked;
            default -> {
                return (E) failure;
            }
        }
    }
}
