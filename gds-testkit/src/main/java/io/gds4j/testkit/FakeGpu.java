package io.gds4j.testkit;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.CuFileBackend;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;

/**
 * GPUs in plain Java, to test the GPU branch of a program on any machine, without a GPU and without CUDA.
 *
 * <pre>{@code
 * FakeGpu gpu = FakeGpu.builder().devices(2).bytesPerDevice(1 << 20).build();
 * try (CuFileDriver driver = gpu.openDriver();
 *         CuFileHandle file = driver.openFile(path);
 *         MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, 4096, 1)) {
 *     file.read(memory, 0);
 *     byte[] bytes = gpu.segment(memory.range()).toArray(ValueLayout.JAVA_BYTE);
 * }
 * gpu.verify();                              // fails if the program leaked or misused GPU memory
 * }</pre>
 *
 * <p>
 * Drivers of the fake serve reads, writes, vectored calls, futures, batches and streams, for memory of every kind:
 * <ul>
 * <li>{@code allocator().best()} returns CUDA_DEVICE. As on a GPU, memory of CUDA kinds has no segment: a program must copy it.
 * Its content is not zero when it is new.
 * <li>Each GPU has its own addresses and its own number of bytes. An allocation past them fails with NOMEM_ERROR.
 * <li>Streams and batches do their work as late as cuFile and CUDA allow, see {@link FakeStream}. A program that reads a result,
 * reuses a cell or frees one too early fails every time.
 * <li>No address is used twice. Use of freed memory fails with CUDA_POINTER_INVALID; the message names the allocation.
 * </ul>
 *
 * <p>
 * Files are ordinary files of a {@link ReferenceBackend}, which ignores O_DIRECT. The fake measures nothing and has no statistics.
 * {@link GdsExtension#over(FakeGpu)} adds planned faults and reports of leaks. Thread-safe.
 *
 * @since 0.1
 */
public final class FakeGpu {
    private final FakeMisuse misuse = new FakeMisuse();
    private final FakeMemory memory;
    private final FakeSchedule schedule;
    private final long bytesPerDevice;
    private final OptionalLong seed;

    private FakeGpu(Builder builder) {
        this.bytesPerDevice = builder.bytesPerDevice;
        this.seed = builder.seed;
        this.memory = new FakeMemory(builder.devices, bytesPerDevice, misuse);
        this.schedule = new FakeSchedule(misuse, seed.isPresent() ? new Random(seed.getAsLong()) : null);
    }

    /** {@return a builder for one GPU of 64 MiB whose streams and batches are as late as possible} */
    public static Builder builder() {
        return new Builder();
    }

    /** {@return one GPU of 64 MiB} */
    public static FakeGpu create() {
        return builder().build();
    }

    /**
     * Chooses the properties of a {@link FakeGpu}. Not thread-safe.
     *
     * @since 0.1
     */
    public static final class Builder {
        private static final int MAX_DEVICES = 64;
        private static final long MAX_BYTES = 1L << 40;

        private int devices = 1;
        private long bytesPerDevice = 64L << 20;
        private OptionalLong seed = OptionalLong.empty();

        private Builder() {
        }

        /**
         * Sets the number of GPUs.
         *
         * @param count 1 to 64
         * @return this builder
         * @throws IllegalArgumentException for another number
         */
        public Builder devices(int count) {
            if (count < 1 || count > MAX_DEVICES) {
                throw new IllegalArgumentException("devices: %s, allowed: 1 to %s".formatted(count, MAX_DEVICES));
            }
            devices = count;
            return this;
        }

        /**
         * Sets the size of the memory of each GPU. The JVM allocates only what the program does.
         *
         * @param bytes 1 to 2^40
         * @return this builder
         * @throws IllegalArgumentException for another size
         */
        public Builder bytesPerDevice(long bytes) {
            if (bytes < 1 || bytes > MAX_BYTES) {
                throw new IllegalArgumentException("bytes: %s, allowed: 1 to 2^40".formatted(bytes));
            }
            bytesPerDevice = bytes;
            return this;
        }

        /**
         * Runs streams and the entries of batches in a random order, among the orders that CUDA and cuFile allow. Without a seed
         * each stream waits as long as possible, and entries run in the order of submission.
         *
         * @param value the same seed gives the same order to a program with one thread
         * @return this builder
         */
        public Builder seed(long value) {
            seed = OptionalLong.of(value);
            return this;
        }

        /** {@return the GPUs} */
        public FakeGpu build() {
            return new FakeGpu(this);
        }
    }

    /** {@return number of GPUs} */
    public int devices() {
        return memory.devices();
    }

    /**
     * Opens a driver with the default configuration. All drivers share memory and streams.
     *
     * @return the driver, to be closed
     */
    public CuFileDriver openDriver() {
        return CuFileDriver.open(backend());
    }

    /** {@return a backend with the default configuration, for {@link CuFileDriver#open(CuFileBackend)}} */
    public CuFileBackend backend() {
        return backend(CuFileConfig.defaults());
    }

    /**
     * Returns a backend with a configuration. It obeys {@code properties.io_batchsize} and {@code execution.parallel_io}, and
     * ignores other keys.
     *
     * @param config the configuration
     * @return the backend, for {@link CuFileDriver#open(CuFileBackend)}
     */
    public CuFileBackend backend(CuFileConfig config) {
        Objects.requireNonNull(config, "config");
        return new FakeGpuBackend(
                config,
                memory,
                schedule,
                bytesPerDevice,
                seed.isPresent() ? new Random(seed.getAsLong()) : null);
    }

    /** {@return a new stream, to be closed} */
    public FakeStream newStream() {
        return schedule.newStream();
    }

    /**
     * Returns the default stream, whose address is 0. It orders only its own work, like a stream that does not block
     * (CU_STREAM_NON_BLOCKING).
     *
     * @return the stream, which need not be closed
     */
    public FakeStream defaultStream() {
        return schedule.defaultStream();
    }

    /**
     * Runs all work of all streams, like {@code cuCtxSynchronize}.
     *
     * @throws io.gds4j.error.CuFileException IO_NOT_SUPPORTED (EBUSY) from work of a stream
     */
    public void synchronize() {
        schedule.runAll();
    }

    /**
     * Returns the bytes of GPU memory, for a test to check or change, and for stand-ins of kernels. A program has no such access.
     * Work that no one has waited for has not changed them.
     *
     * @param range memory of a CUDA kind
     * @return the bytes themselves, not a copy
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_INVALID for memory that was freed or is not of this GPU,
     *         CUDA_POINTER_RANGE_ERROR past the end of its allocation
     */
    public MemorySegment segment(MemoryRange range) {
        return memory.bytes(range, "FakeGpu.segment");
    }

    /**
     * Returns how many bytes of a GPU are free.
     *
     * @param device ordinal of the GPU, from 0
     * @return bytes
     * @throws io.gds4j.error.CuFileException DEVICE_NOT_FOUND for a GPU that is not there
     */
    public long availableBytes(int device) {
        return memory.available(device, "cuMemGetInfo");
    }

    /** {@return in words: use of freed memory, pointers past an end, freed cells, failed work that no wait reported} */
    public List<String> misuse() {
        return misuse.found();
    }

    /** {@return memory of every {@link MemoryKind} that is allocated or pinned, and the places where that was done} */
    public List<String> allocated() {
        return memory.alive();
    }

    /**
     * Checks that nothing was misused and that all memory is freed.
     *
     * @throws AssertionError with what was found
     */
    public void verify() {
        List<String> problems = new ArrayList<>(misuse());
        problems.addAll(allocated());
        if (!problems.isEmpty()) {
            throw new AssertionError("the fake GPU found:\n    " + String.join("\n    ", problems));
        }
    }

    @Override
    public String toString() {
        return "FakeGpu[%s of %s bytes%s]".formatted(
                devices(), bytesPerDevice, seed.isPresent() ? ", seed " + seed.getAsLong() : "");
    }
}
