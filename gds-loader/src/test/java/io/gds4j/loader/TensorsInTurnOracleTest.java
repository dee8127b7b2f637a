package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Random checkpoints, budgets, orders and consumers: tensors in turn are those of a plain load, in memory within the budget. */
@Timeout(120)
class TensorsInTurnOracleTest {
    private static final Pattern LEAST = Pattern.compile("needs (\\d+) with");
    private static final List<DType> TYPES = List.of(DType.U8, DType.U8, DType.F32, DType.F16, DType.BF16);
    private static final Duration PATIENCE = Duration.ofMillis(3);
    private static final byte SCRIBBLE = 0x5c;
    private static final long SECONDS = Long.getLong("gds4j.property.seconds", 2);

    private final FileChannelBackend backend = new FileChannelBackend();
    private final CuFileDriver driver = CuFileDriver.open(backend);
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @TempDir
    Path folder;

    private long alignment;

    @AfterEach
    void close() {
        threads.shutdownNow();
        driver.close();
    }

    @Test
    void tensorsAreThoseOfAPlainLoadWithinTheBudget() throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random seeds = new Random(seed);
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        int round = 0;
        do {
            try {
                round(new Random(seeds.nextLong()), folder.resolve("m" + round));
            } catch (Throwable e) {
                throw new AssertionError("-Dgds4j.property.seed=%s, round %s".formatted(seed, round), e);
            }
            round++;
        } while (System.nanoTime() < end || round < 8);
    }

    private static long length(Random random) {
        return switch (random.nextInt(10)) {
            case 0 -> 0;
            case 1, 2, 3 -> random.nextInt(300);
            case 4, 5, 6 -> random.nextInt(20_000);
            default -> random.nextInt(400_000);
        };
    }

    private static Checkpoint model(Random random, Path model) throws IOException {
        Files.createDirectories(model);
        SafetensorsWriter.Padding[] paddings = SafetensorsWriter.Padding.values();
        int shards = 1 + random.nextInt(3);
        List<String> map = new ArrayList<>();
        for (int shard = 0; shard < shards; shard++) {
            String name = "part" + shard + ".safetensors";
            SafetensorsWriter writer = new SafetensorsWriter(model.resolve(name)).sorted(false)
                    .padding(paddings[random.nextInt(paddings.length)]);
            int tensors = 1 + random.nextInt(30);
            for (int i = 0; i < tensors; i++) {
                String tensor = "t%s.%s".formatted(shard, i);
                DType type = TYPES.get(random.nextInt(TYPES.size()));
                writer.tensor(tensor, type, 4, length(random) / 8 * 2 / type.blockBytes());
                map.add("\"%s\":\"%s\"".formatted(tensor, name));
            }
            writer.write(new TensorPattern(random.nextLong()));
        }
        Files.writeString(model.resolve("model.safetensors.index.json"),
                "{\"weight_map\":{%s}}".formatted(String.join(",", map)));
        return Checkpoint.open(model);
    }

    /** Loads a plan in turn. */
    interface InTurn {
        TensorsInTurn with(Budget budget);
    }

    static long least(InTurn load) {
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> load.with(Budget.bytes(1)));
        assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
        Matcher least = LEAST.matcher(e.getMessage());
        assertThat(least.find()).as(e.getMessage()).isTrue();
        return Long.parseLong(least.group(1));
    }

    private void round(Random random, Path at) throws Exception {
        Checkpoint checkpoint = model(random, at);
        alignment = 256L << random.nextInt(random.nextBoolean() ? 5 : 12);
        LoadPlan plan = checkpoint.plan().alignment(alignment)
                .requestSize(1 << 20)
                .to(random.nextBoolean() ? MemoryKind.HOST : MemoryKind.CUDA_DEVICE);
        if (random.nextInt(3) == 0) {
            plan = plan.select(tensor -> tensor.name().hashCode() % 3 != 0 || tensor.name().equals("t0.0"));
        }
        if (random.nextInt(3) == 0) {
            plan = plan.rename(name -> "new " + name);
        }
        if (random.nextInt(3) == 0) {
            plan = plan.requestsInFlight(1 + random.nextInt(3));
        }
        LoadPlan chosen = plan;
        Map<String, byte[]> expected = new HashMap<>();
        List<String> order;
        InTurn load;
        long scattering = 0;
        if (random.nextInt(4) == 0) {
            ParallelLoadPlan rank = chosen.rank(random.nextInt(2), 2,
                    ParallelPlan.of("halves", List.of(new ParallelRule("*", Split.dimension(0)))));
            // where a backend cannot scatter, the driver does, by up to 4 MiB for each request
            scattering = 16 << 20;
            load = budget -> rank.inTurn(driver, budget, progress -> {
            });
            try (ParallelTensors tensors = rank.load(driver)) {
                order = copies(tensors.rank(rank.ranks().getFirst()), expected, null);
            }
        } else {
            DType type = random.nextBoolean() ? null : TYPES.get(2 + random.nextInt(3));
            LoadPlan converting = type == null ? chosen : chosen.as(type);
            try (LoadedTensors tensors = chosen.load(driver)) {
                order = copies(tensors, expected, type);
            }
            List<String> names = new ArrayList<>(chosen.tensors().stream().map(TensorInfo::name).toList());
            if (random.nextBoolean()) {
                Collections.shuffle(names, random);
                names = names.subList(0, 1 + random.nextInt(names.size()));
                boolean renamed = order.getFirst().startsWith("new ");
                order = names.stream().map(name -> renamed ? "new " + name : name).toList();
            }
            List<String> some = names;
            load = budget -> TensorsInTurn.start(
                    converting, driver, budget, LoadListener.NONE, converting.choice(some), PATIENCE);
        }
        long least = least(load);
        long bytes = switch (random.nextInt(4)) {
            case 0 -> least;
            case 1 -> least + random.nextInt((int) least);
            case 2 -> least * (2 + random.nextInt(4));
            default -> 4 * least + 2 * expected.values().stream().mapToLong(each -> each.length + 20_000).sum();
        };
        assertThat(catchThrowableOfType(CuFileException.class, () -> load.with(Budget.bytes(least - 1))).getMessage())
                .contains(" is 1 bytes too small");
        backend.allocator().peak();
        AtomicInteger pieces = new AtomicInteger(random.nextInt(4) == 0 ? random.nextInt(2 * order.size()) : -1);
        backend.hook((path, offset) -> {
            if (pieces.getAndDecrement() == 0) {
                throw new IOException("planted");
            }
        });
        try (TensorsInTurn tensors = load.with(Budget.bytes(bytes))) {
            boolean all = true;
            if (random.nextInt(3) == 0) {
                several(tensors, expected, order, 2 + random.nextInt(2));
            } else {
                all = one(tensors, expected, order, random, scattering > 0 ? 0 : random.nextInt(12));
            }
            assertThat(!all || tensors.report().orElseThrow().tensors() == order.size()).isTrue();
        } catch (CuFileException e) {
            assertThat(e.errno()).as(e.getMessage()).hasValue(Errno.EIO);
            assertThat(pieces.get()).isNegative();
        }
        backend.hook((path, offset) -> {
        });
        assertThat(backend.allocator().peak()).isLessThanOrEqualTo(bytes + scattering);
        assertThat(backend.allocator().open()).isZero();
        assertThat(backend.openFiles()).isZero();
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().startsWith("gds-load")) {
                assertThat(thread.join(Duration.ofSeconds(60))).as(thread.getName()).isTrue();
            }
        }
    }

    private static List<String> copies(LoadedTensors tensors, Map<String, byte[]> expected, @Nullable DType type) {
        tensors.forEach(tensor -> {
            byte[] bytes = bytes(tensor);
            if (type != null && TYPES.indexOf(tensor.dtype()) > 1 && !tensor.dtype().equals(type)) {
                float[] floats = new LoadedTensor(
                        tensor.info(), MemoryRange.ofSegment(Arena.ofAuto().allocate(bytes.length).copyFrom(
                                MemorySegment.ofArray(bytes))))
                        .toFloatArray();
                for (int i = 0; i < floats.length; i++) {
                    floats[i] = TensorsInTurnTest.rounded(floats[i], type);
                }
                bytes = bits(floats);
            }
            expected.put(tensor.name(), bytes);
        });
        return List.copyOf(tensors.names());
    }

    private static byte[] bits(float[] floats) {
        ByteBuffer bits = ByteBuffer.allocate(4 * floats.length);
        for (float value : floats) {
            bits.putInt(Float.floatToIntBits(value));
        }
        return bits.array();
    }

    private static byte[] bytes(LoadedTensor tensor) {
        return TrackingAllocator.raw(tensor.range()).toArray(ValueLayout.JAVA_BYTE);
    }

    /** Checks a tensor, and leaves other bytes in its memory. */
    private void check(TensorInTurn turn, Map<String, byte[]> expected) {
        LoadedTensor tensor = turn.tensor();
        assertThat(tensor.length() == 0 || tensor.address() % alignment == 0).as(tensor.name()).isTrue();
        byte[] wanted = expected.get(tensor.name());
        byte[] found = bytes(tensor);
        if (!Arrays.equals(found, wanted)) {
            assertThat(bits(tensor.toFloatArray())).as(tensor.name()).isEqualTo(wanted);
        }
        TrackingAllocator.raw(tensor.range()).fill(SCRIBBLE);
        turn.close();
    }

    /**
     * Keeps up to a number of tensors open, and closes them in a random order; fewer if they leave no room.
     *
     * @return false if it closed the load before its end
     */
    private boolean one(
            TensorsInTurn tensors, Map<String, byte[]> expected, List<String> order, Random random, int most) {
        List<TensorInTurn> open = new ArrayList<>();
        int last = random.nextInt(6) == 0 ? random.nextInt(order.size()) : order.size();
        try {
            for (int i = 0; i < last; i++) {
                if (random.nextInt(8) == 0) {
                    Thread.currentThread().interrupt();
                }
                TensorInTurn next = next(tensors, expected, open, random);
                assertThat(next.tensor().name()).isEqualTo(order.get(i));
                open.add(next);
                while (open.size() > most || !open.isEmpty() && random.nextInt(4) == 0) {
                    check(open.remove(random.nextInt(open.size())), expected);
                }
            }
            if (last < order.size()) {
                tensors.close();
                return false;
            }
            assertThat(tensors.next()).isEmpty();
            return true;
        } finally {
            open.forEach(turn -> check(turn, expected));
        }
    }

    private TensorInTurn next(
            TensorsInTurn tensors, Map<String, byte[]> expected, List<TensorInTurn> open, Random random) {
        while (true) {
            try {
                return tensors.next().orElseThrow();
            } catch (CuFileInterruptedException e) {
                assertThat(Thread.interrupted()).isTrue();
            } catch (CuFileException e) {
                if (!e.errno().equals(OptionalInt.of(Errno.ETIMEDOUT))) {
                    throw e;
                }
                assertThat(open).as(e.getMessage()).isNotEmpty();
                check(open.remove(random.nextInt(open.size())), expected);
            } finally {
                Thread.interrupted();
            }
        }
    }

    /** Waits for the next tensor while other threads have tensors open. */
    private static Optional<TensorInTurn> patiently(TensorsInTurn tensors) {
        while (true) {
            try {
                return tensors.next();
            } catch (CuFileException e) {
                if (!e.errno().equals(OptionalInt.of(Errno.ETIMEDOUT))) {
                    throw e;
                }
            }
        }
    }

    private void several(TensorsInTurn tensors, Map<String, byte[]> expected, List<String> order, int consumers)
            throws Exception {
        Map<String, Boolean> seen = new ConcurrentHashMap<>();
        List<Future<?>> running = new ArrayList<>();
        for (int i = 0; i < consumers; i++) {
            running.add(threads.submit(() -> {
                for (Optional<TensorInTurn> next = patiently(tensors); next.isPresent(); next = patiently(tensors)) {
                    assertThat(seen.put(next.get().tensor().name(), true)).isNull();
                    check(next.get(), expected);
                }
            }));
        }
        ExecutionException first = null;
        // each of them: who goes on after the first failure still has a tensor, and the memory with it
        for (Future<?> each : running) {
            try {
                each.get(60, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                first = first == null ? e : first;
            }
        }
        if (first != null) {
            throw first.getCause() instanceof CuFileException failure ? failure : first;
        }
        assertThat(seen.keySet()).isEqualTo(new HashSet<>(order));
    }
}
