package io.gds4j.testkit.contract;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Runs the same task on many threads that start together, and throws the first failure of any. */
final class Crowd {
    private static final long LIMIT_SECONDS = 60;

    private Crowd() {
    }

    interface Task {
        void run(int member) throws Exception;
    }

    static void run(int threads, Task task) {
        run(threads, Thread.ofPlatform().daemon(), task);
    }

    static void run(int threads, Thread.Builder kind, Task task) {
        CountDownLatch start = new CountDownLatch(1);
        ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
        List<Thread> members = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int member = i;
            members.add(kind.start(() -> {
                try {
                    start.await();
                    task.run(member);
                } catch (Throwable e) {
                    failures.add(e);
                }
            }));
        }
        start.countDown();
        for (Thread thread : members) {
            join(thread);
        }
        if (!failures.isEmpty()) {
            throw new AssertionError(
                    "%s of %s threads failed".formatted(failures.size(), threads), failures.peek());
        }
    }

    /** Joins a thread within a minute, else fails with the stack of the thread. */
    static void join(Thread thread) {
        try {
            if (!thread.join(Duration.ofSeconds(LIMIT_SECONDS))) {
                AssertionError stuck = new AssertionError(
                        "%s still runs after %s %s".formatted(thread, LIMIT_SECONDS, TimeUnit.SECONDS));
                stuck.setStackTrace(thread.getStackTrace());
                throw stuck;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        }
    }
}
