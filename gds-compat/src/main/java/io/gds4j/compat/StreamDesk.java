package io.gds4j.compat;

import io.gds4j.HostStream;
import io.gds4j.compat.SessionLog.Severity;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.spi.StreamRequest;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The registered streams of a driver session. */
final class StreamDesk {
    private static final String REGISTER = "cuFileStreamRegister";

    /** CUDA's own: the NULL stream by its three names. */
    private static final long LAST_SPECIAL_STREAM = 2;

    private static final long CELL_BYTES = 8;

    private final CompatSession session;
    private final Optional<CudaContexts> contexts;
    private final TransferEngine engine;
    private final BouncePool pool;
    private final boolean parallel;
    private final Optional<ReleaseWords> words;
    private final Map<Long, StreamOrder> orders = new HashMap<>();
    private final Thread stranger = Thread.ofPlatform().unstarted(() -> {
    });

    /**
     * @param parallel whether {@code execution.parallel_io} and {@code max_io_threads} allow other threads to work
     */
    StreamDesk(
            CompatSession session,
            Optional<CudaContexts> contexts,
            TransferEngine engine,
            BouncePool pool,
            boolean parallel) {
        this.session = session;
        this.contexts = contexts;
        this.engine = engine;
        this.pool = pool;
        this.parallel = parallel;
        this.words = contexts.map(known -> new ReleaseWords(known));
    }

    synchronized void register(long stream, int flags) {
        if ((flags & ~StreamOperation.ALL_FLAGS) != 0) {
            throw invalid(REGISTER, "flags are 0x%x, allowed: 0 to 0xf".formatted(flags));
        }
        if (orders.containsKey(stream)) {
            throw invalid(REGISTER, "the stream is registered already");
        }
        orders.put(stream, order(stream, flags));
        session.log().log(Severity.DEBUG, "%s stream=0x%x flags=0x%x", REGISTER, stream, flags);
    }

    private StreamOrder order(long stream, int flags) {
        Optional<HostStream> host = HostStream.find(stream);
        if (host.isPresent()) {
            return new HostOrder(host.get(), flags, engine);
        }
        CudaContexts known = contexts.orElseThrow(() -> invalid(
                REGISTER, "there is no CUDA driver, and 0x%x is no open HostStream".formatted(stream)));
        boolean special = stream >= 0 && stream <= LAST_SPECIAL_STREAM;
        long[] context = new long[1];
        if (special) {
            known.cuda().ctxGetCurrent(context);
            context[0] = context[0] == 0 ? known.primary(0) : context[0];
        } else if (stream < 0) {
            throw invalid(REGISTER, "0x%x is no open HostStream".formatted(stream));
        } else {
            CudaErrors.check(known.cuda(), "cuStreamGetCtx", known.cuda().streamGetCtx(stream, context));
        }
        pool.fillForParking();
        return new CudaOrder(stream, special, context[0], flags, known, engine, pool, words.orElseThrow());
    }

    void deregister(long stream) {
        StreamOrder order;
        synchronized (this) {
            order = orders.remove(stream);
        }
        if (order == null) {
            throw invalid("cuFileStreamDeregister", "the stream is not registered");
        }
        order.close();
    }

    /** Queues an operation; a stream that is not registered is registered without flags. */
    void submit(StreamRequest request, boolean write) {
        String function = write ? "cuFileWriteAsync" : "cuFileReadAsync";
        if (!parallel) {
            throw CuFileException.of(
                    CuFileError.ASYNC_NOT_SUPPORTED,
                    function,
                    "execution.parallel_io is false or execution.max_io_threads is 0");
        }
        CompatFile file = CompatFile.own(session, request.file(), function);
        checkCells(function, request);
        if (!session.sharesManaged(request.memory()) && HostStream.find(request.stream()).isEmpty()) {
            throw CuFileException.of(
                    CuFileError.ASYNC_NOT_SUPPORTED,
                    function,
                    "processors may not touch managed memory while its GPU works, and the driver's copies of it wait for all"
                            + " streams");
        }
        StreamOrder order;
        synchronized (this) {
            order = orders.get(request.stream());
            if (order == null) {
                order = order(request.stream(), 0);
                orders.put(request.stream(), order);
            }
        }
        StreamOperation operation = new StreamOperation(session, file, request, write, order.flags());
        boolean queued = false;
        try {
            order.submit(operation);
            queued = true;
        } catch (IllegalStateException e) {
            throw invalid(function, "the stream is closed");
        } finally {
            if (!queued) {
                operation.abandon();
            }
        }
    }

    private void checkCells(String function, StreamRequest request) {
        List<MemorySegment> cells =
                List.of(request.size(), request.fileOffset(), request.bufferOffset(), request.bytesDone());
        for (MemorySegment cell : cells) {
            boolean fits = cell.isNative() && cell.byteSize() >= CELL_BYTES && cell.address() % CELL_BYTES == 0;
            if (!fits || !cell.scope().isAlive() || !cell.isAccessibleBy(stranger)) {
                throw invalid(function, "a cell is not native, aligned, alive and open to all threads: " + cell);
            }
        }
    }

    synchronized long pending() {
        return orders.values().stream().mapToLong(StreamOrder::pending).sum();
    }

    synchronized void releaseForExit() {
        orders.values().forEach(StreamOrder::releaseForExit);
    }

    /** Waits for all operations. */
    void close() {
        List<StreamOrder> last;
        synchronized (this) {
            last = new ArrayList<>(orders.values());
            orders.clear();
        }
        last.forEach(StreamOrder::close);
        words.ifPresent(ReleaseWords::close);
    }

    private static CuFileException invalid(String function, String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, function, detail);
    }
}
