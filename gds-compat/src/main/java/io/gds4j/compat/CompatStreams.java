package io.gds4j.compat;

import io.gds4j.compat.deliver.Transfer;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.RequestLog;
import io.gds4j.compat.file.RequestLog.Severity;
import io.gds4j.compat.transfer.RequestExecutor;
import io.gds4j.compat.work.RequestContext;
import io.gds4j.compat.work.TransferEngine;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.engine.staging.PreparedGpus;
import io.gds4j.engine.stream.RegisteredStreams;
import io.gds4j.engine.stream.StreamMover;
import io.gds4j.engine.stream.StreamMover.PieceListener;
import io.gds4j.engine.stream.StreamMovers;
import io.gds4j.engine.stream.StreamTransfer;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.Cancellation;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.spi.StreamRequest;
import java.util.Optional;

/** The registered streams of a driver session. Adapts the engine to {@link RegisteredStreams}, which keeps their order. */
final class CompatStreams {
    private final RequestExecutor executor;
    private final RequestLog log;
    private final RegisteredStreams streams;

    /**
     * @param parallel whether {@code execution.parallel_io} and {@code max_io_threads} allow other threads to work
     */
    CompatStreams(
            RequestExecutor executor,
            RequestLog log,
            Optional<CudaContexts> contexts,
            TransferEngine engine,
            Optional<PreparedGpus> gpus,
            boolean parallel) {
        this.executor = executor;
        this.log = log;
        this.streams = new RegisteredStreams(contexts, new Movers(executor, engine, gpus), parallel);
    }

    /** Lends movers. Each has its own context, whose thread no caller waits for. */
    private record Movers(RequestExecutor executor, TransferEngine engine,
            Optional<PreparedGpus> gpus) implements StreamMovers {
        @Override
        public Optional<PreparedGpu> prepareForWaits(long cudaContext) {
            PreparedGpu gpu = gpus.orElseThrow().of(cudaContext);
            gpu.prepare();
            return Optional.of(gpu);
        }

        @Override
        public boolean stages() {
            return true;
        }

        @Override
        public StreamMover borrow() {
            return new Mover(executor, engine, engine.borrowUnattended());
        }
    }

    /** Moves bytes with a borrowed context. */
    private record Mover(RequestExecutor executor, TransferEngine engine,
            RequestContext context) implements StreamMover {
        @Override
        public long move(BatchRequest request) {
            return executor.execute(context, request.operation().ofStream(), request, Cancellation.NEVER);
        }

        @Override
        public long movePart(BatchRequest part, long operation, PieceListener arrived) {
            return executor.executePart(context, part.operation().ofStream(), part, operation, arrived);
        }

        @Override
        public void giveBack() {
            engine.giveBackUnattended(context);
        }
    }

    /** An operation of this session on one of its files. */
    private record Transfer(RequestExecutor executor, RequestLog log, CompatFile file, Operation operation)
            implements
                StreamTransfer {
        @Override
        public void begin() {
            file.beginOperation();
        }

        /** Returns false for managed memory, which processors move. */
        @Override
        public boolean isStaged(MemoryRange memory) {
            return memory.kind().isCuda() && !memory.kind().isHost() && memory.kind() != MemoryKind.CUDA_MANAGED;
        }

        @Override
        public void check(BatchRequest request) {
            executor.check(request, operation.function());
        }

        @Override
        public void end() {
            file.endOperation();
        }

        @Override
        public void log(String message, RuntimeException failure) {
            log.error(message, failure);
        }
    }

    void register(long stream, int flags) {
        streams.register(stream, flags);
        log.log(Severity.DEBUG, "%s stream=0x%x flags=0x%x", "cuFileStreamRegister", stream, flags);
    }

    void deregister(long stream) {
        streams.deregister(stream);
    }

    /** Queues an operation; a stream that is not registered is registered without flags. */
    void submit(StreamRequest request, Operation operation) {
        String function = operation.function();
        streams.checkSupported(function, request);
        CompatFile file = executor.own(request.file(), function);
        streams.submit(operation, request, new Transfer(executor, log, file, operation));
    }

    long pending() {
        return streams.pending();
    }

    void releaseForExit() {
        streams.releaseForExit();
    }

    /** Waits for all operations. */
    void close() {
        streams.close();
    }
}
