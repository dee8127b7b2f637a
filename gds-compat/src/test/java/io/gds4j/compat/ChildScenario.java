package io.gds4j.compat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.lifecycle.JvmEnd;
import io.gds4j.engine.lifecycle.Traffic;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.Gate;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/** Programs for child JVMs. The first argument selects one, the second names a file. */
final class ChildScenario {
    private static final int SIZE = 3_000_000;
    private static final int THREADS = 4;
    private static final int ROUNDS = 1000;
    private static final long SLOW_NANOS = 2_500_000_000L;

    private ChildScenario() {
    }

    public static void main(String[] arguments) throws Exception {
        Path file = Path.of(arguments[1]);
        switch (arguments[0]) {
            case "exit-with-reads-in-flight" -> exitWithReadsInFlight(file, MemoryKind.HOST, 7);
            case "exit-with-gpu-reads-in-flight" -> exitWithReadsInFlight(file, MemoryKind.CUDA_DEVICE, 8);
            case "exit-while-main-reads" -> exitWhileMainReads(file);
            case "exit-with-a-stuck-read" -> exitWithAStuckRead(file, MemoryKind.HOST, 10);
            case "exit-with-a-stuck-gpu-read" -> exitWithAStuckRead(file, MemoryKind.CUDA_DEVICE, 11);
            case "exit-while-a-gpu-is-made" -> exitWhileAGpuIsMade(12);
            case "forget-everything" -> forgetEverything(file);
            case "write-past-the-limit" -> writePastTheLimit(file);
            case "read-as-a-stranger" -> readAsAStranger(file);
            case "end" -> end(file, arguments[2]);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static CuFileDriver driver() {
        return driver(new FakeCuda().available());
    }

    private static CuFileDriver driver(CudaAvailability gpu) {
        return CuFileDriver.open(new CompatBackend(CuFileConfig.defaults(), FfmPosix.instance(), gpu));
    }

    private static void end(Path file, String how) throws InterruptedException {
        CudaAvailability gpu = new FakeCuda().available();
        JvmEnd.run(new JvmEnd.Program(() -> driver(gpu), file, () -> Traffic.streamOf(gpu)), how);
    }

    /** A hook of the program waits until all readers are refused at the exit. */
    private static void exitWithReadsInFlight(Path file, MemoryKind kind, int status) throws InterruptedException {
        CuFileDriver driver = driver();
        CountDownLatch running = new CountDownLatch(THREADS);
        CountDownLatch refused = new CountDownLatch(THREADS);
        for (int i = 0; i < THREADS; i++) {
            CuFileHandle handle = driver.openFile(file, CuFileOpenOption.DIRECT);
            MemoryAllocation memory = driver.allocator().allocate(kind, SIZE);
            Thread.ofPlatform().start(() -> {
                try {
                    readForEver(handle, memory, running);
                } catch (CuFileException e) {
                    if (e.error() == CuFileError.DRIVER_CLOSING || e instanceof CuFileInterruptedException) {
                        refused.countDown();
                    }
                }
            });
        }
        running.await();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> report(refused)));
        System.exit(status);
    }

    private static void readForEver(CuFileHandle handle, MemoryAllocation memory, CountDownLatch running) {
        while (true) {
            handle.read(memory.range(), 0);
            running.countDown();
        }
    }

    private static void report(CountDownLatch refused) {
        try {
            System.out.println(refused.await(20, TimeUnit.SECONDS) ? "all refused" : "still reading");
        } catch (InterruptedException e) {
            System.out.println("interrupted");
        }
    }

    private static void exitWhileMainReads(Path file) {
        CuFileDriver driver = driver();
        CuFileHandle handle = driver.openFile(file);
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE);
        CountDownLatch running = new CountDownLatch(1);
        Thread.ofPlatform().start(() -> {
            try {
                running.await();
                System.exit(9);
            } catch (InterruptedException e) {
                System.exit(1);
            }
        });
        readForEver(handle, memory, running);
    }

    /** Prints when the exit begins. */
    private static void exitWithAStuckRead(Path file, MemoryKind kind, int status) {
        FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
        Gate gate = new Gate();
        CuFileDriver driver = CuFileDriver.open(
                new CompatBackend(CuFileConfig.defaults(), posix, new FakeCuda().available()));
        CuFileHandle handle = driver.openFile(file);
        MemoryAllocation memory = driver.allocator().allocate(kind, SIZE);
        handle.read(memory.range(), 0); // prepares the GPU
        posix.on(PosixCall.PREAD).runsFirst(gate::pass);
        Thread.ofPlatform().start(() -> handle.read(memory.range(), 0));
        gate.awaitArrival();
        System.out.println(System.currentTimeMillis());
        System.exit(status);
    }

    /** The driver takes its time for the context of a second GPU. */
    private static void exitWhileAGpuIsMade(int status) throws InterruptedException {
        CountDownLatch making = new CountDownLatch(1);
        AtomicBoolean slow = new AtomicBoolean();
        FakeCuda cuda = new FakeCuda(2, 64L << 20);
        CudaAvailability gpus = new CountedCuda(cuda, call -> {
            if (call.equals("devicePrimaryCtxRetain") && slow.get()) {
                making.countDown();
                LockSupport.parkNanos(SLOW_NANOS);
                System.out.println("made");
            }
        }).over(cuda.available());
        CuFileDriver driver = CuFileDriver.open(new CompatBackend(
                CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, 0L).build(),
                FfmPosix.instance(), gpus));
        driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 0);
        slow.set(true);
        Thread.ofPlatform().start(() -> driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 1));
        making.await();
        System.exit(status);
    }

    private static void forgetEverything(Path file) {
        CuFileDriver driver = driver();
        for (int i = 0; i < 20; i++) {
            CuFileHandle handle = driver.openFile(file, CuFileOpenOption.DIRECT);
            MemoryAllocation memory = driver.allocator().allocate(MemoryKind.values()[i % 5], SIZE);
            handle.read(memory.range(), 0);
        }
        System.gc();
        System.out.println("done");
    }

    /** The kernel sends SIGXFSZ, too, which the JVM must survive. */
    private static void writePastTheLimit(Path file) {
        for (boolean direct : new boolean[]{false, true}) {
            try (CuFileDriver driver = driver();
                    CuFileHandle handle = direct
                            ? driver.openFile(
                                    file, StandardOpenOption.WRITE, StandardOpenOption.READ, CuFileOpenOption.DIRECT)
                            : driver.openFile(file, StandardOpenOption.WRITE, StandardOpenOption.READ);
                    MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
                for (long offset : new long[]{0, 777, 1 << 20}) {
                    handle.truncate(0);
                    try {
                        handle.write(memory.range(), offset);
                        System.out.println("no failure");
                    } catch (CuFileException e) {
                        System.out.printf(
                                "offset %d: %s after %d, size %d%n",
                                offset,
                                Errno.name(e.errno().orElse(0)),
                                e.bytesTransferred(),
                                handle.size());
                    }
                }
            }
        }
    }

    /** The kernel refuses cachestat to a user without write access to the file. */
    private static void readAsAStranger(Path file) throws IOException {
        CudaAvailability none = new CudaAvailability.Unavailable("no driver here", "none");
        try (CuFileDriver driver = CuFileDriver.open(
                new CompatBackend(CuFileConfig.defaults(), FfmPosix.instance(), none));
                CuFileHandle handle = driver.openFile(file, CuFileOpenOption.DIRECT);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            for (int round = 0; round < 3; round++) {
                long count = handle.read(memory.range(), 0);
                byte[] bytes = new byte[(int) count];
                driver.allocator().copyToHost(memory.range().slice(0, count), MemorySegment.ofArray(bytes));
                long sum = 0;
                for (byte b : bytes) {
                    sum = sum * 31 + b;
                }
                System.out.println(count + " " + sum);
            }
            System.out.println(readsFromMemory(driver, handle, memory, file) ? "page cache" : "disk");
        }
    }

    /**
     * Reads a cached file as a user to whom the kernel refuses cachestat: the bytes come from the cache. The kernel may evict them
     * before the read, so the test fetches them again.
     */
    private static boolean readsFromMemory(
            CuFileDriver driver, CuFileHandle handle, MemoryAllocation memory, Path file) throws IOException {
        boolean cached = false;
        for (int round = 0; round < ROUNDS && !cached; round++) {
            Files.readAllBytes(file);
            handle.read(memory.range(), 0);
            cached = driver.bytesByPath().getOrDefault(IoPath.COMPAT_CACHED, 0L) > 0;
        }
        return cached;
    }
}
