package io.gds4j.libcufile.stream;

import io.gds4j.HostStream;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.engine.stream.RegisteredStreams;
import io.gds4j.engine.stream.StreamMover;
import io.gds4j.engine.stream.StreamMover.PieceListener;
import io.gds4j.engine.stream.StreamMovers;
import io.gds4j.engine.stream.StreamTransfer;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.guard.Transfers;
import io.gds4j.libcufile.process.CurrentContext;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.libcufile.process.Registrations;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.spi.StreamRequest;
import io.gds4j.statistics.IoPath;
import java.lang.System.Logger.Level;
import java.util.Optional;

/**
 * The streams of one session and their operations. gds4j keeps the order of the streams, and the library moves the bytes; so
 * cuFile's promises hold, and host streams work, too.
 */
public final class SessionStreams {
    private final CudaContexts contexts;
    private final Transfers transfers;
    private final Registrations registrations;
    private final StagedTransfers staged;
    private final RegisteredStreams streams;

    public SessionStreams(OpenLibrary openLibrary, CudaContexts contexts, Transfers transfers) {
        this.contexts = contexts;
        this.transfers = transfers;
        this.registrations = openLibrary.registrations();
        this.staged = new StagedTransfers(transfers, registrations, contexts);
        this.streams = new RegisteredStreams(
                Optional.of(contexts), new Movers(new Mover(staged)), openLibrary.settings().allowsStreams());
    }

    /** Lends all streams the same mover. */
    private record Movers(Mover mover) implements StreamMovers {
        @Override
        public Optional<PreparedGpu> prepareForWaits(long context) {
            return Optional.empty(); // submit prepares for the context of the memory
        }

        @Override
        public boolean stages() {
            return true;
        }

        @Override
        public StreamMover borrow() {
            return mover;
        }

    }

    /** Moves bytes; keeps nothing between operations, so that all threads may use it. */
    private record Mover(StagedTransfers staged) implements StreamMover {
        @Override
        public long move(BatchRequest request) {
            return staged.move((LibraryFile) request.file(), request);
        }

        @Override
        public long movePart(BatchRequest part, long operation, PieceListener arrived) {
            return staged.movePart((LibraryFile) part.file(), part, arrived);
        }

        @Override
        public void giveBack() {
            // all streams share it
        }
    }

    /** An operation of this session. It enters its file when it begins and exits it when it ends. */
    private record Queued(LibraryFile file, String function, boolean direct) implements StreamTransfer {
        @Override
        public void begin() {
            if (!file.enter()) {
                throw file.refused(function);
            }
        }

        /** Returns false for memory that a direct transfer may reach, and for managed memory, which processors copy. */
        @Override
        public boolean isStaged(MemoryRange memory) {
            return !direct && !StagedTransfers.isOfProcessors(memory.kind());
        }

        @Override
        public void check(BatchRequest request) {
            StagedTransfers.check(file, request, function);
        }

        @Override
        public void end() {
            file.exit();
        }

        @Override
        public void log(String message, RuntimeException failure) {
            System.getLogger("io.gds4j.libcufile").log(Level.ERROR, message, failure);
        }
    }

    public void register(long stream, int flags) {
        streams.register(stream, flags);
    }

    /** Waits for the operations of a stream, then forgets the stream. */
    public void deregister(long stream) {
        streams.deregister(stream);
    }

    /**
     * Queues a transfer; the caller has entered the file.
     *
     * @throws io.gds4j.error.CuFileException if it could not be queued; nothing has changed then
     */
    public void submit(LibraryFile file, Operation operation, StreamRequest request) {
        String function = operation.function();
        streams.checkSupported(function, request);
        boolean scattered = !request.copies().isEmpty();
        boolean isHostStream = HostStream.find(request.stream()).isPresent();
        Queued queued = new Queued(file, function, !scattered && mayGoDirectly(file, request.memory()));
        for (MemoryRange memory : request.memories()) {
            if (memory.kind() == MemoryKind.CUDA_MANAGED || scattered && memory.kind().isHost()) {
                staged.prepare(CurrentContext.NONE);
            } else if (!memory.kind().isHost()) {
                long context = transfers.contextOf(memory);
                if (scattered || isHostStream || !queued.isStaged(memory) || !isOf(context, request.stream())) {
                    staged.prepare(context);
                }
            }
        }
        streams.submit(operation, request, queued);
    }

    /** True if the stream belongs to this context. The special streams belong to any. */
    private boolean isOf(long context, long stream) {
        long[] own = new long[1];
        return stream > RegisteredStreams.LAST_SPECIAL_STREAM
                && contexts.cuda().streamGetCtx(stream, own) == Cuda.SUCCESS
                && own[0] == context;
    }

    /** Returns false if no direct transfer is possible. Alignment is known only when the stream reaches the operation. */
    private boolean mayGoDirectly(LibraryFile file, MemoryRange memory) {
        return file.servedBy() != IoPath.LIBCUFILE_POSIX && registrations.find(memory.address()) != null;
    }

    /** True while operations are pending. */
    public boolean isBusy() {
        return streams.pending() > 0;
    }

    /** Releases all waiting streams, although operations are pending: the process ends. */
    public void releaseForExit() {
        streams.releaseForExit();
    }

    /** Waits for all operations, then forgets all streams. */
    public void close() {
        streams.close();
        staged.close();
    }
}
