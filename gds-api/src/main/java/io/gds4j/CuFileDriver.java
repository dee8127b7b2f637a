package io.gds4j;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.config.TargetType;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.registration.RegistrationCache;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.spi.DriverLimits;
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
 * All methods are thread-safe. After {@link #close} they throw DRIVER_NOT_INITIALIZED, except {@link #isOpen},
 * {@link #useCount}, {@link #backendName}, {@link #version} and what was counted: {@link #bytesByPath},
 * {@link #peakStagingBytes}.
 *
 * <p>
 * The garbage collector closes a forgotten driver and logs the place that opened it; its handles, buffers, batches and streams
 * keep it alive.
 *
 * @since 0.1
 */
public final class CuFileDriver implements AutoCloseable {
    private final SessionUse use;
    private final Session session;

    private CuFileDriver(SessionUse use) {
        this.use = use;
        this.session = use.session();
    }

    /**
     * Opens with the configuration of the environment, the file it names and the defaults ({@code cuFileDriverOpen}).
     *
     * @return an open driver
     * @throws CuFileException DRIVER_NOT_INITIALIZED if no backend can serve this machine; its text says why
     */
    public static CuFileDriver open() {
        return open(CuFileConfig.load());
    }

    /**
     * Opens with the given configuration and the best backend that is available.
     *
     * @param config settings
     * @return an open driver
     */
    public static CuFileDriver open(CuFileConfig config) {
        return open(config, Backends.AUTO);
    }

    /**
     * Opens a backend by name.
     *
     * @param config settings
     * @param backend {@code auto}, {@code compat} or {@code libcufile}
     * @return an open driver
     * @throws CuFileException INVALID_VALUE for an unknown name, DRIVER_NOT_INITIALIZED if that backend cannot
     *         serve this machine
     */
    public static CuFileDriver open(CuFileConfig config, String backend) {
        Objects.requireNonNull(config, "config");
        Objects.requireNonNull(backend, "backend");
        return open(Backends.choose(backend, config));
    }

    /**
     * Opens over a backend of the caller's own; for tests and for those who write backends.
     *
     * @param backend the backend
     * @return an open driver
     */
    public static CuFileDriver open(CuFileBackend backend) {
        return new CuFileDriver(new SessionUse(Session.open(Objects.requireNonNull(backend, "backend"))));
    }

    /** {@return the backends on the class path or module path, best first} */
    public static List<CuFileBackendProvider> providers() {
        return List.copyOf(Backends.providers());
    }

    /**
     * One more user of this session, to be closed on its own ({@code cuFileDriverOpen} again). Files and buffers belong to
     * the session: they stay open until its last user closes.
     *
     * @return another user, to be closed on its own
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     */
    public CuFileDriver share() {
        return new CuFileDriver(use.share());
    }

    /**
     * Users of this session ({@code cuFileUseCount}); 0 once all are closed.
     *
     * @return the number of users
     */
    public long useCount() {
        return session.users();
    }

    /** {@return true until this user closes it} */
    public boolean isOpen() {
        return use.isOpen();
    }

    /** {@return name of the backend that serves} */
    public String backendName() {
        return session.backend().name();
    }

    /**
     * cuFile's version as the backend implements it ({@code cuFileGetVersion}): 1150 is 1.15.
     *
     * @return the version
     */
    public int version() {
        return session.backend().getVersion();
    }

    /** {@return what allocates and copies memory of all kinds that this machine has} */
    public MemoryAllocator allocator() {
        return use.call("MemoryAllocator", CuFileBackend::allocator);
    }

    /**
     * Opens a file and registers it ({@code cuFileHandleRegister}): for reading, unless options say otherwise.
     *
     * @param path the file
     * @param options READ, WRITE, CREATE, CREATE_NEW, TRUNCATE_EXISTING, SYNC, DSYNC, SPARSE, {@link CuFileOpenOption}
     * @return the registered file
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
     * @param fd number of the descriptor in this process
     * @return the registered file
     * @throws CuFileException INVALID_VALUE for a bad descriptor, INVALID_FILE_TYPE, INVALID_FILE_OPEN_FLAG for O_APPEND,
     *         HANDLE_ALREADY_REGISTERED while another handle of this descriptor is open, or of an earlier one that had the same
     *         number, file and mode; GETNEWFD_FAILED for a descriptor with O_DIRECT of a file that this process may no longer
     *         open
     */
    public CuFileHandle registerDescriptor(int fd) {
        return register(new FileSource.Descriptor(fd));
    }

    private CuFileHandle register(FileSource source) {
        use.checkOpen("cuFileHandleRegister");
        return CuFileHandle.register(use, source);
    }

    /**
     * Registers memory ({@code cuFileBufRegister}). Registrations may overlap if their bases differ.
     *
     * @param range the memory; not freed before the registration is closed
     * @return the registration
     * @throws CuFileException INVALID_VALUE for an empty range, MEMORY_ALREADY_REGISTERED for the same base address twice,
     *         CUDA_POINTER_RANGE_ERROR if it reaches past its allocation, CUDA_POINTER_INVALID if it was freed or no GPU has
     *         it, INVALID_MAPPING_SIZE past {@code max_device_pinned_mem_size_kb}, IO_NOT_SUPPORTED (EBUSY) while entries of
     *         batches use what the cache has registered there, DRIVER_NOT_INITIALIZED after close
     */
    public CuFileBuffer registerBuffer(MemoryRange range) {
        return registerBuffer(range, Set.of());
    }

    /**
     * Registers memory with flags for RDMA, which have no effect where there is no RDMA.
     *
     * @param range the memory; not freed before the registration is closed
     * @param flags RDMA flags
     * @return the registration
     * @throws CuFileException as {@link #registerBuffer(MemoryRange)}
     */
    public CuFileBuffer registerBuffer(MemoryRange range, Set<BufferFlag> flags) {
        Objects.requireNonNull(range, "range");
        use.checkOpen("cuFileBufRegister");
        return CuFileBuffer.register(use, range, BufferFlag.toBits(flags));
    }

    /**
     * Registers memory with fewer rights than it has: every request is held to them, on every backend.
     *
     * @param range the memory
     * @param flags RDMA flags
     * @param rights what I/O may do with it, one at least
     * @return the registration
     * @throws CuFileException as {@link #registerBuffer(MemoryRange)}; INVALID_VALUE (EINVAL) without rights,
     *         PERMISSION_DENIED for READ_INTO a read-only segment
     */
    public CuFileBuffer registerBuffer(MemoryRange range, Set<BufferFlag> flags, Set<BufferRight> rights) {
        Objects.requireNonNull(range, "range");
        use.checkOpen("cuFileBufRegister");
        return CuFileBuffer.register(use, range, BufferFlag.toBits(flags), Set.copyOf(rights));
    }

    /**
     * Which memory is registered from now on when I/O comes to it. Sooner registrations of a cache end with the requests that
     * use them.
     *
     * @param policy {@link RegistrationPolicy#EXPLICIT} by default
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public void setRegistrationPolicy(RegistrationPolicy policy) {
        Objects.requireNonNull(policy, "policy");
        use.run("cuFileBufRegister", backend -> session.setPolicy(policy));
    }

    /** {@return which memory is registered} */
    @Experimental
    public RegistrationPolicy registrationPolicy() {
        return session.policy();
    }

    /** {@return what the cache of registrations has done since the policy asked for it; zeros without one} */
    @Experimental
    public RegistrationStatistics registrationStatistics() {
        RegistrationCache cache = session.cache();
        return cache == null ? RegistrationStatistics.NONE : RegistrationStatistics.of(cache.statistics());
    }

    /**
     * Sets a batch up ({@code cuFileBatchIOSetUp}).
     *
     * @param capacity entries outstanding at a time, 1 to {@code properties.io_batchsize}
     * @return the batch
     */
    @Experimental
    public CuFileBatch batch(int capacity) {
        use.checkOpen("cuFileBatchIOSetUp");
        return CuFileBatch.setUp(use, capacity);
    }

    /**
     * Registers a CUDA stream ({@code cuFileStreamRegister}).
     *
     * @param stream raw {@code CUstream}, 0 for the default stream
     * @param flags what the program promises
     * @return the registered stream
     */
    @Experimental
    public CuFileStream stream(long stream, Set<StreamFlag> flags) {
        use.checkOpen("cuFileStreamRegister");
        return CuFileStream.register(use, stream, StreamFlag.toBits(flags));
    }

    /** {@return counters of this session} */
    @Experimental
    public CuFileStatistics statistics() {
        return new CuFileStatistics(use);
    }

    /** {@return bytes moved so far by each path} */
    public Map<IoPath, Long> bytesByPath() {
        return session.backend().bytesByPath();
    }

    /** {@return largest amount of host memory used at one time for staging so far, in bytes} */
    public long peakStagingBytes() {
        return session.backend().peakStagingBytes();
    }

    /**
     * What the driver says of itself ({@code cuFileDriverGetProperties}).
     *
     * @return the properties
     */
    public DriverProperties properties() {
        return use.call("cuFileDriverGetProperties", CuFileBackend::driverGetProperties);
    }

    /**
     * {@code cuFileDriverSetPollMode}: poll for completion of small requests.
     *
     * @param poll whether to poll
     * @param pollThresholdKb for requests up to this size, in KiB: 4 or more, a multiple of 4
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT outside
     */
    public void setPollMode(boolean poll, long pollThresholdKb) {
        use.checkOpen("cuFileDriverSetPollMode");
        DriverLimits.checkPollThreshold(pollThresholdKb);
        use.run("cuFileDriverSetPollMode", backend -> backend.driverSetPollMode(poll, pollThresholdKb));
    }

    /**
     * {@code cuFileDriverSetMaxDirectIOSize}: bytes of one request to the kernel at most.
     *
     * @param kb 64 to 16384 KiB, a multiple of 64
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT outside
     */
    public void setMaxDirectIoSize(long kb) {
        use.checkOpen("cuFileDriverSetMaxDirectIOSize");
        DriverLimits.checkMaxDirectIoSize(kb);
        use.run("cuFileDriverSetMaxDirectIOSize", backend -> backend.driverSetMaxDirectIoSize(kb));
    }

    /**
     * {@code cuFileDriverSetMaxCacheSize}: GPU memory for bounce buffers.
     *
     * @param kb KiB, 0 or more, a multiple of 4; backends may allow less
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT outside
     */
    public void setMaxCacheSize(long kb) {
        use.checkOpen("cuFileDriverSetMaxCacheSize");
        DriverLimits.checkMaxCacheSize(kb);
        use.run("cuFileDriverSetMaxCacheSize", backend -> backend.driverSetMaxCacheSize(kb));
    }

    /**
     * {@code cuFileDriverSetMaxPinnedMemSize}: memory that may be registered.
     *
     * @param kb KiB, 64 or more, a multiple of 4; backends may allow less
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT outside
     */
    public void setMaxPinnedMemSize(long kb) {
        use.checkOpen("cuFileDriverSetMaxPinnedMemSize");
        DriverLimits.checkMaxPinnedMemSize(kb);
        use.run("cuFileDriverSetMaxPinnedMemSize", backend -> backend.driverSetMaxPinnedMemSize(kb));
    }

    /**
     * The running value of a parameter ({@code cuFileGetParameterSizeT}).
     *
     * @param parameter the parameter
     * @return the value
     */
    @Experimental
    public long parameter(SizeParameter parameter) {
        Objects.requireNonNull(parameter, "parameter");
        return use.call("cuFileGetParameterSizeT", backend -> backend.getParameterSizeT(parameter));
    }

    /**
     * The running value of a parameter ({@code cuFileGetParameterBool}).
     *
     * @param parameter the parameter
     * @return the value
     */
    @Experimental
    public boolean parameter(BoolParameter parameter) {
        Objects.requireNonNull(parameter, "parameter");
        return use.call("cuFileGetParameterBool", backend -> backend.getParameterBool(parameter));
    }

    /**
     * The running value of a parameter ({@code cuFileGetParameterString}).
     *
     * @param parameter the parameter
     * @return the value
     */
    @Experimental
    public String parameter(StringParameter parameter) {
        Objects.requireNonNull(parameter, "parameter");
        return use.call("cuFileGetParameterString", backend -> backend.getParameterString(parameter));
    }

    /**
     * The range of a parameter ({@code cuFileGetParameterMinMaxValue}).
     *
     * @param parameter the parameter
     * @return the range
     */
    @Experimental
    public ParameterRange parameterRange(SizeParameter parameter) {
        Objects.requireNonNull(parameter, "parameter");
        return use.call("cuFileGetParameterMinMaxValue", backend -> backend.getParameterMinMaxValue(parameter));
    }

    /**
     * The bounce-buffer slabs ({@code cuFileGetParameterPosixPoolSlabArray}).
     *
     * @return sizes and counts
     */
    @Experimental
    public SlabArray posixPoolSlabs() {
        return use.call("cuFileGetParameterPosixPoolSlabArray", CuFileBackend::getParameterPosixPoolSlabArray);
    }

    /**
     * Size of a GPU's BAR1 aperture in KiB, 0 where it is not known ({@code cuFileGetBARSizeInKB}).
     *
     * @param gpu ordinal of the GPU
     * @return KiB
     * @throws CuFileException INVALID_VALUE for a GPU that is not there
     */
    @Experimental
    public long barSizeInKb(int gpu) {
        if (gpu < 0) {
            throw Failures.invalid("cuFileGetBARSizeInKB", "gpu is negative: " + gpu);
        }
        return use.call("cuFileGetBARSizeInKB", backend -> backend.getBarSizeInKb(gpu));
    }

    /**
     * {@code cuFileDriverGetP2PFlags} of cuFile 1.16: ways that were chosen for a kind of storage.
     *
     * @param target the kind of storage
     * @return the ways; empty if cuFile chooses
     */
    @Experimental
    public Set<P2pFlag> p2pFlags(TargetType target) {
        Objects.requireNonNull(target, "target");
        return P2pFlag.ofBits(use.call("cuFileDriverGetP2PFlags", backend -> backend.driverGetP2pFlags(target)));
    }

    /**
     * {@code cuFileDriverSetP2PFlags} of cuFile 1.16: chooses the ways for a kind of storage, until the last close.
     *
     * @param target the kind of storage
     * @param flags {@link P2pFlag#PCI_P2PDMA} on x86-64, {@link P2pFlag#C2C} on AArch64
     * @throws CuFileException INVALID_VALUE for other ways
     */
    @Experimental
    public void setP2pFlags(TargetType target, Set<P2pFlag> flags) {
        Objects.requireNonNull(target, "target");
        int bits = P2pFlag.toBits(flags);
        use.run("cuFileDriverSetP2PFlags", backend -> backend.driverSetP2pFlags(target, bits));
    }

    /**
     * {@code cuFileExportPCIeTopology} of cuFile 1.17.
     *
     * @param file where to write it
     */
    @Experimental
    public void exportPcieTopology(Path file) {
        Objects.requireNonNull(file, "file");
        use.run("cuFileExportPCIeTopology", backend -> backend.exportPcieTopology(file));
    }

    /**
     * {@code cuFileGetParameterGpuBounceBufferSlabArray} of cuFile 1.17.
     *
     * @return sizes and counts
     */
    @Experimental
    public SlabArray gpuBounceBufferSlabs() {
        return use.call(
                "cuFileGetParameterGpuBounceBufferSlabArray", CuFileBackend::getParameterGpuBounceBufferSlabArray);
    }

    /**
     * Ends this use of the session ({@code cuFileDriverClose}). The last one waits for I/O in flight and closes every handle,
     * buffer, batch and stream that is still open. Idempotent: any later or simultaneous call returns when it is done.
     *
     * <p>
     * The kernel drops every {@code FileLock} of this process on a file when one of its descriptors is closed. So closing the
     * session drops those on files that it has open, even if another session has the same file open.
     *
     * @throws CuFileException DRIVER_CLOSING (EBUSY), and nothing has changed, for the last one from inside I/O of this session
     */
    @Override
    public void close() {
        use.close();
    }

    Session session() {
        return session;
    }

    @Override
    public String toString() {
        return use.toString();
    }
}
