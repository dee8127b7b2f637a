package io.gds4j.libcufile.stream;

import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.engine.stream.PieceListener;
import io.gds4j.engine.stream.StreamTransfer;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.guard.Transfers;
import io.gds4j.libcufile.process.CurrentContext;
import io.gds4j.libcufile.process.Registrations;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.TransferArguments;
import io.gds4j.statistics.IoPath;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Moves the bytes of stream operations by the library without waiting for other streams, because those may wait for gds4j.
 * The library's own small copies between its slabs and a GPU do wait. So the library moves bytes between a file and GPU memory
 * only if it needs no such copy. Otherwise it moves them between a file and pinned memory of gds4j, whose own streams copy them.
 */
final class StagedTransfers {
    private final Transfers transfers;
    private final Registrations registrations;
    private final StagingPool pool;

    StagedTransfers(Transfers transfers, Registrations registrations, CudaContexts contexts) {
        this.transfers = transfers;
        this.registrations = registrations;
        this.pool = new StagingPool(contexts);
    }

    /** True for memory that a processor may copy. */
    static boolean isOfProcessors(MemoryKind kind) {
        return kind.isHost() || kind == MemoryKind.CUDA_MANAGED;
    }

    /**
     * Makes what transfers to memory of a context need beyond the copies of their own stream. Pass
     * {@link CurrentContext#NONE} for managed memory. Runs while no stream waits for gds4j.
     */
    void prepare(long context) {
        pool.prepare(context);
    }

    /** Checks the arguments that the operation's cells held. */
    static void check(LibraryFile file, BatchRequest request, String function) {
        TransferArguments.check(
                function,
                file,
                request.memory(),
                request.size(),
                request.fileOffset(),
                request.bufferOffset(),
                request.write());
    }

    /**
     * Moves a checked part between a file and pinned memory of gds4j, in pieces, so that the stream can copy each as it
     * arrives.
     */
    long movePart(LibraryFile file, BatchRequest part, PieceListener arrived) {
        long done = 0;
        boolean ended = false;
        while (done < part.size() && !ended) {
            long piece = Math.min(part.size() - done, StreamTransfer.PART_BYTES);
            long moved = transfers.runOwn(
                    part.memory(), file, part.write(), piece, part.fileOffset() + done, part.bufferOffset() + done);
            if (moved > 0) {
                arrived.arrived(done, moved);
            }
            done += moved;
            ended = moved < piece;
        }
        return done;
    }

    /** Moves the bytes of an operation, with the arguments that its cells held. The caller has entered the file. */
    long move(LibraryFile file, BatchRequest request, String function) {
        check(file, request, function);
        MemoryRange memory = request.memory();
        if (request.size() == 0) {
            return 0;
        }
        // No registration is taken back while a stream waits for gds4j.
        Registrations.Registration registration = registrations.enter(memory.address());
        try {
            if (needsNoCopy(file, request, registration)) {
                return transfers.runRegistered(registration, file, request);
            }
        } finally {
            if (registration != null) {
                registration.exit();
            }
        }
        StagingSlab slab = pool.acquire();
        try {
            return request.write() ? write(slab, file, request) : read(slab, file, request);
        } finally {
            pool.release(slab);
        }
    }

    /** The library copies what is unaligned or not registered, and all of a file that it serves by POSIX I/O. */
    private static boolean needsNoCopy(
            LibraryFile file, BatchRequest request, Registrations.@Nullable Registration registration) {
        if (request.memory().kind().isHost()) {
            return true;
        }
        long address = request.memory().address() + request.bufferOffset();
        return file.servedBy() != IoPath.LIBCUFILE_POSIX
                && registration != null
                && request.bufferOffset() + request.size() <= registration.length()
                && Transfers.isPageAligned(address | request.fileOffset() | request.size());
    }

    private long read(StagingSlab slab, LibraryFile file, BatchRequest request) {
        StagingSlab.@Nullable Copies copies = copies(slab, request.memory());
        long done = 0;
        try {
            boolean ended = false;
            for (int half = 0; done < request.size() && !ended; half ^= 1) {
                if (copies != null) {
                    copies.await(half);
                }
                MemoryRange room = slab.half(half);
                long piece = Math.min(request.size() - done, room.length());
                long moved = transfers.runOwn(room, file, false, piece, request.fileOffset() + done, 0);
                copyOut(copies, half, room.address(), address(request, done), moved);
                done += moved;
                ended = moved < piece;
            }
        } finally {
            if (copies != null) {
                copies.awaitAll();
            }
        }
        return done;
    }

    private long write(StagingSlab slab, LibraryFile file, BatchRequest request) {
        StagingSlab.@Nullable Copies copies = copies(slab, request.memory());
        MemoryRange room = slab.half(0);
        long done = 0;
        while (done < request.size()) {
            long piece = Math.min(request.size() - done, room.length());
            if (copies == null) {
                copy(room.address(), address(request, done), piece);
            } else {
                copies.fromGpu(room.address(), address(request, done), piece);
            }
            done += transfers.runOwn(room, file, true, piece, request.fileOffset() + done, 0);
        }
        return done;
    }

    private static long address(BatchRequest request, long done) {
        return request.memory().address() + request.bufferOffset() + done;
    }

    private StagingSlab.@Nullable Copies copies(StagingSlab slab, MemoryRange memory) {
        return isOfProcessors(memory.kind()) ? null : slab.copies(transfers.contextOf(memory));
    }

    private static void copyOut(
            StagingSlab.@Nullable Copies copies, int half, long from, long to, long bytes) {
        if (bytes == 0) {
            return;
        }
        if (copies == null) {
            copy(to, from, bytes);
        } else {
            copies.toGpu(half, to, from, bytes);
        }
    }

    private static void copy(long to, long from, long bytes) {
        MemorySegment.copy(
                HostMemoryViews.ofAddress(from, bytes), 0, HostMemoryViews.ofAddress(to, bytes), 0, bytes);
    }

    /** Frees all slabs; none is in use. */
    void close() {
        pool.close();
    }
}
