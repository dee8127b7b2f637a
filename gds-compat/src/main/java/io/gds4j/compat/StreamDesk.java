package io.gds4j.compat;

import io.gds4j.compat.SessionLog.Severity;
import io.gds4j.engine.stream.RegisteredStreams;
import io.gds4j.engine.stream.StreamLanes;
import io.gds4j.engine.stream.StreamTransfer;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.StreamRequest;
import java.util.Optional;
import java.util.function.LongConsumer;

/** The registered streams of a driver session: their order is kept elsewhere, what they ask for is moved by the engine. */
final class StreamDesk {
    private final CompatSession session;
    private final RegisteredStreams<Lane> streams;

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
        this.streams = new RegisteredStreams<>(contexts, new Lanes(engine, pool), parallel);
    }

    /** Lanes of the engine for which no caller waits. */
    private record Lanes(TransferEngine engine, BouncePool pool) implements StreamLanes<Lane> {
        @Override
        public void prepareForWaits() {
            pool.fillForParking();
        }

        @Override
        public boolean stages() {
            return true;
        }

        @Override
        public Lane borrow() {
            return engine.borrowUnattendedLane();
        }

        @Override
        public Lane borrow(long context) {
            Lane lane = engine.borrowUnattendedLane();
            boolean prepared = false;
            try {
                lane.prepare(context, pool);
                prepared = true;
                return lane;
            } finally {
                if (!prepared) {
                    engine.giveBackUnattended(lane);
                }
            }
        }

        @Override
        public void giveBack(Lane lane) {
            engine.giveBackUnattended(lane);
        }
    }

    /** An operation of this session on one of its files. */
    private record Transfer(CompatSession session, CompatFile file, String function) implements StreamTransfer<Lane> {
        @Override
        public void begin() {
            file.beginOperation();
        }

        @Override
        public long move(Lane lane, BatchRequest request) {
            return session.perform(lane, request, function);
        }

        /** Managed memory is moved by processors. */
        @Override
        public boolean isStaged(MemoryRange memory) {
            return memory.kind().isCuda() && !memory.kind().isHost() && memory.kind() != MemoryKind.CUDA_MANAGED;
        }

        @Override
        public void check(BatchRequest request) {
            session.check(request, function);
        }

        @Override
        public long movePart(Lane lane, BatchRequest part, long operation, LongConsumer arrived) {
            return session.performPart(lane, part, function, operation, arrived);
        }

        @Override
        public void end() {
            file.endOperation();
        }

        @Override
        public void log(String message, RuntimeException failure) {
            session.log().error(message, failure);
        }
    }

    void register(long stream, int flags) {
        streams.register(stream, flags);
        session.log().log(Severity.DEBUG, "%s stream=0x%x flags=0x%x", "cuFileStreamRegister", stream, flags);
    }

    void deregister(long stream) {
        streams.deregister(stream);
    }

    /** Queues an operation; a stream that is not registered is registered without flags. */
    void submit(StreamRequest request, boolean write) {
        String function = write ? "cuFileWriteAsync" : "cuFileReadAsync";
        streams.checkSupported(function, request);
        CompatFile file = CompatFile.own(session, request.file(), function);
        streams.submit(function, request, write, new Transfer(session, file, function));
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
