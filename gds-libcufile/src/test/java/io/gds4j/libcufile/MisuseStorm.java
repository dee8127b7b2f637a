package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.BufferRight;
import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.P2pFlag;
import io.gds4j.RegistrationPolicy;
import io.gds4j.StreamFlag;
import io.gds4j.config.BoolParameter;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.TargetType;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.CuFileBackend;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Threads that call the whole public API with random arguments, on objects that other threads close meanwhile, and on a driver
 * that closes in the middle. Each call must end in time, with a value or with a documented exception.
 */
final class MisuseStorm {
    private static final Duration LIMIT = Duration.ofMinutes(1);
    private static final Duration ROUND = Duration.ofMillis(400);
    private static final int THREADS = 6;
    private static final int KINDS = 24;
    private static final int MIB = 1 << 20;
    /** Kinds of calls to leave out, to find the one that breaks the process. */
    private static final Set<Integer> WITHOUT = Stream.of(System.getProperty("gds4j.misuse.without", "").split(","))
            .filter(kind -> !kind.isEmpty())
            .map(Integer::valueOf)
            .collect(Collectors.toSet());
    private static final long[] NUMBERS = {
            0, 1, 3, 4095, 4096, 8192, 65536, MIB - 1, MIB, MIB + 1, -1, -4096, 1L << 40, 1L << 62, (1L << 62) + 1,
            Long.MAX_VALUE, Long.MIN_VALUE};

    private final Supplier<CuFileBackend> backends;
    private final List<MemoryKind> kinds;
    private final Path folder;
    private final long seed;
    private final List<String> wrong = new CopyOnWriteArrayList<>();

    /** @param seed determines the calls of each thread, but not the order between threads */
    MisuseStorm(Supplier<CuFileBackend> backends, List<MemoryKind> kinds, Path folder, long seed) {
        this.backends = backends;
        this.kinds = kinds;
        this.folder = folder;
        this.seed = seed;
    }

    /** The objects of a round; any thread may close them at any time. */
    private static final class Scene {
        private final CuFileDriver driver;
        private final List<MemoryAllocation> memory = new ArrayList<>();
        private final List<CuFileHandle> handles = new CopyOnWriteArrayList<>();
        private final List<CuFileBuffer> buffers = new CopyOnWriteArrayList<>();
        private final List<CuFileBatch> batches = new CopyOnWriteArrayList<>();
        private final List<HostStream> hosts = List.of(HostStream.create(), HostStream.create());
        private final List<CuFileStream> streams = new CopyOnWriteArrayList<>();

        private Scene(CuFileDriver driver) {
            this.driver = driver;
        }
    }

    private interface Call {
        @Nullable
        Object run() throws Exception;
    }

    /** Runs for this time, then returns the errors. */
    void run(Duration time) throws IOException, InterruptedException {
        Path file = Files.write(folder.resolve("storm"), new byte[2 * MIB]);
        long end = System.nanoTime() + time.toNanos();
        for (int round = 0; System.nanoTime() < end && wrong.isEmpty(); round++) {
            round(round, file);
        }
        assertThat(wrong).as("-Dgds4j.property.seed=%d", seed).isEmpty();
    }

    private void round(int round, Path file) throws InterruptedException {
        Scene scene = new Scene(CuFileDriver.open(backends.get()));
        kinds.forEach(kind -> scene.memory.add(scene.driver.allocator().allocate(kind, MIB)));
        long over = System.nanoTime() + ROUND.toNanos();
        List<Caller> callers = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            callers.add(new Caller(scene, file, seed + 1000L * round + i, over));
        }
        callers.forEach(Thread::start);
        // Until the end of the round all threads call a closed driver.
        TimeUnit.NANOSECONDS.timedJoin(callers.getFirst(), ROUND.toNanos() / 2);
        Caller closer = new Caller(scene, file, 0, 0) {
            @Override
            public void run() {
                call("driver.close", () -> {
                    scene.driver.close();
                    return null;
                });
            }
        };
        closer.start();
        callers.add(closer);
        for (Caller caller : callers) {
            caller.awaitEnd();
        }
        if (wrong.isEmpty()) {
            // If a call hangs, its thread may still use the driver, and closing it would hide the fault.
            scene.memory.forEach(MemoryAllocation::close);
            scene.hosts.forEach(HostStream::close);
        }
    }

    /** A thread of the storm. */
    private class Caller extends Thread {
        private final Scene scene;
        private final Path file;
        private final RandomGenerator random;
        private final long over;
        private volatile String doing = "";
        private volatile long since;

        Caller(Scene scene, Path file, long seed, long over) {
            this.scene = scene;
            this.file = file;
            this.random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
            this.over = over;
            this.since = System.nanoTime();
            setDaemon(true);
        }

        @Override
        public void run() {
            while (System.nanoTime() < over && wrong.isEmpty()) {
                int kind = random.nextInt(KINDS);
                if (!WITHOUT.contains(kind)) {
                    one(kind);
                }
            }
        }

        void call(String name, Call call) {
            doing = name;
            since = System.nanoTime();
            try {
                call.run();
            } catch (CuFileException | NullPointerException | CompletionException expected) {
                // documented
                doing = "";
            } catch (Throwable thrown) {
                wrong.add(name + " threw " + thrown + " at " + List.of(thrown.getStackTrace()).subList(0, 3));
            }
            since = System.nanoTime();
        }

        void awaitEnd() throws InterruptedException {
            while (isAlive()) {
                join(Duration.ofMillis(100));
                if (isAlive() && System.nanoTime() - since > LIMIT.toNanos()) {
                    wrong.add("%s takes more than %s: %s".formatted(doing, LIMIT, List.of(getStackTrace())));
                    return;
                }
            }
        }

        private long number() {
            return NUMBERS[random.nextInt(NUMBERS.length)];
        }

        private <T> @Nullable T any(List<T> list) {
            Object[] now = list.toArray();
            @SuppressWarnings("unchecked") T one = now.length == 0 ? null : (T) now[random.nextInt(now.length)];
            return one;
        }

        private @Nullable IoMemory memory() {
            return switch (random.nextInt(8)) {
                case 0 -> null;
                case 1 -> MemoryRange.ofAddress(0x10, MIB, MemoryKind.CUDA_DEVICE);
                case 2, 3, 4 -> any(scene.buffers);
                default -> any(scene.memory).range();
            };
        }

        private OpenOption[] options() {
            List<OpenOption> options = new ArrayList<>();
            for (OpenOption option : List.of(
                    StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.APPEND,
                    CuFileOpenOption.DIRECT)) {
                if (random.nextInt(3) > 0 && option != StandardOpenOption.APPEND || random.nextInt(10) == 0) {
                    options.add(option);
                }
            }
            return options.toArray(OpenOption[]::new);
        }

        private void one(int kind) {
            CuFileHandle handle = any(scene.handles);
            CuFileBatch batch = any(scene.batches);
            switch (kind) {
                case 0, 1, 2 -> call("openFile", () -> scene.handles.add(open()));
                case 3, 4, 5 -> call("read", () -> handle.read(memory(), number(), number(), number()));
                case 6, 7 -> call("write", () -> handle.write(memory(), number(), number() % MIB, number()));
                case 8 -> call("handle.close", () -> close(handle));
                case 9 -> call("registerBuffer", () -> scene.buffers.add(register()));
                case 10 -> call("buffer.close", () -> close(any(scene.buffers)));
                case 11 -> call("batch", () -> scene.batches.add(scene.driver.batch(random.nextInt(-1, 140))));
                case 12, 13 -> call("batch.submit", () -> submit(batch));
                case 14 -> call("batch.await", () -> batch.await(random.nextInt(-1, 10), timeout()));
                case 15 -> call("batch.cancel or close", () -> random.nextBoolean() ? cancel(batch) : close(batch));
                case 16 -> call("limits", this::limits);
                case 17 -> call("statistics", this::statistics);
                case 18 -> call("readAsync", () -> handle
                        .readAsync(memory(), number(), number(), number())
                        .join());
                case 19 -> call("file", () -> file(handle));
                case 20 -> call("stream", this::stream);
                case 21 -> call("stream.read or write", () -> queue(any(scene.streams), handle));
                case 22 -> call("stream.close", () -> close(any(scene.streams)));
                default -> call("rest", this::rest);
            }
        }

        private CuFileHandle open() {
            Path path = switch (random.nextInt(6)) {
                case 0 -> null;
                case 1 -> folder;
                case 2 -> folder.resolve("not there");
                default -> file;
            };
            return random.nextInt(5) == 0
                    ? scene.driver.registerDescriptor(random.nextInt(-2, 5000))
                    : scene.driver.openFile(path, options());
        }

        private @Nullable Object close(AutoCloseable one) throws Exception {
            one.close();
            scene.handles.remove(one);
            scene.buffers.remove(one);
            scene.batches.remove(one);
            scene.streams.remove(one);
            return null;
        }

        private CuFileBuffer register() {
            IoMemory memory = memory();
            MemoryRange range = memory.range();
            return scene.driver.registerBuffer(random.nextBoolean() ? range : range.slice(number(), number()));
        }

        private @Nullable Object submit(CuFileBatch batch) {
            List<CuFileBatch.Request> requests = new ArrayList<>();
            for (int i = random.nextInt(6); i > 0; i--) {
                requests.add(new CuFileBatch.Request(
                        any(scene.handles), random.nextInt(4) == 0, memory(), Math.floorMod(number(), MIB + 1),
                        Math.floorMod(number(), 2 * MIB), random.nextInt(4) == 0 ? number() : 0));
            }
            batch.submit(requests);
            return null;
        }

        private Duration timeout() {
            return switch (random.nextInt(4)) {
                case 0 -> Duration.ZERO;
                case 1 -> Duration.ofNanos(-1);
                case 2 -> Duration.ofSeconds(Long.MAX_VALUE);
                default -> Duration.ofMillis(20);
            };
        }

        private @Nullable Object cancel(CuFileBatch batch) {
            batch.cancel();
            return null;
        }

        private @Nullable Object limits() {
            int limit = random.nextInt(6);
            if (WITHOUT.contains(100 + limit)) {
                return null;
            }
            switch (limit) {
                case 0 -> scene.driver.setMaxDirectIoSize(number());
                case 1 -> scene.driver.setMaxPinnedMemSize(number());
                case 2 -> scene.driver.setPollMode(random.nextBoolean(), number());
                case 3 -> scene.driver.barSizeInKb(random.nextInt());
                case 4 -> scene.driver.parameter(SizeParameter.PROPERTIES_IO_BATCHSIZE);
                default -> scene.driver.parameter(BoolParameter.EXECUTION_PARALLEL_IO);
            }
            return scene.driver.properties();
        }

        private @Nullable Object statistics() {
            switch (random.nextInt(5)) {
                case 0 -> scene.driver.statistics().setLevel(random.nextInt(-1, 5));
                case 1 -> scene.driver.statistics().start();
                case 2 -> scene.driver.statistics().stop();
                case 3 -> scene.driver.statistics().reset();
                default -> scene.driver.statistics().level3();
            }
            return null;
        }

        /** A stream of the program, or a value that is no stream. A wrong pointer to a CUDA stream would crash the process. */
        private @Nullable Object stream() {
            if (random.nextInt(20) == 0) {
                any(scene.hosts).close();
                return null;
            }
            long address = random.nextInt(4) == 0 ? -1 - random.nextInt(9) : any(scene.hosts).address();
            Set<StreamFlag> flags = Stream.of(StreamFlag.values())
                    .filter(flag -> random.nextBoolean())
                    .collect(Collectors.toSet());
            return scene.streams.add(scene.driver.stream(address, flags));
        }

        private @Nullable Object queue(CuFileStream stream, CuFileHandle handle) {
            CuFileStream.Cells cells = new CuFileStream.Cells(cell(), cell(), cell(), cell());
            if (random.nextInt(4) == 0) {
                stream.write(handle, memory(), cells);
            } else {
                stream.read(handle, memory(), cells);
            }
            return null;
        }

        private MemorySegment cell() {
            MemorySegment cell = Arena.ofAuto().allocate(Long.BYTES, Long.BYTES);
            cell.set(ValueLayout.JAVA_LONG, 0, random.nextInt(3) == 0 ? number() : random.nextInt(MIB));
            return random.nextInt(20) == 0 ? cell.asSlice(0, 4) : cell;
        }

        private @Nullable Object rest() {
            switch (random.nextInt(8)) {
                case 0 -> scene.driver.setP2pFlags(TargetType.NVME, Set.of(P2pFlag.values()));
                case 1 -> scene.driver.exportPcieTopology(folder.resolve("topology"));
                case 2 -> scene.driver.gpuBounceBufferSlabs();
                case 3 ->
                    scene.driver.parameterRange(SizeParameter.values()[random.nextInt(SizeParameter.values().length)]);
                case 4 -> scene.driver.share().close();
                case 5 -> scene.driver.setRegistrationPolicy(
                        random.nextBoolean() ? RegistrationPolicy.CACHED : RegistrationPolicy.EXPLICIT);
                case 6 -> any(scene.buffers).window(number(), number(), Set.of(BufferRight.READ_INTO));
                default -> any(scene.handles)
                        .writev(List.of(any(scene.memory).range(), any(scene.memory).range()), number() % MIB);
            }
            return null;
        }

        private @Nullable Object file(CuFileHandle handle) {
            switch (random.nextInt(5)) {
                case 0 -> handle.size();
                case 1 -> handle.ioPath();
                case 2 -> handle.force(random.nextBoolean());
                case 3 -> handle.readv(List.of(any(scene.memory).range()), number());
                default -> handle.truncate(-1);
            }
            return null;
        }
    }
}
