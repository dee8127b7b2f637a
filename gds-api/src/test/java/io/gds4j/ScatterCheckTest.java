package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which copies of a scattered request overlap: as a model that marks each byte says, and found without comparing each with each. */
class ScatterCheckTest {
    private static final int SIZE = 128;
    private static final int ROUNDS = 5_000;
    private static final int MANY = 20_000;

    private final CuFileDriver driver = CuFileDriver.open(new RecordingBackend() {
        @Override
        public long transfer(BatchRequest request) {
            return request.size();
        }
    });
    private final CuFileHandle handle = driver.openFile(Path.of("/data/a"));
    private final MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 2L * MANY);

    @AfterEach
    void close() {
        memory.close();
        driver.close();
    }

    /** What a copy fills. */
    private record Span(int number, int start, int end, ScatterCopy copy, long pitch) {
        static Span of(int number, ScatterCopy copy, boolean write) {
            return write
                    ? new Span(number, (int) copy.sourceOffset(), (int) copy.sourceEnd(), copy, copy.sourcePitch())
                    : new Span(number, (int) copy.destinationOffset(), (int) copy.destinationEnd(), copy,
                            copy.destinationPitch());
        }

        private BitSet bytes() {
            BitSet bytes = new BitSet();
            for (int row = 0; row < copy.rows(); row++) {
                int first = start + row * (int) pitch;
                bytes.set(first, first + (int) copy.width());
            }
            return bytes;
        }

        /** Copies with several rows, one beginning within the other, need the same pitch. */
        boolean isRefusedAfter(Span before) {
            return before.end > start
                    && (before.bytes().intersects(bytes()) || copy.rows() > 1 && pitch != before.pitch);
        }
    }

    /** Returns the two copies that the check must name. */
    private static Optional<String> overlap(List<ScatterCopy> copies, boolean write) {
        List<Span> spans = IntStream.range(0, copies.size()).mapToObj(i -> Span.of(i, copies.get(i), write))
                .sorted(Comparator.comparingInt(Span::start)).toList();
        for (int i = 1; i < spans.size(); i++) {
            Span after = spans.get(i);
            for (Span before : spans.subList(0, i)) {
                if (after.isRefusedAfter(before)) {
                    return Optional.of("copies %s and %s overlap".formatted(
                            Math.min(before.number, after.number), Math.max(before.number, after.number)));
                }
            }
        }
        return Optional.empty();
    }

    private List<ScatterCopy> copies(Random random) {
        List<ScatterCopy> copies = new ArrayList<>();
        int usual = 4 + random.nextInt(12);
        int count = 1 + random.nextInt(8);
        while (copies.size() < count) {
            int pitch = random.nextInt(16) == 0 ? 4 + random.nextInt(12) : usual;
            int width = 1 + random.nextInt(random.nextInt(8) == 0 ? pitch : 3);
            int rows = random.nextInt(3) == 0 ? 1 : 1 + random.nextInt(5);
            int reach = (rows - 1) * pitch + width;
            if (reach <= SIZE) {
                copies.add(new ScatterCopy(random.nextInt(SIZE - reach + 1), pitch, width, rows, memory,
                        random.nextInt(SIZE - reach + 1), pitch));
            }
        }
        return copies;
    }

    @Test
    void refusesWhatAModelOfBytesRefuses() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        int disjoint = 0;
        for (int round = 0; round < ROUNDS; round++) {
            List<ScatterCopy> copies = copies(random);
            String context = "seed %s, round %s: %s".formatted(seed, round, copies);
            Optional<String> inMemory = overlap(copies, false);
            CuFileException read =
                    catchThrowableOfType(CuFileException.class, () -> handle.readScattered(0, SIZE, copies));
            if (inMemory.isEmpty()) {
                disjoint += copies.size() > 1 ? 1 : 0;
                assertThat(read).as(context).isNull();
            } else {
                assertThat(read).as(context).isNotNull().hasMessageContaining("destinations of " + inMemory.get());
                assertThat(read.error()).isEqualTo(CuFileError.INVALID_VALUE);
            }
            // no copy reaches the last byte of the range
            String inFile = overlap(copies, true).map(two -> "parts of the file of " + two).orElse("the copies hold");
            CuFileException write =
                    catchThrowableOfType(CuFileException.class, () -> handle.writeScattered(0, SIZE + 1, copies));
            assertThat(write).as(context).hasMessageContaining(inFile);
        }
        assertThat(disjoint).as("seed %s", seed).isBetween(ROUNDS / 20, ROUNDS * 19 / 20);
    }

    @Test
    void comparesNoCopyWithAllOthers() {
        List<ScatterCopy> columns = IntStream.range(0, MANY)
                .mapToObj(column -> new ScatterCopy(column, MANY, 1, 2, memory, column, MANY)).toList();
        for (boolean write : new boolean[]{false, true}) {
            ScatterCheck check = new ScatterCheck();
            check.check(new RequestCheck("cuFileRead", Optional.empty(), write ? Operation.WRITE : Operation.READ,
                    2L * MANY, 0, 0), columns);
            assertThat(check.compared()).isLessThanOrEqualTo(2L * MANY);
        }
    }
}
