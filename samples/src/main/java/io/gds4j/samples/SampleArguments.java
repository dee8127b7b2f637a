package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import java.util.function.Consumer;

/**
 * What a sample was asked for: {@code --size BYTES --io BYTES --threads N --memory KIND --gpu N --backend NAME}, each of them
 * optional, sizes with K, M or G for powers of 1024.
 *
 * @param folder an empty folder for its files, removed afterwards
 * @param size bytes to move in all
 * @param ioSize bytes of a request
 * @param threads threads at work, where a sample has several
 * @param memory kind of memory to move them to and from; empty for GPU memory where there is a GPU, else host memory
 * @param gpu ordinal of the GPU
 * @param backend {@code auto}, {@code compat} or {@code libcufile}
 * @param listener takes the lines that the sample prints
 * @param shared a driver that is open already, for a caller who counts what the sample does; empty for one of its own
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

    private static final int KIB = 1024;
    private static final int MOST_BYTES = 512 << 20;
    private static final int MOST_THREADS = 256;

    /** Checks the numbers. */
    public SampleArguments {
        within("--size", size, 1, MOST_BYTES);
        within("--io", ioSize, 1, MOST_BYTES);
        within("--threads", threads, 1, MOST_THREADS);
        within("--gpu", gpu, 0, Integer.MAX_VALUE);
    }

    /**
     * Reads options.
     *
     * @param folder for the sample's files
     * @param listener takes the lines that the sample prints
     * @param options names and values in turn
     * @return the arguments
     * @throws IllegalArgumentException with a sentence for the user
     */
    public static SampleArguments read(Path folder, Consumer<String> listener, String... options) {
        SampleArguments read =
                new SampleArguments(folder, 64 << 20, 4 << 20, 4, Optional.empty(), 0, "auto", listener,
                        Optional.empty());
        for (int i = 0; i < options.length; i += 2) {
            if (i + 1 == options.length) {
                throw new IllegalArgumentException(options[i] + " needs a value");
            }
            read = read.with(options[i], options[i + 1]);
        }
        return read;
    }

    private SampleArguments with(String name, String value) {
        return switch (name) {
            case "--size" -> sized(bytes(name, value), ioSize);
            case "--io" -> sized(size, bytes(name, value));
            case "--threads" ->
                new SampleArguments(folder, size, ioSize, number(name, value), memory, gpu, backend, listener, shared);
            case "--memory" ->
                new SampleArguments(folder, size, ioSize, threads, kind(value), gpu, backend, listener, shared);
            case "--gpu" ->
                new SampleArguments(folder, size, ioSize, threads, memory, number(name, value), backend, listener,
                        shared);
            case "--backend" ->
                new SampleArguments(folder, size, ioSize, threads, memory, gpu, value, listener, shared);
            default -> throw new IllegalArgumentException(
                    "unknown option " + name + ": --size, --io, --threads, --memory, --gpu and --backend are known");
        };
    }

    /**
     * The same with other sizes.
     *
     * @param bytes to move in all
     * @param requestBytes of a request
     * @return the arguments
     */
    public SampleArguments sized(int bytes, int requestBytes) {
        return new SampleArguments(folder, bytes, requestBytes, threads, memory, gpu, backend, listener, shared);
    }

    /**
     * The same with a driver of the caller's, which stays open.
     *
     * @param driver an open driver
     * @return the arguments
     */
    public SampleArguments sharing(CuFileDriver driver) {
        return new SampleArguments(folder, size, ioSize, threads, memory, gpu, backend, listener, Optional.of(driver));
    }

    /** {@return a driver of the configuration that holds here, with the backend that was asked for; to be closed} */
    public CuFileDriver openDriver() {
        return shared.map(CuFileDriver::share).orElseGet(() -> CuFileDriver.open(CuFileConfig.load(), backend));
    }

    /**
     * The kind of memory that was asked for, else GPU memory where there is a GPU, else host memory.
     *
     * @param driver an open driver
     * @return the kind
     */
    public MemoryKind kind(CuFileDriver driver) {
        return memory.orElseGet(
                () -> driver.allocator().supports(MemoryKind.CUDA_DEVICE) ? MemoryKind.CUDA_DEVICE : MemoryKind.HOST);
    }

    /**
     * Memory of that kind.
     *
     * @param driver an open driver
     * @param bytes how much
     * @return the memory, to be closed
     */
    public MemoryAllocation allocate(CuFileDriver driver, long bytes) {
        MemoryKind kind = kind(driver);
        return driver.allocator().allocate(kind, bytes, kind.isCuda() ? gpu : MemoryRange.NO_DEVICE);
    }

    /**
     * A stream for that kind of memory: CUDA's for GPU memory, one of gds4j's own for host memory.
     *
     * @param driver an open driver
     * @return the stream, to be closed by this thread
     */
    public SampleStream openStream(CuFileDriver driver) {
        return kind(driver).isCuda() ? GpuStream.open(gpu) : HostSampleStream.open();
    }

    /**
     * Bytes that look random and are the same each time.
     *
     * @param bytes how many
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
     * @param format of {@link String#format}
     * @param values for it
     */
    public void say(String format, Object... values) {
        listener.accept(String.format(Locale.ROOT, format, values));
    }

    private static Optional<MemoryKind> kind(String value) {
        return Arrays.stream(MemoryKind.values())
                .filter(kind -> kind.name().equalsIgnoreCase(value.replace('-', '_')))
                .findFirst()
                .or(() -> {
                    throw new IllegalArgumentException("--memory is '%s', known: %s".formatted(
                            value, Arrays.toString(MemoryKind.values()).toLowerCase(Locale.ROOT)));
                });
    }

    private static int bytes(String name, String value) {
        int factor = switch (value.isEmpty() ? ' ' : Character.toUpperCase(value.charAt(value.length() - 1))) {
            case 'K' -> KIB;
            case 'M' -> KIB * KIB;
            case 'G' -> KIB * KIB * KIB;
            default -> 1;
        };
        long bytes = (long) number(name, factor == 1 ? value : value.substring(0, value.length() - 1)) * factor;
        within(name, bytes, 1, MOST_BYTES);
        return (int) bytes;
    }

    private static int number(String name, String value) {
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("%s is '%s', which is no number".formatted(name, value), e);
        }
    }

    private static void within(String name, long value, long least, long most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("%s is %d, allowed: %d to %d".formatted(name, value, least, most));
        }
    }
}
