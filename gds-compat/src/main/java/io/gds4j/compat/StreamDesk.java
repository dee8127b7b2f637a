package io.gds4j.compat;

import io.gds4j.compat.SessionLog.Severity;
import io.gds4j.engine.stream.RegisteredStreams;
import io.gds4j.engine.stream.StreamMover;
import io.gds4j.engine.stream.StreamMovers;
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
    private final RegisteredStreams streams;

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
        this.streams = new RegisteredStreams(contexts, new Movers(session, engine, pool), parallel);
    }

    private static String function(boolean write) {
        return write ? "cuFileWriteAsync" : "cuFileReadAsync";
    }

    /** Lends movers with a lane of their own, for which no caller waits. */
    private record Movers(CompatSession session, TransferEngine engine, BouncePool pool) implements StreamMovers {
        @Override
        public void prepareForWaits() {
            pool.fillForParking();
        }

        @Override
        public boolean stages() {
            return true;
        }

        @Override
        public StreamMover borrow() {
            return new Mover(session, engine, engine.borrowUnattendedLane());
        }

        @Override
        public StreamMover borrow(long context) {
            Lane lane = engine.borrowUnattendedLane();
            boolean prepared = false;
            try {
                lane.prepare(context, pool);
                prepared = true;
                return new Mover(session, engine, lane);
            } finally {
                if (!prepared) {
                    engine.giveBackUnattended(lane);
                }
            }
        }
    }

    /** Moves bytes with its lane. */
    private record Mover(CompatSession session, TransferEngine engine, Lane lane) implements StreamMover {
        @Override
        public long move(BatchRequest request) {
            return session.perform(lane, request, function(request.write()));
        }

        @Override
        public long movePart(BatchRequest part, long operation, LongConsumer arrived) {
            return session.performPart(lane, part, function(part.write()), operation, arrived);
        }

        @Override
        public void giveBack() {
            engine.giveBackUnattended(lane);
        }
    }

    /** An operation of this session on one of its files. */
    private record Transfer(CompatSession session, CompatFile file, String function) implements StreamTransfer {
        @Override
        public void begin() {
            file.beginOperation();
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
        String function = function(write);
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
