package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.TensorInfo;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.jspecify.annotations.Nullable;

/**
 * Opens mutated copies of valid files of one format. Each must open, with all tensors inside the file, or be refused with a
 * {@link CheckpointException} of one line; in both cases with time and memory linear in the size of the file. Runs as long as
 * {@code gds4j.property.seconds} says, and mutates at least as many files as {@code gds4j.property.files}.
 */
public final class FormatFuzz {
    private static final long[] NUMBERS = {
            0, 1, -1, 2, 7, 8, 31, 255, 256, 65_535, 65_536, 1 << 30, Integer.MAX_VALUE, Integer.MIN_VALUE, 1L << 32,
            1L << 60, 1L << 61, 1L << 62, Long.MAX_VALUE, Long.MAX_VALUE - 31, Long.MIN_VALUE, -31, -32
    };
    /** Most bytes that opening may allocate beside what is proportional to the file. */
    private static final long FIXED_ALLOCATION = 4 << 20;
    private static final long ALLOCATION_PER_BYTE = 200;
    private static final long MAX_NANOS = 10_000_000_000L;

    private static final int MIN_FILES = Integer.getInteger("gds4j.property.files", 200);

    /** The format; null to recognise it. */
    private final @Nullable CheckpointFormat format;
    private final Path file;
    private Path opened;
    private final long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
    private final RandomGenerator random = RandomGeneratorFactory.of("Xoshiro256PlusPlus").create(seed);
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private FormatFuzz(@Nullable CheckpointFormat format, Path file) {
        this.format = format;
        this.file = file;
        this.opened = file;
    }

    /**
     * Mutates files.
     *
     * @param folder for the mutated file
     * @param seeds valid files
     */
    public static void run(CheckpointFormat format, Path folder, List<byte[]> seeds) throws Exception {
        FormatFuzz fuzz = new FormatFuzz(format, folder.resolve("fuzz"));
        for (byte[] bytes : seeds) {
            Files.write(fuzz.file, bytes);
            assertThat(Checkpoint.open(fuzz.file, format).files()).as("a seed").hasSize(1);
        }
        fuzz.mutateAll(seeds, 1);
    }

    /**
     * Mutates files of any format, which must be recognised.
     *
     * @param file place of the mutated file; the files beside it stay as they are
     * @param opened what is opened: the file, or a folder or an index that leads to it
     */
    public static void runRecognised(Path file, Path opened, List<byte[]> seeds) throws Exception {
        FormatFuzz fuzz = new FormatFuzz(null, file);
        fuzz.opened = opened;
        fuzz.mutateAll(seeds, 3);
    }

    private void mutateAll(List<byte[]> seeds, int share) throws Exception {
        long end = System.nanoTime() + Long.getLong("gds4j.property.seconds", 1) * 500_000_000 / share;
        for (int round = 0; round < MIN_FILES || System.nanoTime() < end; round++) {
            check(mutated(seeds), round);
        }
    }

    private byte[] mutated(List<byte[]> seeds) {
        byte[] bytes = seeds.get(random.nextInt(seeds.size())).clone();
        int mutations = 1 + random.nextInt(4);
        for (int i = 0; i < mutations && bytes.length > 0; i++) {
            bytes = mutate(bytes, seeds);
        }
        return bytes;
    }

    private byte[] mutate(byte[] bytes, List<byte[]> seeds) {
        int at = random.nextInt(bytes.length);
        switch (random.nextInt(8)) {
            case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
            case 1 -> bytes[at] = (byte) random.nextInt(256);
            case 2, 3 -> number(bytes, at);
            case 4 -> {
                return Arrays.copyOf(bytes, at);
            }
            case 5 -> {
                return Arrays.copyOf(bytes, bytes.length + random.nextInt(100));
            }
            case 6 -> {
                // a part of the file takes the place of another one, which keeps strings and records whole at times
                byte[] other = seeds.get(random.nextInt(seeds.size()));
                int from = random.nextInt(other.length);
                int length = Math.min(random.nextInt(64), Math.min(other.length - from, bytes.length - at));
                System.arraycopy(other, from, bytes, at, length);
            }
            default -> {
                // removes or repeats a few bytes
                int length = Math.min(1 + random.nextInt(40), bytes.length - at);
                boolean remove = random.nextBoolean();
                byte[] result = new byte[remove ? bytes.length - length : bytes.length + length];
                System.arraycopy(bytes, 0, result, 0, at);
                int rest = remove ? at + length : at;
                System.arraycopy(bytes, rest, result, result.length - (bytes.length - rest), bytes.length - rest);
                return result;
            }
        }
        return bytes;
    }

    private void number(byte[] bytes, int at) {
        int width = 1 << random.nextInt(4);
        if (bytes.length - at < width) {
            return;
        }
        long number = NUMBERS[random.nextInt(NUMBERS.length)] + random.nextInt(3) - 1;
        ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        switch (width) {
            case 1 -> buffer.put(at, (byte) number);
            case 2 -> buffer.putShort(at, (short) number);
            case 4 -> buffer.putInt(at, (int) number);
            default -> buffer.putLong(at, number);
        }
    }

    private void check(byte[] bytes, int round) throws Exception {
        Files.write(file, bytes);
        long before = threads.getCurrentThreadAllocatedBytes();
        long start = System.nanoTime();
        try {
            Checkpoint checkpoint = format == null ? Checkpoint.open(opened) : Checkpoint.open(opened, format);
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            for (TensorInfo tensor : checkpoint.tensors().values()) {
                assertThat(tensor.length()).isNotNegative();
                assertThat(tensor.fileOffset()).isBetween(0L, Files.size(tensor.file()) - tensor.length());
            }
            assertThat(checkpoint.warnings()).allSatisfy(
                    warning -> assertThat(warning).doesNotContain("\n").hasSizeLessThan(3000));
            metadata(checkpoint);
            assertThat(allocated).as("bytes allocated").isLessThan(limit(bytes));
        } catch (CheckpointException e) {
            long allocated = threads.getCurrentThreadAllocatedBytes() - before;
            assertThat(e.getMessage()).doesNotContain("\n").hasSizeLessThan(1500);
            assertThat(allocated).as("bytes allocated").isLessThan(limit(bytes));
        } catch (Throwable e) {
            throw new AssertionError("-Dgds4j.property.seed=%d, round %d, file %s".formatted(
                    seed, round, HexFormat.of().formatHex(bytes, 0, Math.min(bytes.length, 4096))), e);
        }
        assertThat(System.nanoTime() - start).as("time, seed %d, round %d", seed, round).isLessThan(MAX_NANOS);
    }

    private static long limit(byte[] bytes) {
        return FIXED_ALLOCATION + ALLOCATION_PER_BYTE * bytes.length;
    }

    private static void metadata(Checkpoint checkpoint) {
        for (String key : checkpoint.typedMetadata().keys()) {
            MetadataValue value = checkpoint.typedMetadata().get(key).orElseThrow();
            if (value instanceof MetadataValue.Array array) {
                int count = (int) Math.min(100, array.size());
                assertThat(array.values(array.size() - count, count)).hasSize(count);
                try {
                    array.values(array.size(), 1);
                    throw new AssertionError("an element after the end");
                } catch (CuFileException expected) {
                    assertThat(expected.getMessage()).contains("not within the array");
                }
            }
        }
    }
}
