package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.config.CuFileConfig;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.torch.DistcpBytes;
import io.gds4j.loader.format.torch.DistcpBytes.Chunk;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files of every format in turn, through the engine, in random orders: the bytes are those of a plain load when a slow stream sees them. */
@Timeout(value = 40, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TensorsInTurnFormatsTest {
    private static final Path LIBRARIES = Path.of("src/test/resources/io/gds4j/loader/libraries");
    private static final int ROUNDS = Integer.getInteger("gds4j.property.cases", 1);
    /** How long a stream is behind. */
    private static final int LAG_NANOS = 100_000;

    private final CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");
    private final HostStream host = HostStream.create();
    private final CuFileStream stream = driver.stream(host.address());
    private final long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
    private final Random random = new Random(seed);

    @TempDir
    Path folder;

    @AfterEach
    void close() {
        stream.close();
        host.close();
        driver.close();
    }

    @Test
    void filesOfLibrariesComeInTurn() throws Exception {
        List<Path> paths;
        try (Stream<Path> found = Files.walk(LIBRARIES)) {
            paths = found.sorted().toList();
        }
        int tensors = 0;
        for (int round = 0; round < ROUNDS; round++) {
            for (Path path : paths) {
                Optional<Checkpoint> checkpoint = checkpoint(path);
                tensors += checkpoint.isPresent() ? inTurn(checkpoint.get()) : 0;
            }
        }
        assertThat(tensors).isGreaterThan(100);
    }

    private static Optional<Checkpoint> checkpoint(Path path) {
        try {
            return Optional.of(Checkpoint.open(path)).filter(found -> !found.tensors().isEmpty());
        } catch (CheckpointException e) {
            return Optional.empty();
        }
    }

    @Test
    void boxesOfSeveralFilesComeInTurn() throws Exception {
        for (int round = 0; round < 3 * ROUNDS; round++) {
            DistcpBytes bytes = new DistcpBytes();
            for (int i = 0; i < 12; i++) {
                int rows = 2 + random.nextInt(40);
                int columns = 1 + random.nextInt(500);
                int cut = 1 + random.nextInt(rows - 1);
                bytes.tensor("rows" + i, new long[]{rows, columns},
                        chunk(0, 0, 0, cut, columns), chunk(1, cut, 0, rows - cut, columns));
                bytes.tensor("columns" + i, new long[]{columns, rows},
                        chunk(1, 0, cut, columns, rows - cut), chunk(0, 0, 0, columns, cut));
                bytes.tensor("whole" + i, new long[]{1, columns}, chunk(random.nextInt(2), 0, 0, 1, columns));
            }
            Path at = folder.resolve("m" + round);
            bytes.write(at);
            inTurn(Checkpoint.open(at));
        }
    }

    private static Chunk chunk(int rank, long row, long column, long rows, long columns) {
        return new Chunk("__%s_0.distcp".formatted(rank), new long[]{row, column}, new long[]{rows, columns});
    }

    /** Returns the number of tensors. */
    private int inTurn(Checkpoint checkpoint) throws IOException, InterruptedException {
        LoadPlan plan = checkpoint.plan();
        List<String> names = new ArrayList<>(checkpoint.tensors().keySet());
        Collections.shuffle(names, random);
        Map<String, byte[]> expected = new HashMap<>();
        try (LoadedTensors tensors = plan.load(driver)) {
            tensors.forEach(tensor -> expected.put(
                    tensor.name(), tensor.segment().toArray(ValueLayout.JAVA_BYTE)));
        }
        long least = TensorsInTurnOracleTest.least(budget -> plan.inTurn(driver, budget, names, LoadListener.NONE));
        long bytes = least + (random.nextBoolean() ? 0 : random.nextLong(4 * least));
        ConcurrentLinkedQueue<String> wrong = new ConcurrentLinkedQueue<>();
        List<String> order = new ArrayList<>();
        try (TensorsInTurn tensors = plan.inTurn(driver, Budget.bytes(bytes), names, LoadListener.NONE)) {
            for (Optional<TensorInTurn> next = tensors.next(); next.isPresent(); next = tensors.next()) {
                TensorInTurn turn = next.get();
                String name = turn.tensor().name();
                MemorySegment segment = turn.tensor().segment();
                MemorySegment raw = MemorySegment.ofAddress(segment.address()).reinterpret(segment.byteSize());
                long lag = random.nextInt(4) == 0 ? LAG_NANOS : 0;
                order.add(name);
                host.enqueue(() -> {
                    LockSupport.parkNanos(lag);
                    if (!Arrays.equals(raw.toArray(ValueLayout.JAVA_BYTE), expected.get(name))) {
                        wrong.add(name);
                    }
                });
                turn.close(stream);
            }
        }
        host.synchronize();
        assertThat(wrong).as("%s, budget %s, -Dgds4j.property.seed=%s", checkpoint.path(), bytes, seed).isEmpty();
        assertThat(order).as(checkpoint.path().toString()).isEqualTo(names);
        return names.size();
    }
}
