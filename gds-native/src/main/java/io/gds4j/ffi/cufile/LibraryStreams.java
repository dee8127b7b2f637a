package io.gds4j.ffi.cufile;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.StreamRequest;
import io.gds4j.statistics.IoPath;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Streams whose order the library keeps itself, by {@code cuFileReadAsync} and {@code cuFileWriteAsync}; on request only, see
 * {@link LibraryDuties#STREAMS_PROPERTY}. Each holds its file and its memory's registration until the stream has passed it,
 * which an event behind it tells: closing a file waits for that, or the library would work on a dead handle later.
 *
 * <p>
 * A read across the end of the file into a GPU changes memory up to its size. Where size and file offset are fixed, it stops
 * at the end as it is at submission; else where it will end is only known when the stream comes to it.
 */
final class LibraryStreams implements SessionStreams {
    private static final Duration POLL = Duration.ofNanos(50_000);
    private static final int FIXED_BUFFER_OFFSET = 1;
    private static final int FIXED_FILE_RANGE = 2 | 4;
    /** A buffer offset of 0 that nobody changes. */
    private static final MemorySegment NO_OFFSET = Arena.global().allocate(ValueLayout.JAVA_LONG);

    private final Opening opening;
    private final CuFileLibrary library;
    private final Registrations registrations;
    private final CudaContexts contexts;
    private final Transfers transfers;
    private final SessionBuffers buffers;
    private final Cuda cuda;
    private final Map<Long, Stream> streams = new HashMap<>();

    LibraryStreams(Opening opening, CudaContexts contexts, Transfers transfers, SessionBuffers buffers) {
        this.opening = opening;
        this.library = opening.library();
        this.registrations = opening.registrations();
        this.contexts = contexts;
        this.transfers = transfers;
        this.buffers = buffers;
        this.cuda = contexts.cuda();
    }

    /** What was queued on one CUDA stream. */
    private static final class Stream {
        private final Set<LibraryFile> files = new HashSet<>();
        private final List<Registrations.Registration> memory = new ArrayList<>();
        private final List<MemorySegment> cells = new ArrayList<>();
        private boolean registered;
        private int flags;
        private long context;
        private long event;
    }

    @Override
    public synchronized void register(long stream, int flags) {
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
        Stream made = streams.computeIfAbsent(stream, key -> new Stream());
        made.registered = true;
        made.flags = flags;
    }

    /** Waits for what was queued on it: a stream that is in use must not be taken from the library. */
    @Override
    public void deregister(long stream) {
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
        passed(stream);
        return true;
    }

    private void passed(Stream stream) {
        stream.files.clear();
        stream.cells.clear();
        List<Registrations.Registration> held = List.copyOf(stream.memory);
        stream.memory.clear();
        held.forEach(registrations::release);
    }

    private void end(long stream, Stream known) {
        if (known.event != 0) {
            contexts.in(known.context, () -> cuda.eventDestroy(known.event));
        }
        if (known.registered) {
            opening.ifAlive(() -> CurrentContext.with(cuda, current(), () -> {
                library.streamDeregister(stream);
                return true;
            }));
        }
    }

    @Override
    public void submit(LibraryFile file, boolean write, StreamRequest request) {
        String function = SessionStreams.function(write);
        Guards.cudaStream(function, request.stream());
        Guards.streamCells(function, file, request);
        buffers.showToLibrary(request.memory().address());
        submit(file, write, request, transfers.contextOf(request.memory()));
    }

    private synchronized void submit(LibraryFile file, boolean write, StreamRequest request, long memoryContext) {
        // What streams have passed is given back by whoever comes next.
        streams.values().stream().filter(known -> !known.memory.isEmpty()).forEach(this::isIdle);
        Stream stream = streams.computeIfAbsent(request.stream(), key -> new Stream());
        long context = memoryContext == CurrentContext.NONE ? current() : memoryContext;
        CurrentContext.with(cuda, context, () -> {
            prepare(stream, context);
            queue(stream, file, write, request);
            stream.files.add(file);
            int recorded = cuda.eventRecord(stream.event, request.stream());
            if (recorded != Cuda.SUCCESS) {
                // Without the event only the stream itself can tell.
                CudaErrors.check(cuda, "cuStreamSynchronize", cuda.streamSynchronize(request.stream()));
                passed(stream);
            }
            return true;
        });
    }

    /**
     * The library takes memory that is not registered for as long as the size at submission, from its base on: whatever the
     * buffer offset adds fails with EIO. An offset that is fixed goes into the base; else the memory is registered until the
     * stream has passed, which costs host memory of the same size.
     */
    private void queue(Stream stream, LibraryFile file, boolean write, StreamRequest request) {
        MemoryRange memory = request.memory();
        MemorySegment size = write ? request.size() : beforeTheEnd(stream, file, request);
        boolean fixed = (stream.flags & FIXED_BUFFER_OFFSET) != 0;
        if (fixed && registrations.find(memory.address()) == null) {
            long offset = request.bufferOffset().get(ValueLayout.JAVA_LONG, 0);
            call(file, write, memory.address() + offset, size, NO_OFFSET, request);
            return;
        }
        // Where more than POSIX I/O serves, memory is pinned for the GPU's sake, and not behind the program's back.
        boolean mayRegister = file.servedBy() == IoPath.LIBCUFILE_POSIX || registrations.find(memory.address()) != null;
        Registrations.Registration held =
                mayRegister ? registrations.acquire(memory.address(), memory.length(), 0) : null;
        boolean queued = false;
        try {
            call(file, write, memory.address(), size, request.bufferOffset(), request);
            queued = true;
        } finally {
            if (held != null && queued) {
                stream.memory.add(held);
            } else if (held != null) {
                registrations.release(held);
            }
        }
    }

    /** The cell of the size, or one of our own with what is left of the file. */
    private static MemorySegment beforeTheEnd(Stream stream, LibraryFile file, StreamRequest request) {
        long size = request.size().get(ValueLayout.JAVA_LONG, 0);
        long offset = request.fileOffset().get(ValueLayout.JAVA_LONG, 0);
        long end = (stream.flags & FIXED_FILE_RANGE) == FIXED_FILE_RANGE ? file.endBefore(offset + size) : -1;
        if (end < 0 || offset + size <= end) {
            return request.size();
        }
        MemorySegment cell = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);
        cell.set(ValueLayout.JAVA_LONG, 0, Math.max(0, end - offset));
        stream.cells.add(cell);
        return cell;
    }

    private void call(
            LibraryFile file,
            boolean write,
            long base,
            MemorySegment size,
            MemorySegment bufferOffset,
            StreamRequest request) {
        MemorySegment fileOffset = request.fileOffset();
        MemorySegment bytes = request.bytesDone();
        if (write) {
            library.writeAsync(file.handle(), base, size, fileOffset, bufferOffset, bytes, request.stream());
        } else {
            library.readAsync(file.handle(), base, size, fileOffset, bufferOffset, bytes, request.stream());
        }
    }

    private void prepare(Stream stream, long context) {
        if (stream.event != 0 && stream.context != context) {
            // Rare: the same stream with memory of two contexts. What came before is told apart by waiting for it.
            contexts.in(stream.context, () -> cuda.eventSynchronize(stream.event));
            passed(stream);
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

    @Override
    public void settle(long base) {
        waitFor(() -> streams.values()
                .stream()
                .allMatch(stream -> stream.memory.stream().noneMatch(held -> held.base() == base) || isIdle(stream)));
    }

    @Override
    public void settle(LibraryFile file) {
        waitFor(() -> streams.values().stream().allMatch(stream -> !stream.files.contains(file) || isIdle(stream)));
    }

    @Override
    public synchronized boolean isBusy() {
        return !streams.values().stream().allMatch(this::isIdle);
    }

    /** Nothing: the library lets them go on. */
    @Override
    public void releaseForExit() {
        // what they wait for is its own
    }

    @Override
    public void close() {
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
}
