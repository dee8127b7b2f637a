package io.gds4j.ffi.cufile;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.StreamRequest;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Stream-ordered transfers of one session. Each holds its file until the stream has passed it, which an event behind it
 * tells: closing a file waits for that, or the library would work on a dead handle later.
 */
final class LibraryStreams {
    private static final String READ = "cuFileReadAsync";
    private static final String WRITE = "cuFileWriteAsync";
    private static final Duration POLL = Duration.ofNanos(50_000);

    private final CuFileLibrary library;
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final Map<Long, Stream> streams = new HashMap<>();

    LibraryStreams(Opening opening, CudaContexts contexts) {
        this.library = opening.library();
        this.contexts = contexts;
        this.cuda = contexts.cuda();
    }

    /** What was queued on one CUDA stream. */
    private static final class Stream {
        private final Set<LibraryFile> files = new HashSet<>();
        private boolean registered;
        private long context;
        private long event;
    }

    synchronized void register(long stream, int flags) {
        Guards.cudaStream("cuFileStreamRegister", stream);
        Guards.streamFlags(flags);
        Stream known = streams.get(stream);
        if (known != null && known.registered) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE, "cuFileStreamRegister", "the stream is registered already");
        }
        CurrentContext.with(cuda, current(), () -> {
            library.streamRegister(stream, flags);
            return true;
        });
        streams.computeIfAbsent(stream, key -> new Stream()).registered = true;
    }

    /** Waits for what was queued on it: a stream that is in use must not be taken from the library. */
    void deregister(long stream) {
        waitFor(() -> {
            Stream known = streams.get(stream);
            if (known == null || !known.registered) {
                throw CuFileException.of(
                        CuFileError.INVALID_VALUE, "cuFileStreamDeregister", "the stream is not registered");
            }
            if (!isIdle(known)) {
                return false;
            }
            streams.remove(stream);
            end(stream, known);
            return true;
        });
    }

    /** Waits without the lock: what a stream waits for may be a transfer that another thread is about to queue. */
    private void waitFor(BooleanSupplier done) {
        while (true) {
            synchronized (this) {
                if (done.getAsBoolean()) {
                    return;
                }
            }
            LockSupport.parkNanos(POLL.toNanos());
        }
    }

    /** True once the stream has passed all that was queued on it, or is broken, so that it never will. */
    private boolean isIdle(Stream stream) {
        if (stream.files.isEmpty()) {
            return true;
        }
        if (contexts.in(stream.context, () -> cuda.eventQuery(stream.event)) == Cuda.ERROR_NOT_READY) {
            return false;
        }
        stream.files.clear();
        return true;
    }

    private void end(long stream, Stream known) {
        if (known.event != 0) {
            contexts.in(known.context, () -> cuda.eventDestroy(known.event));
        }
        if (known.registered) {
            CurrentContext.with(cuda, current(), () -> {
                library.streamDeregister(stream);
                return true;
            });
        }
    }

    /** Queues a transfer. The file is entered, the cells are checked. */
    synchronized void submit(LibraryFile file, boolean write, StreamRequest request, long memoryContext) {
        Stream stream = streams.computeIfAbsent(request.stream(), key -> new Stream());
        long context = memoryContext == CurrentContext.NONE ? current() : memoryContext;
        CurrentContext.with(cuda, context, () -> {
            prepare(stream, context);
            MemoryRange memory = request.memory();
            MemorySegment bytes = request.bytesDone();
            if (write) {
                library.writeAsync(
                        file.handle(),
                        memory.address(),
                        request.size(),
                        request.fileOffset(),
                        request.bufferOffset(),
                        bytes,
                        request.stream());
            } else {
                library.readAsync(
                        file.handle(),
                        memory.address(),
                        request.size(),
                        request.fileOffset(),
                        request.bufferOffset(),
                        bytes,
                        request.stream());
            }
            stream.files.add(file);
            int recorded = cuda.eventRecord(stream.event, request.stream());
            if (recorded != Cuda.SUCCESS) {
                // Without the event only the stream itself can tell.
                CudaErrors.check(cuda, "cuStreamSynchronize", cuda.streamSynchronize(request.stream()));
                stream.files.clear();
            }
            return true;
        });
    }

    private void prepare(Stream stream, long context) {
        if (stream.event != 0 && stream.context != context) {
            // Rare: the same stream with memory of two contexts. What came before is told apart by waiting for it.
            contexts.in(stream.context, () -> cuda.eventSynchronize(stream.event));
            stream.files.clear();
            contexts.in(stream.context, () -> cuda.eventDestroy(stream.event));
            stream.event = 0;
        }
        if (stream.event == 0) {
            long[] made = new long[1];
            CudaErrors.check(
                    cuda,
                    "cuEventCreate",
                    cuda.eventCreate(made, Cuda.EVENT_DISABLE_TIMING | Cuda.EVENT_BLOCKING_SYNC));
            stream.event = made[0];
            stream.context = context;
        }
    }

    /** The context that is current on this thread, else the first GPU's primary one. */
    private long current() {
        long[] context = new long[1];
        return cuda.ctxGetCurrent(context) == Cuda.SUCCESS && context[0] != 0 ? context[0] : contexts.primary(0);
    }

    /** Waits until no stream has a transfer of this file before it. */
    void settle(LibraryFile file) {
        waitFor(() -> streams.values().stream().allMatch(stream -> !stream.files.contains(file) || isIdle(stream)));
    }

    /** True while a stream may have a transfer before it. */
    synchronized boolean isBusy() {
        return !streams.values().stream().allMatch(this::isIdle);
    }

    /** Waits for all and deregisters all. */
    void close() {
        waitFor(() -> streams.values().stream().allMatch(this::isIdle));
        synchronized (this) {
            streams.forEach((stream, known) -> {
                try {
                    end(stream, known);
                } catch (CuFileException e) {
                    System.getLogger("io.gds4j.libcufile")
                            .log(Level.DEBUG, "deregistering a stream at close: {0}", e.getMessage());
                }
            });
            streams.clear();
        }
    }

    static String function(boolean write) {
        return write ? WRITE : READ;
    }
}
