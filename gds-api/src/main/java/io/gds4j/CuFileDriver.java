package io.gds4j;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.spi.FileSource;
import io.gds4j.statistics.IoPath;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * An open cuFile driver: the session in which files and memory are registered and I/O runs.
 *
 * <pre>{@code
 * try (CuFileDriver driver = CuFileDriver.open();
 *         CuFileHandle file = driver.openFile(Path.of("model.bin"));
 *         MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, file.size())) {
 *     file.read(memory.range(), 0);
 * }
 * }</pre>
 *
 * <p>
 * Each {@code open} is a session of its own; {@link #share} adds a user to it, as a second {@code cuFileDriverOpen} does.
 * All methods are thread-safe. After {@link #close} they throw DRIVER_NOT_INITIALIZED.
 *
 * @since 0.1
 */
public final class CuFileDriver implements AutoCloseable {
    private final Session session;
    private final Resource resource;

    private CuFileDriver(Session session) {
        this.session = session;
        session.open();
        this.resource = Resource.of(this, "CuFileDriver", session::close);
    }

    /**
     * Opens with the configuration of the environment, the file it names and the defaults ({@code cuFileDriverOpen}).
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED if no backend can serve this machine; its text says why
     */
    public static CuFileDriver open() {
        return open(CuFileConfig.load());
    }

    /** Opens with the given configuration and the best backend that is available. */
    public static CuFileDriver open(CuFileConfig config) {
        return open(config, Backends.AUTO);
    }

    /**
     * Opens a backend by name.
     *
     * @param backend {@code auto}, {@code compat} or {@code libcufile}
     * @throws CuFileException INVALID_VALUE for a name that nobody provides, DRIVER_NOT_INITIALIZED if that backend cannot
     *         serve this machine
     */
    public static CuFileDriver open(CuFileConfig config, String backend) {
        Objects.requireNonNull(config, "config");
        Objects.requireNonNull(backend, "backend");
        return open(Backends.choose(backend, config));
    }

    /** Opens over a backend of the caller's own; for tests and for those who write backends. */
    public static CuFileDriver open(CuFileBackend backend) {
        return new CuFileDriver(new Session(Objects.requireNonNull(backend, "backend")));
    }

    /** The backends on the class path or module path, best first. */
    public static List<CuFileBackendProvider> providers() {
        return List.copyOf(Backends.providers());
    }

    /** One more user of this session, to be closed on its own ({@code cuFileDriverOpen} again). */
    public CuFileDriver share() {
        checkOpen("cuFileDriverOpen");
        return new CuFileDriver(session);
    }

    /** Users of this session ({@code cuFileUseCount}); 0 once all are closed. */
    public long useCount() {
        return session.references();
    }

    /** True until this user closes it. */
    public boolean isOpen() {
        return resource.isOpen() && session.isOpen();
    }

    /** Name of the backend that serves. */
    public String backendName() {
        return session.backend().name();
    }

    /** cuFile's version as the backend implements it ({@code cuFileGetVersion}): 1150 is 1.15. */
    public int version() {
        return session.backend().getVersion();
    }

    /** Allocates and copies memory. */
    public MemoryAllocator allocator() {
        return backend("MemoryAllocator").allocator();
    }

    /**
     * Opens a file and registers it ({@code cuFileHandleRegister}): for reading, unless options say otherwise.
     *
     * @param options READ, WRITE, CREATE, CREATE_NEW, TRUNCATE_EXISTING, SYNC, DSYNC, SPARSE, {@link CuFileOpenOption}
     * @throws CuFileException INVALID_FILE_TYPE for what is neither a regular file nor a block device,
     *         INVALID_FILE_OPEN_FLAG for APPEND and other options, with an errno where opening failed
     */
    public CuFileHandle openFile(Path path, OpenOption... options) {
        Objects.requireNonNull(path, "path");
        return register(OpenOptions.toSource(path, options));
    }

    /**
     * Registers an open descriptor ({@code cuFileHandleRegister}). The backend works on private duplicates: the caller may
     * close or reuse the number while the handle lives.
     *
     * @throws CuFileException INVALID_VALUE for a bad descriptor, INVALID_FILE_TYPE, INVALID_FILE_OPEN_FLAG for O_APPEND,
     *         HANDLE_ALREADY_REGISTERED while another handle of this descriptor is open
     */
    public CuFileHandle registerDescriptor(int fd) {
        return register(new FileSource.Descriptor(fd));
    }

    private CuFileHandle register(FileSource source) {
        checkOpen("cuFileHandleRegister");
        return CuFileHandle.register(this, source);
    }

    /**
     * Registers memory ({@code cuFileBufRegister}).
     *
     * @throws CuFileException INVALID_VALUE for an empty range, MEMORY_ALREADY_REGISTERED for the same base address twice,
     *         CUDA_POINTER_RANGE_ERROR if it reaches past its allocation
     */
    public CuFileBuffer registerBuffer(MemoryRange range) {
        return registerBuffer(range, Set.of());
    }

    /** Registers memory with flags for RDMA, which have no effect where there is no RDMA. */
    public CuFileBuffer registerBuffer(MemoryRange range, Set<BufferFlag> flags) {
        Objects.requireNonNull(range, "range");
        checkOpen("cuFileBufRegister");
        return CuFileBuffer.register(this, range, BufferFlag.toBits(flags));
    }

    /**
     * Sets a batch up ({@code cuFileBatchIOSetUp}).
     *
     * @param capacity entries outstanding at a time, 1 to {@code properties.io_batchsize}
     */
    @Experimental
    public CuFileBatch batch(int capacity) {
        checkOpen("cuFileBatchIOSetUp");
        return CuFileBatch.setUp(this, capacity);
    }

    /**
     * Registers a CUDA stream ({@code cuFileStreamRegister}).
     *
     * @param stream raw {@code CUstream}, 0 for the default stream
     */
    @Experimental
    public CuFileStream stream(long stream, Set<StreamFlag> flags) {
        checkOpen("cuFileStreamRegister");
        return CuFileStream.register(this, stream, StreamFlag.toBits(flags));
    }

    /** Counters of this session. */
    @Experimental
    public CuFileStatistics statistics() {
        return new CuFileStatistics(session);
    }

    /** Bytes moved so far by each path. */
    public Map<IoPath, Long> bytesByPath() {
        return session.backend().bytesByPath();
    }

    /** Largest amount of host memory used at one time for staging so far, in bytes. */
    public long peakStagingBytes() {
        return session.backend().peakStagingBytes();
    }

    /** What the driver says of itself ({@code cuFileDriverGetProperties}). */
    public DriverProperties properties() {
        return backend("cuFileDriverGetProperties").driverGetProperties();
    }

    /** {@code cuFileDriverSetPollMode}: poll for completion of requests up to {@code pollThresholdKb} KiB. */
    public void setPollMode(boolean poll, long pollThresholdKb) {
        backend("cuFileDriverSetPollMode").driverSetPollMode(poll, pollThresholdKb);
    }

    /**
     * {@code cuFileDriverSetMaxDirectIOSize}: bytes of one request to the kernel at most.
     *
     * @param kb 64 to 16384 KiB, a multiple of 64
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT outside
     */
    public void setMaxDirectIoSize(long kb) {
        backend("cuFileDriverSetMaxDirectIOSize").driverSetMaxDirectIoSize(kb);
    }

    /** {@code cuFileDriverSetMaxCacheSize}: GPU bounce buffers, KiB. */
    public void setMaxCacheSize(long kb) {
        backend("cuFileDriverSetMaxCacheSize").driverSetMaxCacheSize(kb);
    }

    /** {@code cuFileDriverSetMaxPinnedMemSize}: memory that may be registered, KiB. */
    public void setMaxPinnedMemSize(long kb) {
        backend("cuFileDriverSetMaxPinnedMemSize").driverSetMaxPinnedMemSize(kb);
    }

    /** The running value of a parameter ({@code cuFileGetParameterSizeT}). */
    @Experimental
    public long parameter(SizeParameter parameter) {
        return backend("cuFileGetParameterSizeT").getParameterSizeT(Objects.requireNonNull(parameter, "parameter"));
    }

    /** The running value of a parameter ({@code cuFileGetParameterBool}). */
    @Experimental
    public boolean parameter(BoolParameter parameter) {
        return backend("cuFileGetParameterBool").getParameterBool(Objects.requireNonNull(parameter, "parameter"));
    }

    /** The running value of a parameter ({@code cuFileGetParameterString}). */
    @Experimental
    public String parameter(StringParameter parameter) {
        return backend("cuFileGetParameterString").getParameterString(Objects.requireNonNull(parameter, "parameter"));
    }

    /** The range of a parameter ({@code cuFileGetParameterMinMaxValue}). */
    @Experimental
    public ParameterRange parameterRange(SizeParameter parameter) {
        return backend("cuFileGetParameterMinMaxValue")
                .getParameterMinMaxValue(Objects.requireNonNull(parameter, "parameter"));
    }

    /** The bounce-buffer slabs ({@code cuFileGetParameterPosixPoolSlabArray}). */
    @Experimental
    public SlabArray posixPoolSlabs() {
        return backend("cuFileGetParameterPosixPoolSlabArray").getParameterPosixPoolSlabArray();
    }

    /** Size of a GPU's BAR1 aperture in KiB, 0 where it is not known ({@code cuFileGetBARSizeInKB}). */
    @Experimental
    public long barSizeInKb(int gpu) {
        return backend("cuFileGetBARSizeInKB").getBarSizeInKb(gpu);
    }

    /** {@code cuFileDriverGetP2PFlags} of cuFile 1.16. */
    @Experimental
    public int p2pFlags() {
        return backend("cuFileDriverGetP2PFlags").driverGetP2pFlags();
    }

    /** {@code cuFileDriverSetP2PFlags} of cuFile 1.16. */
    @Experimental
    public void setP2pFlags(int flags) {
        backend("cuFileDriverSetP2PFlags").driverSetP2pFlags(flags);
    }

    /** {@code cuFileExportPCIeTopology} of cuFile 1.17. */
    @Experimental
    public void exportPcieTopology(Path file) {
        backend("cuFileExportPCIeTopology").exportPcieTopology(Objects.requireNonNull(file, "file"));
    }

    /** {@code cuFileGetParameterGpuBounceBufferSlabArray} of cuFile 1.17. */
    @Experimental
    public SlabArray gpuBounceBufferSlabs() {
        return backend("cuFileGetParameterGpuBounceBufferSlabArray").getParameterGpuBounceBufferSlabArray();
    }

    /**
     * Ends this use of the session ({@code cuFileDriverClose}). The last one waits for I/O in flight and closes every handle,
     * buffer, batch and stream that is still open. Idempotent.
     */
    @Override
    public void close() {
        resource.close();
    }

    Session session() {
        return session;
    }

    private void checkOpen(String function) {
        if (!isOpen()) {
            throw Session.closed(function);
        }
    }

    private CuFileBackend backend(String function) {
        checkOpen(function);
        return session.backend();
    }

    @Override
    public String toString() {
        return "CuFileDriver[%s, %s]".formatted(backendName(), isOpen() ? "open" : "closed");
    }

    static CuFileException invalid(String function, String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, function, detail);
    }
}
