package io.gds4j.engine.lifecycle;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryKind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * I/O of every sort at once on one driver, with host and GPU memory: reads, writes, batches, stream operations, futures, and calls
 * by virtual threads. Each thread repeats its I/O until the driver refuses it.
 */
public final class Traffic {
    private static final int SIZE = 1 << 20;
    private static final int PART = SIZE / 8;

    private final CuFileDriver driver;
    private final Path file;
    private final List<Thread> threads = new ArrayList<>();
    private final List<CountDownLatch> begun = new ArrayList<>();
    private volatile boolean ending;

    private Traffic(CuFileDriver driver, Path file) {
        this.driver = driver;
        this.file = file;
    }

    /** A stream of the machine. */
    public interface Stream {
        /** The argument of {@link CuFileDriver#stream}. */
        long address();

        /** Waits until the stream has passed all operations. */
        void synchronize();
    }

    /** Makes a stream of the first GPU. */
    public static Stream streamOf(CudaAvailability gpu) {
        CudaContexts contexts = gpu.cudaContexts().orElseThrow();
        long[] stream = new long[1];
        inContext(contexts, "cuStreamCreate", () -> contexts.cuda().streamCreate(stream, Cuda.STREAM_NON_BLOCKING));
        return new Stream() {
            @Override
            public long address() {
                return stream[0];
            }

            @Override
            public void synchronize() {
                inContext(contexts, "cuStreamSynchronize", () -> contexts.cuda().streamSynchronize(stream[0]));
            }
        };
    }

    private static void inContext(CudaContexts contexts, String function, IntSupplier call) {
        CudaErrors.check(contexts.cuda(), function, contexts.in(contexts.primary(0), call));
    }

    /** One I/O, or a group of them. */
    private interface Step {
        void run();
    }

    /**
     * Starts the threads; returns when each has completed its first I/O.
     *
     * @param file of 1 MiB, whose bytes may change
     * @param streams new ones
     */
    public static Traffic start(CuFileDriver driver, Path file, Supplier<Stream> streams) throws InterruptedException {
        Traffic traffic = new Traffic(driver, file);
        for (MemoryKind kind : List.of(MemoryKind.HOST, MemoryKind.CUDA_DEVICE)) {
            traffic.startWith(kind, streams.get());
        }
        for (CountDownLatch each : traffic.begun) {
            each.await();
        }
        return traffic;
    }

    private void startWith(MemoryKind kind, Stream stream) {
        CuFileHandle handle = driver.openFile(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
        Thread.Builder platform = Thread.ofPlatform().daemon();
        IoMemory read = memory(kind);
        repeat(platform, () -> handle.read(read, SIZE, 0, 0));
        IoMemory written = memory(kind);
        repeat(platform, () -> handle.write(written, SIZE, 0, 0));
        IoMemory byVirtual = memory(kind);
        repeat(Thread.ofVirtual(), () -> handle.read(byVirtual, SIZE, 0, 0));
        IoMemory future = memory(kind);
        repeat(platform, () -> handle.readAsync(future, SIZE, 0, 0).join());
        IoMemory inBatch = memory(kind);
        CuFileBatch batch = driver.batch(SIZE / PART);
        repeat(platform, () -> transferAll(batch, handle, inBatch));
        IoMemory inStream = memory(kind);
        CuFileStream registered = driver.stream(stream.address(), Set.of());
        repeat(platform, () -> queueAll(registered, stream, handle, inStream));
    }

    private IoMemory memory(MemoryKind kind) {
        return driver.allocator().allocate(kind, SIZE).range();
    }

    private static void transferAll(CuFileBatch batch, CuFileHandle handle, IoMemory memory) {
        List<CuFileBatch.Request> requests = new ArrayList<>();
        for (int offset = 0; offset < SIZE; offset += PART) {
            requests.add(new CuFileBatch.Request(handle, offset % (2 * PART) == 0, memory, PART, offset, offset));
        }
        batch.transferAll(requests);
    }

    /** A failure on a stream is in the result cell only; the next submission is refused. */
    private static void queueAll(CuFileStream registered, Stream stream, CuFileHandle handle, IoMemory memory) {
        for (int offset = 0; offset < SIZE; offset += PART) {
            registered.read(handle, memory, new CuFileStream.Cells(cell(PART), cell(offset), cell(offset), cell(0)));
        }
        stream.synchronize();
    }

    private static MemorySegment cell(long value) {
        MemorySegment cell = Arena.global().allocate(Long.BYTES, Long.BYTES);
        cell.set(ValueLayout.JAVA_LONG, 0, value);
        return cell;
    }

    private void repeat(Thread.Builder builder, Step step) {
        CountDownLatch first = new CountDownLatch(1);
        begun.add(first);
        threads.add(builder.start(() -> {
            try {
                while (true) {
                    step.run();
                    first.countDown();
                }
            } catch (CuFileException | CompletionException refused) {
                if (!ending || !(refused instanceof CuFileException || refused.getCause() instanceof CuFileException)) {
                    System.out.println("wrong: " + refused);
                }
            } catch (Throwable wrong) {
                System.out.println("wrong: " + wrong);
            } finally {
                first.countDown();
            }
        }));
    }

    /** From now on I/O may be refused. */
    void beginEnd() {
        ending = true;
    }

    /** Waits until all I/O was refused. */
    void awaitRefusals() {
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }
}
