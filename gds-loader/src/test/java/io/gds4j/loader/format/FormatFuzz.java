package io.gds4j.loader.format;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileError;
import io.gds4j.loader.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/**
 * Opens mutations of valid files. Each one either opens, with all tensors inside the file, or fails with one line that names rule
 * and file. Runs for {@code gds4j.property.seconds}; {@code gds4j.property.seed} repeats a run.
 */
public final class FormatFuzz {
    private static final long[] NUMBERS = {
            0, 1, -1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000L, 0xFFFFFFFFL, 1L << 60, Long.MAX_VALUE,
            Long.MIN_VALUE};

    private FormatFuzz() {
    }

    /**
     * Fuzzes a format.
     *
     * @param folder for the files
     * @param share part of gds4j.property.seconds that this format gets
     */
    public static void run(Path folder, CheckpointFormat format, List<byte[]> valid, double share) throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        RandomGenerator random = RandomGeneratorFactory.of("Xoshiro256PlusPlus").create(seed);
        Path file = folder.resolve("fuzzed");
        long end = System.nanoTime() + (long) (Long.getLong("gds4j.property.seconds", 3) * share * 1e9);
        int rounds = 0;
        int opened = 0;
        for (; rounds < 200 || System.nanoTime() < end; rounds++) {
            byte[] bytes = mutate(random, valid.get(random.nextInt(valid.size())));
            Files.write(file, bytes);
            String what = "%s, -Dgds4j.property.seed=%d, round %d".formatted(format.id(), seed, rounds);
            try {
                if (check(file, format)) {
                    opened++;
                }
            } catch (RuntimeException | Error e) {
                Path kept = Path.of("target", "fuzz-%s-%d-%d".formatted(format.id(), seed, rounds));
                Files.createDirectories(Path.of("target"));
                Files.write(kept, bytes);
                throw new AssertionError(what + ", input kept in " + kept, e);
            }
        }
        System.out.printf("%s: %d of %d mutations opened, seed %d%n", format.id(), opened, rounds, seed);
    }

    /** Opens a file; returns false if it breaks a rule. Throws if an answer is not what a format must give. */
    public static boolean check(Path file, CheckpointFormat format) throws IOException {
        Checkpoint checkpoint;
        try {
            checkpoint = Checkpoint.open(file, format);
        } catch (CheckpointException e) {
            Path named = e.path().orElseThrow();
            assertThat(e.getMessage()).doesNotContain("\n").contains(e.rule().variant()).hasSizeLessThan(2000);
            if (Files.isRegularFile(named)) {
                assertThat(e.getMessage()).contains(named.toString());
                assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
                assertThat(e.fileOffset().orElse(0)).isBetween(0L, Files.size(named));
            }
            return false;
        }
        for (TensorInfo tensor : checkpoint.tensors().values()) {
            assertThat(tensor.length()).isNotNegative();
            assertThat(tensor.fileOffset()).isBetween(0L, Files.size(tensor.file()));
            assertThat(tensor.fileEnd()).isBetween(tensor.fileOffset(), Files.size(tensor.file()));
            assertThat(tensor.dtype().bytes(tensor.shape())).hasValue(tensor.length());
        }
        return true;
    }

    private static byte[] mutate(RandomGenerator random, byte[] valid) {
        byte[] bytes = valid.clone();
        for (int i = 1 + random.nextInt(3); i > 0 && bytes.length > 0; i--) {
            int at = random.nextInt(bytes.length);
            switch (random.nextInt(7)) {
                case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
                case 1 -> bytes[at] = (byte) random.nextInt(256);
                case 2 -> {
                    long number = NUMBERS[random.nextInt(NUMBERS.length)];
                    int width = 1 << random.nextInt(4);
                    for (int b = 0; b < width && at + b < bytes.length; b++) {
                        bytes[at + b] = (byte) (number >>> 8 * b);
                    }
                }
                case 3 -> bytes = Arrays.copyOf(bytes, at);
                case 4 -> bytes = splice(bytes, at, at + Math.min(bytes.length - at, random.nextInt(9)), new byte[0]);
                case 5 -> {
                    int from = random.nextInt(bytes.length);
                    int to = from + Math.min(bytes.length - from, random.nextInt(40));
                    bytes = splice(bytes, at, at, Arrays.copyOfRange(bytes, from, to));
                }
                default -> {
                    // printable characters keep texts valid
                    bytes[at] = (byte) (' ' + random.nextInt(95));
                }
            }
        }
        return bytes;
    }

    private static byte[] splice(byte[] bytes, int from, int to, byte[] middle) {
        byte[] result = new byte[bytes.length - (to - from) + middle.length];
        System.arraycopy(bytes, 0, result, 0, from);
        System.arraycopy(middle, 0, result, from, middle.length);
        System.arraycopy(bytes, to, result, from + middle.length, bytes.length - to);
        return result;
    }
}
