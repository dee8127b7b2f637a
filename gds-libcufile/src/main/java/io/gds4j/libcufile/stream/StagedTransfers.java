package io.gds4j.libcufile.stream;

import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.engine.staging.CopyLane;
import io.gds4j.engine.stream.RequestParts;
import io.gds4j.engine.stream.StreamMover.PieceListener;
import io.gds4j.engine.stream.StreamTransfer;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
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
    private final CudaContexts contexts;
    private final Transfers transfers;
    private final Registrations registrations;
    private final StagingPool pool;

    StagedTransfers(Transfers transfers, Registrations registrations, CudaContexts contexts) {
        this.transfers = transfers;
        this.registrations = registrations;
        this.contexts = contexts;
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
                request.copies().isEmpty() ? request.size() : 0, // fragments lie in their memories
                request.fileOffset(),
                request.bufferOffset(),
                request.operation());
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
            long moved = runOwn(part.memory(), part.bufferOffset() + done, file, part, done, piece);
            if (moved > 0) {
                arrived.arrived(done, moved);
            }
            done += moved;
            ended = moved < piece;
        }
        return done;
    }

    /** Moves the bytes of an operation, with the checked arguments that its cells held. The caller has entered the file. */
    long move(LibraryFile file, BatchRequest request) {
        MemoryRange memory = request.memory();
        if (request.size() == 0) {
            return 0;
        }
        if (!request.copies().isEmpty()) {
            StagingSlab slab = pool.acquire();
            try {
                return scattered(slab, file, request);
            } finally {
                pool.release(slab);
            }
        }
        // No registration is taken back while a stream waits for gds4j.
        Registrations.Registration registration = registrations.enter(memory.address());
        try {
            if (needsNoCopy(file, request, registration)) {
                long moved = transfers.runRegistered(registration, file, request);
                file.report(request, 0, moved);
                return moved;
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

    /** Moves a range of the file between a slab and fragments, a piece after the other. */
    private long scattered(StagingSlab slab, LibraryFile file, BatchRequest request) {
        MemoryRange room = slab.half(0);
        long done = 0;
        boolean ended = false;
        while (done < request.size() && !ended) {
            long piece = Math.min(request.size() - done, room.length());
            if (request.write()) {
                copyFragments(slab, request, done, piece);
            }
            long moved = runOwn(room, 0, file, request, done, piece);
            if (!request.write()) {
                copyFragments(slab, request, done, moved);
            }
            done += moved;
            ended = moved < piece;
        }
        return done;
    }

    private void copyFragments(StagingSlab slab, BatchRequest request, long from, long bytes) {
        long room = slab.half(0).address();
        RequestParts.forEach(request, from, bytes, (memory, address, offset, length) -> {
            CopyLane lane = lane(slab, memory);
            if (lane == null) {
                copy(request.write() ? room + offset : address, request.write() ? address : room + offset, length);
            } else if (request.write()) {
                fill(lane, room + offset, address, length);
            } else {
                try {
                    check("cuMemcpyHtoDAsync", lane.copyToGpu(0, address, room + offset, length));
                } finally {
                    await(lane, 0);
                }
            }
        });
    }

    private long read(StagingSlab slab, LibraryFile file, BatchRequest request) {
        CopyLane lane = lane(slab, request.memory());
        long done = 0;
        try {
            boolean ended = false;
            for (int half = 0; done < request.size() && !ended; half ^= 1) {
                await(lane, half);
                MemoryRange room = slab.half(half);
                long piece = Math.min(request.size() - done, room.length());
                long moved = runOwn(room, 0, file, request, done, piece);
                if (lane == null) {
                    copy(address(request, done), room.address(), moved);
                } else if (moved > 0) {
                    check("cuMemcpyHtoDAsync", lane.copyToGpu(half, address(request, done), room.address(), moved));
                }
                done += moved;
                ended = moved < piece;
            }
        } finally {
            try {
                await(lane, 0);
            } finally {
                await(lane, 1);
            }
        }
        return done;
    }

    private long write(StagingSlab slab, LibraryFile file, BatchRequest request) {
        CopyLane lane = lane(slab, request.memory());
        MemoryRange room = slab.half(0);
        long done = 0;
        while (done < request.size()) {
            long piece = Math.min(request.size() - done, room.length());
            if (lane == null) {
                copy(room.address(), address(request, done), piece);
            } else {
                fill(lane, room.address(), address(request, done), piece);
            }
            done += runOwn(room, 0, file, request, done, piece);
        }
        return done;
    }

    /** Moves a piece of a request between the file and memory of gds4j, and reports it. */
    private long runOwn(MemoryRange own, long offset, LibraryFile file, BatchRequest request, long start, long bytes) {
        long moved =
                transfers.runOwn(own, file, request.operation(), bytes, request.fileOffset() + start, offset);
        file.report(request, start, moved);
        return moved;
    }

    /** Fills the first half from a GPU. A copy that failed may have moved a part: its failure is reported after the wait. */
    private void fill(CopyLane lane, long to, long from, long bytes) {
        try {
            check("cuMemcpyDtoHAsync", lane.copyToHost(0, to, from, bytes));
        } finally {
            await(lane, 0);
        }
    }

    private void await(@Nullable CopyLane lane, int half) {
        if (lane != null) {
            check("cuEventSynchronize", lane.finish(half, TransferCosts.HALF_SPIN_NANOS));
        }
    }

    private void check(String function, int result) {
        CudaErrors.check(contexts.cuda(), function, result);
    }

    private static long address(BatchRequest request, long done) {
        return request.memory().address() + request.bufferOffset() + done;
    }

    /** Returns what copies to a GPU; null where a processor copies. */
    private @Nullable CopyLane lane(StagingSlab slab, MemoryRange memory) {
        return isOfProcessors(memory.kind()) ? null : slab.lane(transfers.contextOf(memory));
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
