package io.gds4j.engine.stream;

import io.gds4j.HostStream;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.posix.LibcExitHandlers;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.Operation;
import io.gds4j.spi.StreamArguments;
import io.gds4j.spi.StreamRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** The registered streams of a driver session. */
public final class RegisteredStreams {
    private static final String REGISTER = "cuFileStreamRegister";

    /** Last of the three special values for CUDA's default streams. */
    public static final long LAST_SPECIAL_STREAM = 2;

    private final Optional<CudaContexts> contexts;
    private final StreamMovers movers;
    private final Optional<ReleaseWords> words;
    private final Optional<StagingSlabs> slabs;
    private final boolean parallel;

    /** A registration holds the monitor, and may wait for streams meanwhile: what releases these streams must not need the monitor. */
    private final Map<Long, StreamOrder> orders = new ConcurrentHashMap<>();
    private boolean closed;

    /**
     * Has no stream yet.
     *
     * @param contexts contexts of the CUDA driver, if there is one
     * @param movers movers of the backend
     * @param parallel whether {@code execution.parallel_io} and {@code max_io_threads} allow other threads to work
     */
    public RegisteredStreams(Optional<CudaContexts> contexts, StreamMovers movers, boolean parallel) {
        this.contexts = contexts;
        this.movers = movers;
        this.parallel = parallel;
        this.words = contexts.map(known -> new ReleaseWords(known, new LibcExitHandlers()));
        this.slabs = contexts.filter(known -> movers.stages()).map(known -> new StagingSlabs(known));
    }

    /**
     * Registers a stream.
     *
     * @param stream a raw {@code CUstream} or the address of a {@link HostStream}
     * @param flags what the program promises, 0 to 15
     */
    public synchronized void register(long stream, int flags) {
        if ((flags & ~StreamArguments.ALL_FLAGS) != 0) {
            throw CuFileException.invalid(REGISTER, "flags are 0x%x, allowed: 0 to 0xf".formatted(flags));
        }
        if (orders.containsKey(stream)) {
            throw CuFileException.invalid(REGISTER, "the stream is registered already");
        }
        checkOpen(REGISTER);
        orders.put(stream, order(stream, flags));
    }

    private StreamOrder order(long stream, int flags) {
        Optional<HostStream> host = HostStream.find(stream);
        if (host.isPresent()) {
            return new HostOrder(host.get(), flags, movers);
        }
        CudaContexts known = contexts.orElseThrow(() -> CuFileException.invalid(
                REGISTER, "there is no CUDA driver, and 0x%x is no open HostStream".formatted(stream)));
        boolean special = stream >= 0 && stream <= LAST_SPECIAL_STREAM;
        long[] context = new long[1];
        if (special) {
            known.cuda().ctxGetCurrent(context);
            context[0] = context[0] == 0 ? known.primary(0) : context[0];
        } else if (stream < 0) {
            throw CuFileException.invalid(REGISTER, "0x%x is no open HostStream".formatted(stream));
        } else {
            CudaErrors.check(known.cuda(), "cuStreamGetCtx", known.cuda().streamGetCtx(stream, context));
        }
        StreamWaits.of(known).expect();
        return new CudaStreamOrder(stream, special, context[0], flags, known, movers, words.orElseThrow(),
                slabs.orElse(null), Thread.ofPlatform().daemon().name("gds4j-stream").factory());
    }

    /** Waits until a stream has passed all operations, and forgets it. */
    public void deregister(long stream) {
        StreamOrder order = orders.remove(stream);
        if (order == null) {
            throw CuFileException.invalid("cuFileStreamDeregister", "the stream is not registered");
        }
        order.close();
    }

    /**
     * Refuses operations that no backend can run in the order of a stream.
     *
     * @param function name of the call
     * @throws CuFileException with {@link CuFileError#ASYNC_NOT_SUPPORTED}
     */
    public void checkSupported(String function, StreamRequest request) {
        if (!parallel) {
            throw notSupported(function, "execution.parallel_io is false or execution.max_io_threads is 0");
        }
        for (MemoryRange memory : request.memories()) {
            checkManaged(function, request, memory);
        }
    }

    private void checkManaged(String function, StreamRequest request, MemoryRange memory) {
        if (memory.kind() == MemoryKind.CUDA_MANAGED
                && contexts.filter(known -> known.sharesManagedMemory(memory.device())).isEmpty()
                && HostStream.find(request.stream()).isEmpty()) {
            throw notSupported(
                    function,
                    "processors may not touch managed memory while its GPU works, and the driver's copies of it wait for all"
                            + " streams");
        }
    }

    private static CuFileException notSupported(String function, String detail) {
        return CuFileException.of(CuFileError.ASYNC_NOT_SUPPORTED, function, detail);
    }

    /**
     * Queues an operation. A stream that is not registered is registered without flags.
     *
     * @param transfer the backend's side of the operation
     * @throws CuFileException if it could not be queued; nothing has changed then
     */
    public void submit(Operation operation, StreamRequest request, StreamTransfer transfer) {
        String function = operation.function();
        StreamArguments.checkCells(function, request);
        StreamOrder known = orders.get(request.stream());
        StreamOrder order = known == null ? registered(function, request.stream()) : known;
        StreamOperation queued = new StreamOperation(request, operation, order.flags(), transfer);
        try {
            order.submit(queued);
        } finally {
            if (!queued.isQueued()) {
                queued.end();
            }
        }
    }

    private synchronized StreamOrder registered(String function, long stream) {
        StreamOrder order = orders.get(stream);
        if (order == null) {
            checkOpen(function);
            order = order(stream, 0);
            orders.put(stream, order);
        }
        return order;
    }

    /** {@return operations that are not over} */
    public long pending() {
        return orders.values().stream().mapToLong(StreamOrder::pending).sum();
    }

    /** Lets all streams pass, also those with pending operations: the process ends. */
    public void releaseForExit() {
        orders.values().forEach(StreamOrder::releaseForExit);
    }

    /** Refuses work while the driver closes: close would not wait for it. */
    private void checkOpen(String function) {
        if (closed) {
            throw CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, function, "the driver is closed");
        }
    }

    /** Waits for all operations and refuses later ones. */
    public void close() {
        List<StreamOrder> last;
        synchronized (this) {
            closed = true;
            last = new ArrayList<>(orders.values());
            orders.clear();
        }
        last.forEach(StreamOrder::close);
        words.ifPresent(ReleaseWords::close);
        slabs.ifPresent(StagingSlabs::close);
    }
}
