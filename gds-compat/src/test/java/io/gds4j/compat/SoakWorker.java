package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/** The work of one thread: reads of a file that all threads share, and writes to a file of its own. */
final class SoakWorker {
    static final int BYTES = 512 << 10;

    /** The driver, files and memory that a worker uses. */
    interface Ground {
        CuFileDriver driver();

        CuFileHandle open(GuardedFile file);

        GuardedMemory memory(MemoryKind kind, int bytes);

        /** A new stream. */
        Ordered stream();
    }

    /** A stream that orders operations. */
    interface Ordered extends AutoCloseable {
        long address();

        void synchronize() throws InterruptedException;

        @Override
        void close();
    }

    private final Ground ground;
    private final GuardedFile shared;
    private final GuardedFile own;
    private final GuardedMemory in;
    private final GuardedMemory out;
    private final long seed;
    private final RandomGenerator random;
    private boolean onlyStreams;

    SoakWorker(Ground ground, MemoryKind kind, GuardedFile shared, GuardedFile own, long seed) {
        this.ground = ground;
        this.shared = shared;
        this.own = own;
        this.seed = seed;
        this.random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
        this.in = ground.memory(kind, BYTES);
        this.out = ground.memory(kind, BYTES);
    }

    /** Leaves out batches and calls. */
    SoakWorker onlyStreams() {
        onlyStreams = true;
        return this;
    }

    void runUntil(long end) {
        try {
            byte[] bytes = new byte[BYTES];
            random.nextBytes(bytes);
            out.put(0, bytes);
            while (System.nanoTime() < end) {
                try (CuFileHandle from = ground.open(shared);
                        CuFileHandle to = ground.open(own)) {
                    switch (onlyStreams ? 2 : random.nextInt(4)) {
                        case 0 -> batch(from, to, false);
                        case 1 -> batch(from, to, true);
                        case 2 -> stream(from, to);
                        default -> calls(from, to);
                    }
                }
            }
        } catch (InterruptedException | RuntimeException | Error e) {
            throw new AssertionError("with -Dgds4j.property.seed=" + seed, e);
        }
    }

    /** Returns random parts that do not overlap: each has one correct content. */
    private List<long[]> parts() {
        List<long[]> parts = new ArrayList<>();
        long at = random.nextInt(9000);
        while (at < BYTES && parts.size() < 24) {
            // Single bytes are frequent, because CUDA copies one byte another way than two.
            int most = random.nextInt(8) == 0 ? 1 : random.nextBoolean() ? 5000 : 60_000;
            long size = Math.min(BYTES - at, 1 + random.nextInt(most));
            parts.add(new long[]{at, size});
            at += size + random.nextInt(9000);
        }
        return parts;
    }

    private void batch(CuFileHandle from, CuFileHandle to, boolean cancel) {
        List<Request> requests = new ArrayList<>();
        for (long[] part : parts()) {
            boolean write = random.nextBoolean();
            requests.add(new Request(
                    write ? to : from, write, (write ? out : in).range(), part[1], part[0], part[0]));
        }
        try (CuFileBatch batch = ground.driver().batch(32)) {
            batch.submit(requests);
            if (cancel) {
                batch.cancel();
            }
            int left = requests.size();
            while (left > 0) {
                for (Completion done : batch.await(1, Duration.ofSeconds(60))) {
                    left--;
                    Request request = done.request();
                    if (done.isComplete()) {
                        assertThat(done.bytes()).isEqualTo(request.size());
                        moved(request.write(), request.fileOffset(), request.size());
                    }
                }
            }
        }
    }

    private void stream(CuFileHandle from, CuFileHandle to) throws InterruptedException {
        try (Arena arena = Arena.ofShared();
                Ordered host = ground.stream();
                CuFileStream stream = ground.driver().stream(host.address(), Set.of())) {
            for (long[] part : parts()) {
                boolean write = random.nextBoolean();
                MemorySegment cells = arena.allocate(32, 8);
                cells.set(ValueLayout.JAVA_LONG, 0, part[1]);
                cells.set(ValueLayout.JAVA_LONG, 8, part[0]);
                cells.set(ValueLayout.JAVA_LONG, 16, part[0]);
                CuFileStream.Cells operation = new CuFileStream.Cells(
                        cells.asSlice(0, 8), cells.asSlice(8, 8), cells.asSlice(16, 8), cells.asSlice(24, 8));
                if (write) {
                    stream.write(to, out.range(), operation);
                } else {
                    stream.read(from, in.range(), operation);
                }
                moved(write, part[0], part[1]);
            }
            host.synchronize();
        }
    }

    private void calls(CuFileHandle from, CuFileHandle to) {
        List<CompletableFuture<Long>> calls = new ArrayList<>();
        for (long[] part : parts()) {
            boolean write = random.nextBoolean();
            calls.add(write
                    ? to.writeAsync(out.range(), part[1], part[0], part[0])
                    : from.readAsync(in.range(), part[1], part[0], part[0]));
            moved(write, part[0], part[1]);
        }
        calls.forEach(CompletableFuture::join);
    }

    private void moved(boolean write, long at, long size) {
        if (write) {
            own.expectWrite(at, out.expected((int) at, (int) size));
        } else {
            in.expect((int) at, shared.expected(at, (int) size));
        }
    }

    void verify() {
        in.verify();
        out.verify();
        own.verify();
        shared.verify();
    }
}
