package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;

/**
 * The arguments of a sample: {@code --size BYTES --io BYTES --threads N --memory KIND --gpu N --backend NAME}. All are
 * optional; sizes accept K, M or G for powers of 1024.
 *
 * @param folder an empty folder for files of the sample, removed afterwards
 * @param size total bytes to move
 * @param ioSize bytes of a request
 * @param threads number of threads, for samples with several
 * @param memory kind of memory; empty for GPU memory if there is a GPU, else host memory
 * @param gpu ordinal of the GPU
 * @param backend {@code auto}, {@code compat} or {@code libcufile}
 * @param listener receives the lines that the sample prints
 * @param shared an open driver, for a caller that counts the sample's I/O; empty for a new one
 */
public record SampleArguments(
        Path folder,
        int size,
        int ioSize,
        int threads,
        Optional<MemoryKind> memory,
        int gpu,
        String backend,
        Consumer<String> listener,
        Optional<CuFileDriver> shared) {

    private static final Set<String> OPTIONS = Set.of("--size", "--io", "--threads", "--memory", "--gpu", "--backend");
    private static final int KIB = 1024;
    private static final int MAX_BYTES = 512 << 20;
    private static final int MAX_THREADS = 256;

    /** Checks the ranges. */
    public SampleArguments {
        within("--size", size, 1, MAX_BYTES);
        within("--io", ioSize, 1, MAX_BYTES);
        within("--threads", threads, 1, MAX_THREADS);
        within("--gpu", gpu, 0, Integer.MAX_VALUE);
    }

    /**
     * Parses options.
     *
     * @param folder folder for the sample's files
     * @param listener receives the lines that the sample prints
     * @param options names and values, alternating
     * @return the arguments
     * @throws IllegalArgumentException for a wrong option; the message is for the user
     */
    public static SampleArguments read(Path folder, Consumer<String> listener, String... options) {
        Map<String, String> given = new HashMap<>();
        for (int i = 0; i < options.length; i += 2) {
            if (i + 1 == options.length) {
                throw new IllegalArgumentException(options[i] + " needs a value");
            }
            if (!OPTIONS.contains(options[i])) {
                throw new IllegalArgumentException("unknown option " + options[i]
                        + ": known are --size, --io, --threads, --memory, --gpu and --backend");
            }
            given.put(options[i], options[i + 1]);
        }
        return new SampleArguments(
                folder, bytes("--size", given.getOrDefault("--size", "64M")),
                bytes("--io", given.getOrDefault("--io", "4M")),
                number("--threads", given.getOrDefault("--threads", "4"), 1, MAX_THREADS),
                Optional.ofNullable(given.get("--memory")).map(SampleArguments::kind),
                number("--gpu", given.getOrDefault("--gpu", "0"), 0, Integer.MAX_VALUE),
                given.getOrDefault("--backend", "auto"), listener, Optional.empty());
    }

    /**
     * Returns these arguments with other sizes.
     *
     * @param bytes total bytes to move
     * @param requestBytes bytes of a request
     * @return the arguments
     */
    public SampleArguments sized(int bytes, int requestBytes) {
        return new SampleArguments(folder, bytes, requestBytes, threads, memory, gpu, backend, listener, shared);
    }

    /**
     * Returns these arguments with a driver of the caller, which stays open.
     *
     * @param driver an open driver
     * @return the arguments
     */
    public SampleArguments sharing(CuFileDriver driver) {
        return new SampleArguments(folder, size, ioSize, threads, memory, gpu, backend, listener, Optional.of(driver));
    }

    /** {@return a driver with the requested backend and the configuration of this machine; the caller closes it} */
    public CuFileDriver openDriver() {
        return shared.map(CuFileDriver::share).orElseGet(() -> CuFileDriver.open(CuFileConfig.load(), backend));
    }

    /**
     * Returns the requested kind of memory; by default GPU memory if there is a GPU, else host memory.
     *
     * @param driver an open driver
     * @return the kind
     */
    public MemoryKind kind(CuFileDriver driver) {
        return memory.orElseGet(
                () -> driver.allocator().best());
    }

    /**
     * Allocates memory of that kind.
     *
     * @param driver an open driver
     * @param bytes size
     * @return the memory; the caller closes it
     */
    public MemoryAllocation allocate(CuFileDriver driver, long bytes) {
        MemoryKind kind = kind(driver);
        return driver.allocator().allocate(kind, bytes, kind.isCuda() ? gpu : MemoryRange.NO_DEVICE);
    }

    /**
     * Opens a stream for that kind of memory: a CUDA stream for GPU memory, a {@link io.gds4j.HostStream} for host memory.
     *
     * @param driver an open driver
     * @return the stream; this thread closes it
     */
    SampleStream openStream(CuFileDriver driver) {
        return kind(driver).isCuda() ? GpuStream.open(gpu) : HostSampleStream.open();
    }

    /** Opens the work of a training loop on the GPU for GPU memory, else on the host. */
    TrainingStep openTrainingStep(CuFileDriver driver) {
        return kind(driver).isCuda() ? new GpuTrainingStep(gpu, driver) : new HostTrainingStep();
    }

    /**
     * Returns pseudo-random bytes, the same in each run.
     *
     * @param bytes number of bytes
     * @return the bytes
     */
    public static byte[] randomBytes(int bytes) {
        byte[] random = new byte[bytes];
        new Random(bytes).nextBytes(random);
        return random;
    }

    /**
     * Prints a line.
     *
     * @param format a format string for {@link String#format}
     * @param values its arguments
     */
    public void say(String format, Object... values) {
        listener.accept(String.format(Locale.ROOT, format, values));
    }

    private static MemoryKind kind(String value) {
        return Arrays.stream(MemoryKind.values())
                .filter(kind -> kind.name().equalsIgnoreCase(value.replace('-', '_')))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("--memory is '%s', known: %s".formatted(
                        value, Arrays.toString(MemoryKind.values()).toLowerCase(Locale.ROOT))));
    }

    private static int bytes(String name, String value) {
        int factor = switch (value.isEmpty() ? ' ' : Character.toUpperCase(value.charAt(value.length() - 1))) {
            case 'K' -> KIB;
            case 'M' -> KIB * KIB;
            case 'G' -> KIB * KIB * KIB;
            default -> 1;
        };
        return number(name, factor == 1 ? value : value.substring(0, value.length() - 1), factor, 1, MAX_BYTES);
    }

    private static int number(String name, String value, long least, long most) {
        return number(name, value, 1, least, most);
    }

    private static int number(String name, String value, int factor, long least, long most) {
        try {
            BigInteger number = new BigInteger(value).multiply(BigInteger.valueOf(factor));
            within(name, number, least, most);
            return number.intValueExact();
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("%s is '%s', which is no number".formatted(name, value), e);
        }
    }

    private static void within(String name, long value, long least, long most) {
        within(name, BigInteger.valueOf(value), least, most);
    }

    private static void within(String name, BigInteger value, long least, long most) {
        if (value.compareTo(BigInteger.valueOf(least)) < 0 || value.compareTo(BigInteger.valueOf(most)) > 0) {
            throw new IllegalArgumentException("%s is %d, allowed: %d to %d".formatted(name, value, least, most));
        }
    }
}
