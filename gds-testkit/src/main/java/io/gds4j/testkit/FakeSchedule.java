package io.gds4j.testkit;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.ThreadState;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongPredicate;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Runs the work of all streams of a {@link FakeGpu}: one piece at a time, on a thread that waits for it, and nothing that it does not
 * wait for. With a seed, other streams advance at random meanwhile. Thread-safe.
 */
final class FakeSchedule {
    /** First address of a stream; above all addresses of a process, and below those of {@link FakeMemory}. */
    private static final long FIRST_STREAM = 1L << 55;

    private static final long STREAM_STEP = 256;

    /** Held by the thread that runs work. */
    private final ReentrantLock turn = new ReentrantLock();
    /** Streams whose work runs now, innermost first: work of one stream may wait for another. */
    private final Deque<FakeStream> active = new ArrayDeque<>();

    private final List<FakeStream> streams = new CopyOnWriteArrayList<>();
    private final FakeMisuse misuse;
    private final @Nullable Random random;
    private final FakeStream defaultStream = new FakeStream(FakeStream.DEFAULT, this);
    private long nextStream = FIRST_STREAM;

    /** @param random decides which streams advance; null if none does before it must */
    FakeSchedule(FakeMisuse misuse, @Nullable Random random) {
        this.misuse = misuse;
        this.random = random;
        streams.add(defaultStream);
    }

    FakeStream defaultStream() {
        return defaultStream;
    }

    FakeMisuse misuse() {
        return misuse;
    }

    synchronized FakeStream newStream() {
        FakeStream stream = new FakeStream(nextStream, this);
        nextStream += STREAM_STEP;
        streams.add(stream);
        return stream;
    }

    Optional<FakeStream> find(long address) {
        return streams.stream().filter(stream -> stream.address() == address).findFirst();
    }

    void remove(FakeStream stream) {
        streams.remove(stream);
    }

    /** Runs the work of a stream until a condition holds, or until it has no work. */
    void run(FakeStream stream, BooleanSupplier done) {
        turn.lock();
        try {
            while (!done.getAsBoolean() && !stream.isEmpty()) {
                if (active.contains(stream)) {
                    throw CuFileException.of(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, "cuStreamSynchronize",
                            "work of %s cannot wait for its own stream".formatted(stream));
                }
                advanceOthers();
                step(stream);
            }
        } finally {
            turn.unlock();
        }
    }

    /** Runs all work of all streams, in an order of the seed if there is one. */
    void runAll() {
        turn.lock();
        try {
            while (true) {
                List<FakeStream> ready = ready();
                if (ready.isEmpty()) {
                    return;
                }
                step(ready.get(random == null ? 0 : random.nextInt(ready.size())));
            }
        } finally {
            turn.unlock();
        }
    }

    /** Runs the first piece of work of a stream unless another thread runs work now. */
    void poll(FakeStream stream) {
        if (turn.tryLock()) {
            try {
                if (!active.contains(stream)) {
                    step(stream);
                }
            } finally {
                turn.unlock();
            }
        }
    }

    private List<FakeStream> ready() {
        List<FakeStream> ready = new ArrayList<>();
        for (FakeStream stream : streams) {
            if (!stream.isEmpty() && !active.contains(stream)) {
                ready.add(stream);
            }
        }
        return ready;
    }

    private void advanceOthers() {
        while (random != null && random.nextBoolean()) {
            List<FakeStream> ready = ready();
            if (ready.isEmpty()) {
                return;
            }
            step(ready.get(random.nextInt(ready.size())));
        }
    }

    private void step(FakeStream stream) {
        Runnable work = stream.first();
        if (work == null) {
            return;
        }
        active.push(stream);
        // The work must not see an interrupt of the thread that happens to run it.
        boolean interrupted = Thread.interrupted();
        ThreadState here = ThreadState.current();
        LongPredicate[] before = new LongPredicate[1];
        before[0] = here.setUsedLater(number -> stream.isUsedLater(number) || before[0].test(number));
        try {
            work.run();
        } catch (Throwable e) {
            // Includes undeclared checked exceptions, which other JVM languages throw.
            stream.failed(e);
        } finally {
            here.setUsedLater(before[0]);
            active.pop();
            stream.firstIsDone();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Runs each stream until no operation that matches is unfinished. */
    void finish(Predicate<FakeOperation> operations) {
        for (FakeStream stream : streams) {
            if (stream.has(operations)) {
                run(stream, () -> !stream.has(operations));
            }
        }
    }

    /** Runs each stream until no operation uses the memory. */
    void finishMemory(long address, long length) {
        finish(operation -> operation.touches(address, length));
    }

    /** {@return whether the calling thread runs work of a stream} */
    boolean isRunningHere() {
        return turn.isHeldByCurrentThread() && !active.isEmpty();
    }
}
