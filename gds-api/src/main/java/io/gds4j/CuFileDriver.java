package io.gds4j;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.DirectStorage;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.config.TargetType;
import io.gds4j.diagnosis.Diagnosis;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.registration.RegistrationCache;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.spi.DriverLimits;
import io.gds4j.spi.FileSource;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.IoPathReport;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * An open cuFile driver: a session that registers files and memory and runs I/O.
 *
 * <pre>{@code
 * try (CuFileDriver driver = CuFileDriver.open();
 *         CuFileHandle file = driver.openFile(Path.of("model.bin"));
 *         MemoryAllocation memory = driver.allocate(file.size())) {
 *     file.read(memory, 0);
 * }
 * }</pre>
 *
 * <p>
 * Each {@code open} starts a new session; {@link #share} adds a user to it, as a second {@code cuFileDriverOpen} does. All
 * methods are thread-safe. After {@link #close} they throw DRIVER_NOT_INITIALIZED, except {@link #isOpen}, {@link #useCount},
 * {@link #backendName}, {@link #version}, {@link #config}, {@link #isDirectStorageAvailable} and the counters {@link #bytesByPath}, {@link #bytesRead},
 * {@link #bytesWritten} and {@link #peakStagingBytes}.
 *
 * <p>
 * If a program forgets to close a driver, the garbage collector closes it and logs where it was opened. Handles, buffers,
 * batches and streams keep their driver alive.
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
     * Opens the best available backend with {@link CuFileConfig#load()} ({@code cuFileDriverOpen}).
     *
     * @return an open driver
     * @throws CuFileException DRIVER_NOT_INITIALIZED if no backend can serve this machine; the message gives the reasons
     * @throws io.gds4j.config.CuFileConfigException if the environment or the file has an invalid value
     */
    public static CuFileDriver open() {
        return open(CuFileConfig::load);
    }

    /**
     * Opens the best available backend with {@link CuFileConfig#load()}, and says whether GPUDirect Storage may or must serve
     * ({@code cuFileDriverOpen}).
     *
     * @param directStorage wins over environment and file
     * @return an open driver
     * @throws CuFileException DRIVER_NOT_INITIALIZED if no backend can serve this machine so; the message gives the reasons
     * @throws io.gds4j.config.CuFileConfigException if the environment or the file has an invalid value
     */
    public static CuFileDriver open(DirectStorage directStorage) {
        Objects.requireNonNull(directStorage, "directStorage");
        return open(() -> CuFileConfig.builder().directStorage(directStorage).build());
    }

    /** Opens the best available backend while backends begin what they need with any configuration. */
    private static CuFileDriver open(Supplier<CuFileConfig> config) {
        // by name first: to find all providers takes 20 ms of a new JVM
        return anticipated(Backends.own(), () -> {
            List<CuFileBackendProvider> providers = Backends.ofOneRelease();
            return anticipated(providers, () -> open(config.get(), BackendChoice.AUTO, providers));
        });
    }

    private static CuFileDriver anticipated(List<CuFileBackendProvider> providers, Supplier<CuFileDriver> open) {
        Runnable begun = Backends.anticipate(providers);
        return Undo.ifFails(begun::run, open::get);
    }

    /**
     * Opens the best available backend with the given configuration ({@code cuFileDriverOpen}).
     *
     * @param config settings
     * @return an open driver
     * @throws CuFileException DRIVER_NOT_INITIALIZED if no backend can serve this machine, or none offers the GPUDirect
     *         Storage that {@link DirectStorage#REQUIRE} demands; the message gives the reasons
     * @throws CuFileException DRIVER_VERSION_MISMATCH if jars of two releases of gds4j are on the class path;
     *         PLATFORM_NOT_SUPPORTED without native access, glibc or a 64-bit JVM; the message names the remedy
     */
    public static CuFileDriver open(CuFileConfig config) {
        return open(config, BackendChoice.AUTO);
    }

    /**
     * Opens a backend by name ({@code cuFileDriverOpen}).
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
        return open(config, backend, Backends.ofOneRelease());
    }

    private static CuFileDriver open(CuFileConfig config, String backend, List<CuFileBackendProvider> providers) {
        return open(Backends.choose(backend, config, providers), Optional.of(new BackendChoice(config, backend)));
    }

    /**
     * Opens the given backend ({@code cuFileDriverOpen}); for tests and for authors of backends.
     *
     * @param backend the backend
     * @return an open driver
     * @throws CuFileException as {@link CuFileBackend#driverOpen}
     */
    public static CuFileDriver open(CuFileBackend backend) {
        return open(Objects.requireNonNull(backend, "backend"), Optional.empty());
    }

    private static CuFileDriver open(CuFileBackend backend, Optional<BackendChoice> choice) {
        return new CuFileDriver(new SessionUse(Session.open(backend, choice)));
    }

    /**
     * Diagnoses this machine for the configuration of {@link CuFileConfig#load()} without opening a driver.
     *
     * @return the diagnosis, without paths
     * @throws io.gds4j.config.CuFileConfigException if the environment or the file has an invalid value
     */
    public static Diagnosis diagnoseMachine() {
        return diagnose(CuFileConfig.load());
    }

    /**
     * Diagnoses this machine for a configuration without opening a driver: platform, backends, and GPUs. Works also where no
     * driver can be opened.
     *
     * @param config the configuration
     * @return the diagnosis, without paths
     */
    public static Diagnosis diagnose(CuFileConfig config) {
        return new Examination(Backends.providers()).machine(Objects.requireNonNull(config, "config"));
    }

    /**
     * Diagnoses this driver: the platform, the backend that serves and why, libcufile and why it does not serve, GPUs, and the
     * origin of each configuration value. For each path, tells its file system and which I/O path serves it and why.
     *
     * <p>
     * Takes milliseconds: it reads /proc and /sys, and opens and closes each path. A path that cannot be opened gives a report
     * with {@link io.gds4j.diagnosis.PathReport#failure}, not an exception. Changes nothing on disk.
     *
     * @param paths files, folders and block devices
     * @return the diagnosis
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     */
    public Diagnosis diagnose(Path... paths) {
        List<Path> examined = List.of(paths);
        use.checkOpen("diagnose");
        Examination examination = new Examination(Backends.providers());
        Optional<BackendChoice> choice = session.choice();
        return examination.driver(backendName(), choice)
                .withPaths(examination.paths(examined, choice.map(BackendChoice::config), this::ioPath));
    }

    private IoPathReport ioPath(Path file, boolean direct) {
        OpenOption[] options = direct ? new OpenOption[]{CuFileOpenOption.DIRECT} : new OpenOption[0];
        try (CuFileHandle handle = openFile(file, options)) {
            return handle.ioPath();
        }
    }

    /** {@return the backends on the class path or module path, best first} */
    public static List<CuFileBackendProvider> providers() {
        return List.copyOf(Backends.providers());
    }

    /**
     * Adds a user to this session (a second {@code cuFileDriverOpen}). Files and buffers belong to the session: they stay open
     * until its last user closes.
     *
     * @return the new user, which is closed separately
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     */
    public CuFileDriver share() {
        return new CuFileDriver(use.share());
    }

    /**
     * Returns how many users this session has ({@code cuFileUseCount}).
     *
     * @return the number of users; 0 once all are closed
     */
    public long useCount() {
        return session.users();
    }

    /**
     * Returns the configuration that this session was opened with; {@link #parameter} and {@link #properties} have the values that the program
     * set since.
     *
     * @return the configuration, each value with its origin; {@link CuFileConfig#defaults} if the program opened a backend of its own
     */
    public CuFileConfig config() {
        return session.choice().map(BackendChoice::config).orElseGet(CuFileConfig::defaults);
    }

    /**
     * Tells whether GPUDirect Storage can serve files of this driver: the machine has it, and neither configuration nor backend excludes it.
     * Which files it serves depends on their file system: {@link CuFileHandle#ioPath}, {@link #diagnose}. Takes milliseconds.
     *
     * @return false, too, if the program opened a backend of its own
     */
    public boolean isDirectStorageAvailable() {
        return session.choice().filter(choice -> Backends.offersDirectStorage(choice, Backends.providers()))
                .isPresent();
    }

    /** {@return true until this user or the session is closed} */
    public boolean isOpen() {
        return use.isOpen();
    }

    /** {@return name of the backend, such as {@code compat} or {@code libcufile}} */
    public String backendName() {
        return session.backend().name();
    }

    /**
     * Returns the version of cuFile that the backend implements ({@code cuFileGetVersion}).
     *
     * @return the version times 1000: 1200 is 1.20
     */
    public int version() {
        return session.backend().controls().getVersion();
    }

    /**
     * Returns the allocator of this session: it allocates, copies and fills host and GPU memory.
     *
     * @return the allocator
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     */
    public MemoryAllocator allocator() {
        return use.call("MemoryAllocator", CuFileBackend::allocator);
    }

    /**
     * Allocates memory as {@link MemoryAllocator#allocate(long)} of {@link #allocator} does.
     *
     * @param bytes size in bytes
     * @return the memory; close it to free it
     * @throws CuFileException as {@link MemoryAllocator#allocate(long)}; DRIVER_NOT_INITIALIZED after close
     */
    public MemoryAllocation allocate(long bytes) {
        return allocator().allocate(bytes);
    }

    /**
     * Allocates memory of a GPU: {@link MemoryKind#CUDA_DEVICE}.
     *
     * @param gpu ordinal of the GPU, from 0
     * @param bytes size in bytes
     * @return the memory; close it to free it
     * @throws CuFileException as {@link MemoryAllocator#allocate(MemoryKind, long, int)}; DRIVER_NOT_INITIALIZED after close
     */
    public MemoryAllocation allocateGpu(int gpu, long bytes) {
        return allocator().allocate(MemoryKind.CUDA_DEVICE, bytes, gpu);
    }

    /**
     * Allocates memory of the host, also on a machine with a GPU: {@link MemoryKind#HOST}.
     *
     * @param bytes size in bytes
     * @return the memory; close it to free it
     * @throws CuFileException as {@link MemoryAllocator#allocate(MemoryKind, long)}; DRIVER_NOT_INITIALIZED after close
     */
    public MemoryAllocation allocateHost(long bytes) {
        return allocator().allocate(MemoryKind.HOST, bytes);
    }

    /**
     * Unpins idle staging memory and gives it back to the system. While a GPU is in use nothing is unpinned by itself, because that may wait
     * for all work of the GPU; at most the configured pool ({@code properties.posix_pool_slab_*}, 1.1 GiB by default) stays pinned. Waits
     * until no stream waits for an operation. The next use of a GPU pins again what it needs: call
     * {@link MemoryAllocator#prepare} to choose when.
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     * @since 0.1
     */
    public void trim() {
        use.call("CuFileDriver.trim", backend -> {
            backend.controls().trim();
            return null;
        });
    }

    /**
     * Opens a file, for reading by default, and registers it ({@code cuFileHandleRegister}). Opens a {@link SourcePath} as
     * {@link #openSource} does, or its {@link SourcePath#localFile}.
     *
     * @param path the file
     * @param options READ, WRITE, CREATE, CREATE_NEW, TRUNCATE_EXISTING, SYNC, DSYNC, SPARSE, {@link CuFileOpenOption}
     * @return the registered file
     * @throws CuFileException INVALID_FILE_TYPE unless it is a regular file or a block device, INVALID_FILE_OPEN_FLAG for
     *         APPEND and other options, INVALID_VALUE for a path of another file system or for creating without WRITE, an errno
     *         if the kernel cannot open the file, IO_NOT_SUPPORTED or libcufile's code if {@link DirectStorage#REQUIRE} applies
     *         and GPUDirect Storage cannot serve the file, DRIVER_NOT_INITIALIZED after close
     */
    public CuFileHandle openFile(Path path, OpenOption... options) {
        Objects.requireNonNull(path, "path");
        use.checkOpen("cuFileHandleRegister");
        return handle(
                path instanceof SourcePath remote
                        ? OpenOptions.toRanges(remote, options)
                        : OpenOptions.toSource(path, options));
    }

    /**
     * Opens an object of a server for reading, or the file of a {@code file:} URI: {@code openFile(SourcePath.of(uri))}. Other schemes need
     * the artifact gds-remote, and have its default settings.
     *
     * @param uri such as {@code https:}, {@code s3:} or {@code file:}
     * @return the registered object or file
     * @throws CuFileException as {@link #openFile(Path, OpenOption...)} and {@link SourcePath#of}
     */
    public CuFileHandle openFile(URI uri) {
        return openFile(SourcePath.of(uri));
    }

    /**
     * Creates a file, or empties one that exists, and opens it for reading and writing ({@code cuFileHandleRegister}): {@link #openFile} with CREATE,
     * TRUNCATE_EXISTING, READ and WRITE.
     *
     * @param path the file, in a folder that exists; not a {@link SourcePath}
     * @return the registered file, of size 0
     * @throws CuFileException as {@link #openFile(Path, OpenOption...)}
     */
    public CuFileHandle createFile(Path path) {
        return openFile(path, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.READ,
                StandardOpenOption.WRITE);
    }

    /**
     * Makes a handle of a source: reads, vectored reads, batches, streams, futures and the loader work on it. The bytes count as
     * {@link IoPath#USER_SOURCE}. The backend {@code compat} serves it, also where libcufile serves files.
     *
     * @param source reads the bytes, and writes them if it can; stays the caller's after the handle is closed
     * @return the registered source
     * @throws CuFileException IO_NOT_SUPPORTED if the backend has no sources, such as {@code libcufile} opened by name, or if
     *         {@link DirectStorage#REQUIRE} applies; IO_ERROR if the source fails; DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public CuFileHandle openSource(RangeSource source) {
        Objects.requireNonNull(source, "source");
        return handle(new FileSource.Ranges(source, Optional.empty()));
    }

    /**
     * Registers an open descriptor ({@code cuFileHandleRegister}). The backend opens its own descriptors: the caller may close
     * or reuse the number while the handle is open.
     *
     * @param fd number of the descriptor in this process
     * @return the registered file
     * @throws CuFileException INVALID_VALUE for a bad descriptor, INVALID_FILE_TYPE unless it is a regular file or a block
     *         device, INVALID_FILE_OPEN_FLAG for O_APPEND, HANDLE_ALREADY_REGISTERED while a handle with the same number, file
     *         and mode is open, GETNEWFD_FAILED for an O_DIRECT descriptor if this process may no longer open the file,
     *         DRIVER_NOT_INITIALIZED after close
     */
    public CuFileHandle registerDescriptor(int fd) {
        return handle(new FileSource.Descriptor(fd));
    }

    private CuFileHandle handle(FileSource source) {
        use.checkOpen("cuFileHandleRegister");
        return CuFileHandle.register(use, source);
    }

    /**
     * Registers memory ({@code cuFileBufRegister}). Registrations may overlap if their bases differ.
     *
     * @param range the memory, 1 byte or more; the caller keeps it allocated until the registration is closed
     * @return the registration
     * @throws CuFileException INVALID_VALUE for an empty range, MEMORY_ALREADY_REGISTERED if its base address is registered,
     *         CUDA_POINTER_RANGE_ERROR if it reaches past its allocation, CUDA_POINTER_INVALID if it was freed or belongs to no
     *         GPU, INVALID_MAPPING_SIZE past {@code max_device_pinned_mem_size_kb}, IO_NOT_SUPPORTED (EBUSY) while batch
     *         entries use a cached registration of it, DRIVER_NOT_INITIALIZED after close
     */
    public CuFileBuffer registerBuffer(MemoryRange range) {
        return registerBuffer(range, Set.of());
    }

    /**
     * Registers a whole allocation ({@code cuFileBufRegister}), which cannot be closed until the registration is closed.
     *
     * @param allocation the memory
     * @return the registration
     * @throws CuFileException as {@link #registerBuffer(MemoryRange)}
     */
    public CuFileBuffer registerBuffer(MemoryAllocation allocation) {
        return registerBuffer(allocation.range());
    }

    /**
     * Registers memory ({@code cuFileBufRegister}): {@link #registerBuffer(MemoryRange)} of its range. An allocation cannot be closed until
     * the registration is closed.
     *
     * @param memory an allocation or a range, 1 byte or more
     * @return the registration
     * @throws CuFileException as {@link #registerBuffer(MemoryRange)}
     */
    public CuFileBuffer register(IoMemory memory) {
        return registerBuffer(memory.range());
    }

    /**
     * Registers host memory of the program ({@code cuFileBufRegister}): {@link MemoryRange#ofSegment(MemorySegment)}.
     *
     * @param segment native memory, 1 byte or more; the caller keeps its arena open until the registration is closed
     * @return the registration
     * @throws CuFileException as {@link #registerBuffer(MemoryRange)} and {@link MemoryRange#ofSegment(MemorySegment)}
     */
    public CuFileBuffer register(MemorySegment segment) {
        return register(MemoryRange.ofSegment(segment));
    }

    /**
     * Registers memory with RDMA flags ({@code cuFileBufRegister}). They have no effect on machines without RDMA.
     *
     * @param range the memory, 1 byte or more; the caller keeps it allocated until the registration is closed
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
     * Registers memory with restricted rights ({@code cuFileBufRegister}). Every backend refuses requests beyond them.
     *
     * @param range the memory, 1 byte or more; the caller keeps it allocated until the registration is closed
     * @param flags RDMA flags
     * @param rights what I/O may do with it, at least one
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
     * Sets which memory is registered from now on. Registrations of an earlier cache end with the requests that use them.
     *
     * @param policy the policy; {@link RegistrationPolicy#EXPLICIT} until this method is called
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public void setRegistrationPolicy(RegistrationPolicy policy) {
        Objects.requireNonNull(policy, "policy");
        use.run("cuFileBufRegister", backend -> session.setPolicy(policy));
    }

    /** {@return the policy that says which memory is registered} */
    @Experimental
    public RegistrationPolicy registrationPolicy() {
        return session.policy();
    }

    /** {@return counters of the registration cache since the policy started it; zeros without a cache} */
    @Experimental
    public RegistrationStatistics registrationStatistics() {
        RegistrationCache cache = session.cache();
        return cache == null ? RegistrationStatisticsParts.NONE : RegistrationStatisticsParts.of(cache.statistics());
    }

    /**
     * Reads ranges of one or several files into memory, each into one or several fragments. Ranges that are neighbours in a file are read
     * together, and several at a time. When it returns or throws, no range is read any more.
     *
     * @param ranges the ranges, 0 or more, in any order; their files may be open with any option, and sources are files, too. The memory of
     *        two ranges must not overlap; ranges of a file may
     * @param results receives a report of each range in this order, also if this throws
     * @throws CuFileException for a range with invalid arguments as {@link CuFileHandle#read(io.gds4j.memory.IoMemory, long, long, long)}, and
     *         INVALID_VALUE (EINVAL) for destinations that overlap: nothing is read then. Else the first failure of a range; all ranges
     *         that have not failed are read, and a short one is no failure
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; ranges that have not begun are not read
     */
    @Experimental
    public void readRanges(List<RangeRead> ranges, IoResults results) {
        Objects.requireNonNull(results, "results");
        new RangesCall(use, ranges, results).run();
    }

    /**
     * Reads ranges of files into memory, as {@link #readRanges(List, IoResults)} does.
     *
     * @param ranges the ranges, 0 or more
     * @return a report of each range
     * @throws CuFileException as {@link #readRanges(List, IoResults)}
     */
    @Experimental
    public IoResults readRanges(List<RangeRead> ranges) {
        IoResults results = new IoResults();
        readRanges(ranges, results);
        return results;
    }

    /**
     * Starts to read ranges of files on platform threads of the driver and returns at once. Ranges that are neighbours in a file are read
     * together. Closing a file, memory or the driver waits for the ranges that use it.
     *
     * <pre>{@code
     * List<CompletableFuture<Long>> columns = driver.readRangesAsync(List.of(
     *         RangeRead.of(handle, first, 4), RangeRead.of(handle, second, 1 << 20)));   // two byte buffers
     * columns.get(1).thenAccept(bytes -> decode(second));
     * }</pre>
     *
     * @param ranges the ranges, as of {@link #readRanges(List, IoResults)}; memory as of
     *        {@link CuFileHandle#readAsync(io.gds4j.memory.IoMemory, long, long, long)}
     * @return a future of each range in this order, which completes with its bytes or with its failure. Cancelling one does not stop its read
     * @throws CuFileException for a range with invalid arguments as {@link #readRanges(List, IoResults)}, and CUDA_MEMORY_TYPE_INVALID for a
     *         segment of a confined or shared arena: nothing is read then
     */
    @Experimental
    public List<CompletableFuture<Long>> readRangesAsync(List<RangeRead> ranges) {
        return new RangesCall(use, ranges, new IoResults()).start();
    }

    /**
     * Creates a batch ({@code cuFileBatchIOSetUp}). {@link CuFileBatch#transferAll} serves any number of requests with it.
     *
     * @param capacity largest number of outstanding entries, 1 to {@code properties.io_batchsize}
     * @return the batch
     * @throws CuFileException INVALID_VALUE for a capacity out of range, DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public CuFileBatch batch(int capacity) {
        use.checkOpen("cuFileBatchIOSetUp");
        return CuFileBatch.setUp(use, capacity);
    }

    /**
     * Creates a batch of the largest capacity, {@code properties.io_batchsize}.
     *
     * @return the batch
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public CuFileBatch batch() {
        return batch(properties().maxBatchIoSize());
    }

    /**
     * Registers a CUDA stream ({@code cuFileStreamRegister}).
     *
     * @param stream raw {@code CUstream}, 0 for the default stream, or {@link HostStream#address}
     * @param flags what the program promises for every operation
     * @return the registered stream
     * @throws CuFileException as the backend answers {@code cuFileStreamRegister}, DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public CuFileStream stream(long stream, Set<StreamFlag> flags) {
        use.checkOpen("cuFileStreamRegister");
        return CuFileStream.register(use, stream, StreamFlag.toBits(flags));
    }

    /**
     * Registers a stream whose arguments are read when it reaches an operation, as without flags in cuFile.
     *
     * @param stream a raw {@code CUstream}, or the address of a {@link HostStream}
     * @return the registered stream
     * @throws CuFileException as {@link #stream(long, Set)}
     */
    @Experimental
    public CuFileStream stream(long stream) {
        return stream(stream, Set.of());
    }

    /** {@return counters of this session} */
    @Experimental
    public CuFileStatistics statistics() {
        return new CuFileStatistics(use);
    }

    /** {@return {@link #statistics}, under the name of cuFile's functions ({@code cuFileGetStats*})} */
    @Experimental
    public CuFileStatistics stats() {
        return statistics();
    }

    /** {@return bytes moved so far, by I/O path} */
    public Map<IoPath, Long> bytesByPath() {
        return session.backend().controls().engineStatistics().bytesByPath();
    }

    /** {@return bytes read from files so far, by all users of the session and at every level of statistics} */
    public long bytesRead() {
        return session.bytesRead();
    }

    /** {@return bytes written to files so far, by all users of the session and at every level of statistics} */
    public long bytesWritten() {
        return session.backend().controls().bytesWritten();
    }

    /** {@return peak of host memory used for staging so far, in bytes} */
    public long peakStagingBytes() {
        return session.backend().controls().engineStatistics().bouncePoolPeakBytes();
    }

    /**
     * Returns versions, limits and features of the driver ({@code cuFileDriverGetProperties}).
     *
     * @return the properties
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     */
    public DriverProperties properties() {
        return use.call("cuFileDriverGetProperties", backend -> backend.controls().driverGetProperties());
    }

    /**
     * Sets whether the driver polls for the completion of small requests ({@code cuFileDriverSetPollMode}).
     *
     * @param poll whether to poll
     * @param pollThresholdKb largest request to poll for, in KiB: 4 or more, a multiple of 4
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT for another threshold, DRIVER_NOT_INITIALIZED after close
     */
    public void setPollMode(boolean poll, long pollThresholdKb) {
        use.checkOpen("cuFileDriverSetPollMode");
        DriverLimits.checkPollThreshold(pollThresholdKb);
        use.run("cuFileDriverSetPollMode", backend -> backend.controls().driverSetPollMode(poll, pollThresholdKb));
    }

    /**
     * Sets the largest size of one request to the kernel ({@code cuFileDriverSetMaxDirectIOSize}).
     *
     * @param kb KiB, 64 to 16384, a multiple of 64
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT for another size, DRIVER_NOT_INITIALIZED after close
     */
    public void setMaxDirectIoSize(long kb) {
        use.checkOpen("cuFileDriverSetMaxDirectIOSize");
        DriverLimits.checkMaxDirectIoSize(kb);
        use.run("cuFileDriverSetMaxDirectIOSize", backend -> backend.controls().driverSetMaxDirectIoSize(kb));
    }

    /**
     * Sets how much GPU memory bounce buffers may take ({@code cuFileDriverSetMaxCacheSize}).
     *
     * @param kb KiB, 0 or more, a multiple of 4; backends may have a lower maximum
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT for another size, DRIVER_NOT_INITIALIZED after close
     */
    public void setMaxCacheSize(long kb) {
        use.checkOpen("cuFileDriverSetMaxCacheSize");
        DriverLimits.checkMaxCacheSize(kb);
        use.run("cuFileDriverSetMaxCacheSize", backend -> backend.controls().driverSetMaxCacheSize(kb));
    }

    /**
     * Sets how much GPU memory may be registered ({@code cuFileDriverSetMaxPinnedMemSize}).
     *
     * @param kb KiB, 64 or more, a multiple of 4; backends may have a lower maximum
     * @throws CuFileException DRIVER_UNSUPPORTED_LIMIT for another size, DRIVER_NOT_INITIALIZED after close
     */
    public void setMaxPinnedMemSize(long kb) {
        use.checkOpen("cuFileDriverSetMaxPinnedMemSize");
        DriverLimits.checkMaxPinnedMemSize(kb);
        use.run("cuFileDriverSetMaxPinnedMemSize", backend -> backend.controls().driverSetMaxPinnedMemSize(kb));
    }

    /**
     * Returns the current value of a numeric parameter ({@code cuFileGetParameterSizeT}).
     *
     * @param parameter the parameter
     * @return the value, in the unit of {@link io.gds4j.config.ConfigKey#unit} of its key
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public long parameter(SizeParameter parameter) {
        Objects.requireNonNull(parameter, "parameter");
        return use.call("cuFileGetParameterSizeT", backend -> backend.controls().getParameter(parameter));
    }

    /**
     * Returns the current value of a switch ({@code cuFileGetParameterBool}).
     *
     * @param parameter the parameter
     * @return the value
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public boolean parameter(BoolParameter parameter) {
        Objects.requireNonNull(parameter, "parameter");
        return use.call("cuFileGetParameterBool", backend -> backend.controls().getParameter(parameter));
    }

    /**
     * Returns the current value of a text parameter ({@code cuFileGetParameterString}).
     *
     * @param parameter the parameter
     * @return the value
     * @throws CuFileException INVALID_VALUE for a text that is not set, DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public String parameter(StringParameter parameter) {
        Objects.requireNonNull(parameter, "parameter");
        return use.call("cuFileGetParameterString", backend -> backend.controls().getParameter(parameter));
    }

    /**
     * Returns the range of a numeric parameter ({@code cuFileGetParameterMinMaxValue}).
     *
     * @param parameter the parameter
     * @return the range, in the unit of the parameter
     * @throws CuFileException INVALID_VALUE for {@link SizeParameter#PROFILE_STATS}, DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public ParameterRange parameterRange(SizeParameter parameter) {
        Objects.requireNonNull(parameter, "parameter");
        return use.call("cuFileGetParameterMinMaxValue",
                backend -> backend.controls().getParameterMinMaxValue(parameter));
    }

    /**
     * Returns sizes and counts of the host bounce-buffer slabs ({@code cuFileGetParameterPosixPoolSlabArray}).
     *
     * @return sizes in KiB, and counts
     * @throws CuFileException DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public SlabArray posixPoolSlabs() {
        return use.call("cuFileGetParameterPosixPoolSlabArray",
                backend -> backend.controls().getParameterPosixPoolSlabArray());
    }

    /**
     * Returns the size of a GPU's BAR1 aperture ({@code cuFileGetBARSizeInKB}).
     *
     * @param gpu ordinal of the GPU, from 0
     * @return KiB; 0 if the size is not known
     * @throws CuFileException INVALID_VALUE if there is no such GPU, DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public long barSizeInKb(int gpu) {
        if (gpu < 0) {
            throw Failures.invalid("cuFileGetBARSizeInKB", "gpu is negative: " + gpu);
        }
        return use.call("cuFileGetBARSizeInKB", backend -> backend.controls().getBarSizeInKb(gpu));
    }

    /**
     * Returns the peer-to-peer mechanisms set for a kind of storage ({@code cuFileDriverGetP2PFlags} of cuFile 1.16).
     *
     * @param target the kind of storage
     * @return the mechanisms; empty if cuFile chooses
     * @throws CuFileException IO_NOT_SUPPORTED if the backend has no such function, DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public Set<P2pFlag> p2pFlags(TargetType target) {
        Objects.requireNonNull(target, "target");
        return P2pFlag
                .ofBits(use.call("cuFileDriverGetP2PFlags", backend -> backend.controls().driverGetP2pFlags(target)));
    }

    /**
     * Sets the peer-to-peer mechanisms for a kind of storage ({@code cuFileDriverSetP2PFlags} of cuFile 1.16). The setting ends
     * when the last user closes.
     *
     * @param target the kind of storage
     * @param flags {@link P2pFlag#PCI_P2PDMA} on x86-64, {@link P2pFlag#C2C} on AArch64
     * @throws CuFileException INVALID_VALUE for other flags, IO_NOT_SUPPORTED if the backend has no such function,
     *         DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public void setP2pFlags(TargetType target, Set<P2pFlag> flags) {
        Objects.requireNonNull(target, "target");
        int bits = P2pFlag.toBits(flags);
        use.run("cuFileDriverSetP2PFlags", backend -> backend.controls().driverSetP2pFlags(target, bits));
    }

    /**
     * Writes the PCIe topology of this machine to a file ({@code cuFileExportPCIeTopology} of cuFile 1.17).
     *
     * @param file the file to write
     * @throws CuFileException IO_NOT_SUPPORTED if the backend has no such function, DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public void exportPcieTopology(Path file) {
        Objects.requireNonNull(file, "file");
        use.run("cuFileExportPCIeTopology", backend -> backend.controls().exportPcieTopology(file));
    }

    /**
     * Returns sizes and counts of the GPU bounce-buffer slabs ({@code cuFileGetParameterGpuBounceBufferSlabArray} of cuFile
     * 1.17).
     *
     * @return sizes in KiB, and counts
     * @throws CuFileException IO_NOT_SUPPORTED if the backend has no such function, DRIVER_NOT_INITIALIZED after close
     */
    @Experimental
    public SlabArray gpuBounceBufferSlabs() {
        return use.call(
                "cuFileGetParameterGpuBounceBufferSlabArray",
                backend -> backend.controls().getParameterGpuBounceBufferSlabArray());
    }

    /**
     * Ends this use of the session ({@code cuFileDriverClose}). The last user to close waits for I/O in flight, then closes every
     * handle, buffer, batch and stream that is still open. Idempotent; concurrent and later calls wait until it is done.
     *
     * <p>
     * The kernel drops every {@code FileLock} of this process on a file when one of its descriptors is closed. So closing the
     * session drops those on files that it has open, even if another session has the same file open.
     *
     * @throws CuFileException DRIVER_CLOSING (EBUSY) if the last user closes from inside I/O of this session; nothing changes
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
