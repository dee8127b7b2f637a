package io.gds4j.libcufile;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.internal.lifetime.CallThreads;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.libcufile.batch.SessionBatches;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.file.LibraryFile.CallerDescriptor;
import io.gds4j.libcufile.file.OwnedDescriptor;
import io.gds4j.libcufile.guard.LibraryPreconditions;
import io.gds4j.libcufile.guard.SessionBuffers;
import io.gds4j.libcufile.guard.Transfers;
import io.gds4j.libcufile.process.CurrentContext;
import io.gds4j.libcufile.process.LibraryProcess;
import io.gds4j.libcufile.process.LibraryProcess.User;
import io.gds4j.libcufile.process.LibrarySettings;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.libcufile.stream.SessionStreams;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.IoPathReport;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;

/** One open driver: its files, buffers, batches and streams. All sessions of the process share one {@link OpenLibrary}. */
final class LibCuFileSession implements User {
    private static final long KIB = 1024;

    private final LibraryProcess process;
    private final Posix posix;
    private final CudaContexts contexts;
    private final PathCounters counters;
    private final CuFileConfig config;
    private final DirectStorageProbe storage;
    private final OpenLibrary openLibrary;
    private final SessionBuffers buffers;
    private final Transfers transfers;
    private final VectorTransfers vectors;
    private final DeviceStages stages;
    private final SessionStreams streams;
    private final LibraryLimits limits;
    private final SessionBatches batches;
    private final LibrarySettings settings;
    private final Set<LibraryFile> files = new HashSet<>();
    /** The callers' descriptors that {@link #files} were registered by. */
    private final Set<CallerDescriptor> callerDescriptors = new HashSet<>();
    private final CallThreads calls;
    private final ExecutorService carriers =
            Executors.newCachedThreadPool(Thread.ofPlatform().daemon().name("gds4j-libcufile-", 0).factory());
    private boolean closed;

    /** Opens the library, or joins the sessions that have it open. */
    LibCuFileSession(
            LibraryProcess process,
            LibrarySettings settings,
            CuFileConfig config,
            DirectStorageProbe storage,
            Posix posix,
            CudaContexts contexts,
            PathCounters counters,
            CuFileCounters statistics) {
        this.process = process;
        this.posix = posix;
        this.contexts = contexts;
        this.counters = counters;
        this.config = config;
        this.storage = storage;
        this.settings = settings;
        this.openLibrary = process.open(this, settings, contexts);
        boolean opened = false;
        try {
            this.limits = new LibraryLimits(openLibrary);
            long pinnedKb = settings.get(CuFileKeys.MAX_DEVICE_PINNED_MEM_SIZE_KB);
            this.buffers = new SessionBuffers(openLibrary.registrations(), StreamWaits.of(contexts), pinnedKb);
            this.transfers = new Transfers(openLibrary, contexts, buffers);
            this.vectors = new VectorTransfers(openLibrary.library(), transfers, contexts.cuda());
            boolean direct = storage.machine(config) instanceof DirectStorageProbe.Works;
            this.stages = new DeviceStages(contexts, buffers, direct);
            this.streams = new SessionStreams(openLibrary, contexts, transfers);
            this.batches = new SessionBatches(
                    openLibrary, transfers, statistics, contexts.cuda(), carriers,
                    request -> own("cuFileBatchIOSubmit", request.file()));
            // begins a thread, which would outlive an open that fails
            this.calls = new CallThreads("gds4j-libcufile-call-");
            opened = true;
        } finally {
            if (!opened) {
                process.close(this);
            }
        }
    }

    OpenLibrary openLibrary() {
        return openLibrary;
    }

    /** The settings that the session was opened with; the library sees a statistics level of 0. */
    LibrarySettings settings() {
        return settings;
    }

    CuFileLibrary library() {
        return openLibrary.library();
    }

    public LibraryFile register(FileSource source) {
        OwnedDescriptor descriptor = OwnedDescriptor.open(posix, source);
        boolean done = false;
        try {
            LibraryFile file = source instanceof FileSource.Descriptor given
                    ? register(descriptor, CallerDescriptor.of(given.fd(), descriptor.status()))
                    : register(descriptor, null);
            done = true;
            return file;
        } finally {
            if (!done) {
                posix.close(descriptor.fd());
            }
        }
    }

    private synchronized LibraryFile register(OwnedDescriptor descriptor, @Nullable CallerDescriptor caller) {
        checkOpen("cuFileHandleRegister");
        if (caller != null && callerDescriptors.contains(caller)) {
            throw CuFileException.of(CuFileError.HANDLE_ALREADY_REGISTERED, "cuFileHandleRegister", descriptor.path(),
                    "file descriptor " + caller.number() + " is registered already");
        }
        long handle;
        try {
            handle = openLibrary.whileAlive(
                    "cuFileHandleRegister",
                    () -> CurrentContext.with(
                            contexts.cuda(), contexts.primary(0), () -> library().handleRegister(descriptor.fd())));
        } catch (CuFileException e) {
            throw refused(descriptor, e);
        }
        LibraryFile file =
                new LibraryFile(this, openLibrary, posix, descriptor, caller, handle, report(descriptor), counters);
        files.add(file);
        if (caller != null) {
            callerDescriptors.add(caller);
        }
        return file;
    }

    /** The library's failure with what is known about its reason. */
    private CuFileException refused(OwnedDescriptor descriptor, CuFileException e) {
        String why = storage.obstacleOf(descriptor.status()).map(found -> ": " + found).orElse("");
        CuFileException.Builder failure = CuFileException.builder(e.function())
                .error(e.error())
                .path(descriptor.path())
                .detail("libcufile does not take the file%s".formatted(why))
                .cause(e);
        e.errno().ifPresent(failure::errno);
        return failure.build();
    }

    private IoPathReport report(OwnedDescriptor descriptor) {
        boolean mayServeByPosix = openLibrary.settings().allowsPosix();
        if (openLibrary.settings().get(CuFileKeys.FORCE_COMPAT_MODE)) {
            return new IoPathReport(IoPath.LIBCUFILE_POSIX, "properties.force_compat_mode is true");
        }
        return switch (storage.machine(config)) {
            case DirectStorageProbe.Lacking(String reason, String remedy) ->
                new IoPathReport(IoPath.LIBCUFILE_POSIX, reason);
            case DirectStorageProbe.Works(IoPath path, String reason) -> {
                Optional<String> obstacle =
                        mayServeByPosix ? storage.obstacleOf(descriptor.status()) : Optional.empty();
                yield obstacle.map(why -> new IoPathReport(IoPath.LIBCUFILE_POSIX, why))
                        .orElseGet(() -> new IoPathReport(path, reason));
            }
        };
    }

    /** @throws CuFileException HANDLE_NOT_REGISTERED for a file of another session or backend */
    LibraryFile own(String function, BackendFile file) {
        if (file instanceof LibraryFile own && own.isOf(this)) {
            return own;
        }
        throw CuFileException.of(
                CuFileError.HANDLE_NOT_REGISTERED, function, "not a file of this driver session: " + file);
    }

    /** Deregisters a file; ignores one that is not registered. */
    void deregister(LibraryFile file) {
        boolean known;
        synchronized (this) {
            known = files.contains(file);
        }
        if (known) {
            // The file stays in the list meanwhile, so that close() waits for it, too.
            file.deregister();
            synchronized (this) {
                files.remove(file);
                if (file.callerDescriptor() != null) {
                    callerDescriptors.remove(file.callerDescriptor());
                }
            }
        }
    }

    /** Registers memory. The library learns of it at the first transfer. */
    public void register(MemoryRange range, int flags) {
        LibraryPreconditions.withinAllocation(contexts.cuda(), range);
        checkOpen("cuFileBufRegister");
        buffers.register(range, flags);
    }

    /** Registers memory with the library at once, so that a refusal reaches the caller. */
    void registerNow(MemoryRange range, int flags) {
        LibraryPreconditions.withinAllocation(contexts.cuda(), range);
        checkOpen("cuFileBufRegister");
        onPlatformThread("cuFileBufRegister", () -> pin(range, flags));
    }

    private long pin(MemoryRange range, int flags) {
        return CurrentContext.with(contexts.cuda(), transfers.contextOf(range), () -> {
            openLibrary.runWhileAlive("cuFileBufRegister", () -> buffers.registerNow(range, flags));
            return range.length();
        });
    }

    void deregister(MemoryRange range) {
        buffers.deregister(range);
    }

    /** Moves bytes. The arguments are checked and the caller has entered the file. */
    long transfer(
            LibraryFile file, Operation operation, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        Thread caller = Thread.currentThread();
        if (!caller.isVirtual()) {
            // without the lambda: reads allocate nothing
            return transfers.run(caller, file, operation, base, size, fileOffset, bufferOffset);
        }
        return onPlatformThread(
                operation.function(),
                () -> transfers.run(caller, file, operation, base, size, fileOffset, bufferOffset));
    }

    private interface Call {
        long run();
    }

    /**
     * Makes a call on this thread, or on another one if this thread is virtual: a native call would pin its carrier, and the CUDA
     * context belongs to the carrier.
     */
    private long onPlatformThread(String function, Call call) {
        if (!Thread.currentThread().isVirtual()) {
            return call.run();
        }
        FutureTask<Long> task = new FutureTask<>(call::run);
        calls.execute(function, task);
        try {
            // The transfer checks the flag between its pieces and uses the memory until it ends.
            return Uninterruptibly.get(task);
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case RuntimeException failure -> throw failure;
                case Error failure -> throw failure;
                case null, default -> throw new AssertionError(e);
            }
        }
    }

    /** Moves the bytes of at least one range. The arguments are checked and the caller has entered the file. */
    long transferVector(LibraryFile file, Operation operation, List<MemoryRange> ranges, long fileOffset, int flags) {
        Thread caller = Thread.currentThread();
        return onPlatformThread(
                operation.function(),
                () -> vectors.run(caller, file, operation, ranges, fileOffset, flags));
    }

    /** Returns whether the library may get vectors of a file. */
    boolean servesVectors(LibraryFile file) {
        return vectors.serves(file);
    }

    DeviceStages stages() {
        return stages;
    }

    SessionBatches batches() {
        return batches;
    }

    SessionStreams streams() {
        return streams;
    }

    LibraryLimits limits() {
        return limits;
    }

    void setMaxDirectIoSize(long kb) {
        limits.setMaxDirectIoSize(kb);
        transfers.cutAt(kb * KIB);
    }

    void setMaxPinnedMemSize(long kb) {
        limits.setMaxPinnedMemSize(kb);
        buffers.limit(kb);
    }

    @Override
    public synchronized boolean isBusy() {
        return files.stream().anyMatch(LibraryFile::isBusy)
                || batches.isBusy()
                || streams.isBusy();
    }

    @Override
    public void cancelBatches() {
        batches.cancelAll();
    }

    @Override
    public void releaseStreams() {
        streams.releaseForExit();
    }

    @Override
    public void closeBatches() {
        batches.close();
    }

    private synchronized void checkOpen(String function) {
        if (closed) {
            throw OpenLibrary.closed(function);
        }
    }

    /**
     * Waits for I/O in flight, takes everything back from the library, and closes the library if this was its last
     * session.
     */
    void close() {
        synchronized (this) {
            closed = true;
        }
        batches.close();
        streams.close();
        List<LibraryFile> openFiles;
        synchronized (this) {
            openFiles = List.copyOf(files);
            files.clear();
            callerDescriptors.clear();
        }
        openFiles.forEach(LibraryFile::deregister);
        openLibrary.ifAlive(buffers::clear);
        stages.close();
        calls.close();
        carriers.close();
        process.close(this);
    }
}
