package io.gds4j.spi;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.internal.file.Pages;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Moves a file range from or to fragments of memory by plain reads or writes, and copies. What a destination receives without gaps is
 * read straight into it, and copied from there to the others; the destinations take turns. All else is read into
 * {@link CuFileBackend#stage}. Writes go the other way. Used by one thread.
 */
final class StagedScatter implements AutoCloseable {
    /** Most bytes that are read at a time into a destination from which others are copied. */
    private static final long PIECE = 16L << 20;
    /** Fewest bytes that are worth a read of their own. */
    private static final long MIN_BYTES = 1L << 20;

    private final CuFileBackend backend;
    private final BackendFile file;
    private final Operation operation;
    private final long fileOffset;
    private final long length;
    private final List<ScatterCopy> copies;
    private @Nullable MemoryAllocation stage;
    private int turn;

    private StagedScatter(
            CuFileBackend backend, BackendFile file, Operation operation, long fileOffset, long length,
            List<ScatterCopy> copies) {
        this.backend = backend;
        this.file = file;
        this.operation = operation;
        this.fileOffset = fileOffset;
        this.length = length;
        this.copies = copies;
    }

    /** Serves a request by plain calls, and reports its bytes under the path of the file. */
    static long transfer(CuFileBackend backend, BatchRequest request) {
        long moved = 0;
        try {
            moved = move(backend, request);
            return moved;
        } catch (CuFileException e) {
            moved = e.bytesTransferred();
            throw e;
        } finally {
            if (moved > 0 && request.sink() != ResultSink.NONE) {
                request.sink().moved(request.file().ioPath().path(), request.fileOffset(), moved);
            }
        }
    }

    private static long move(CuFileBackend backend, BatchRequest request) {
        BackendFile file = request.file();
        long size = request.size();
        long fileOffset = request.fileOffset();
        if (request.copies().isEmpty()) {
            return request.write()
                    ? backend.write(file, request.memory(), size, fileOffset, request.bufferOffset())
                    : backend.read(file, request.memory(), size, fileOffset, request.bufferOffset());
        }
        try (StagedScatter scatter =
                new StagedScatter(backend, file, request.operation(), fileOffset, size, request.copies())) {
            return scatter.run();
        }
    }

    private long run() {
        long done = 0;
        long moved = 0;
        long asked = 0;
        while (done < length && moved == asked) {
            if (Thread.currentThread().isInterrupted()) {
                throw failure(done).error(CuFileError.IO_ERROR).errno(Errno.EINTR).detail("interrupted")
                        .buildInterrupted();
            }
            try {
                ScatterCopy owner = owner(done);
                MemoryRange memory = owner == null ? stage(done) : owner.destination().range();
                long offset = owner == null ? 0 : owner.destinationOffset() + done - owner.sourceOffset();
                long end = Math.min(length, owner == null ? nextDense(done) : owner.sourceEnd());
                asked = pieceEnd(done, end, owner == null ? memory.length() : PIECE) - done;
                moved = piece(memory, offset, owner, done, asked);
            } catch (CuFileException e) {
                throw whole(done, e);
            }
            done += moved;
        }
        return done;
    }

    private long piece(MemoryRange memory, long offset, @Nullable ScatterCopy owner, long done, long asked) {
        if (operation.isWrite()) {
            copyToOrFrom(memory.slice(offset, asked), owner, done, asked);
            return backend.write(file, memory, asked, fileOffset + done, offset);
        }
        long read = backend.read(file, memory, asked, fileOffset + done, offset);
        if (read > 0) {
            copyToOrFrom(memory.slice(offset, read), owner, done, read);
        }
        return read;
    }

    /** Returns the failure of a piece as one of the whole. The other fragments have nothing of a read that failed. */
    private CuFileException whole(long done, CuFileException e) {
        CuFileException.Builder whole = failure(done + (operation.isWrite() ? e.bytesTransferred() : 0))
                .error(e.error())
                .detail(e.detail())
                .cause(e);
        e.errno().ifPresent(whole::errno);
        return e instanceof CuFileInterruptedException ? whole.buildInterrupted() : whole.build();
    }

    /** Copies a part of the range between its memory and the fragments other than the owner. */
    private void copyToOrFrom(MemoryRange part, @Nullable ScatterCopy owner, long from, long bytes) {
        for (ScatterCopy copy : copies) {
            if (copy != owner) {
                copy(part, copy, from, bytes);
            }
        }
    }

    /** Cuts at pages of the file, up to which a backend may read past the page cache. */
    private long pieceEnd(long from, long end, long most) {
        if (end - from <= most) {
            return end;
        }
        long cut = Pages.down(fileOffset + from + most) - fileOffset;
        return cut > from ? cut : from + most;
    }

    private boolean isDense(ScatterCopy copy) {
        return copy.rows() == 1 && copy.width() >= Math.min(MIN_BYTES, length);
    }

    /** Returns the copy whose destination receives the next bytes from the file; null if they must be staged. */
    private @Nullable ScatterCopy owner(long at) {
        ScatterCopy host = null;
        int gpus = 0;
        for (ScatterCopy copy : copies) {
            if (isOwner(copy, at)) {
                boolean gpu = isGpu(copy);
                gpus += gpu ? 1 : 0;
                host = gpu || host != null ? host : copy;
            }
        }
        if (gpus == 0) {
            return host;
        }
        int wanted = turn++ % gpus;
        for (ScatterCopy copy : copies) {
            if (isOwner(copy, at) && isGpu(copy) && wanted-- == 0) {
                return copy;
            }
        }
        throw new AssertionError(wanted);
    }

    private boolean isOwner(ScatterCopy copy, long at) {
        return isDense(copy) && copy.sourceOffset() <= at && at < copy.sourceEnd();
    }

    private static boolean isGpu(ScatterCopy copy) {
        return copy.destination().range().kind().isCuda();
    }

    private long nextDense(long at) {
        long next = Long.MAX_VALUE;
        for (ScatterCopy copy : copies) {
            if (isDense(copy) && copy.sourceOffset() > at) {
                next = Math.min(next, copy.sourceOffset());
            }
        }
        return next;
    }

    /** Returns memory near the first GPU that receives bytes from here on, or near the host. */
    private MemoryRange stage(long at) {
        MemoryAllocation known = stage;
        if (known == null) {
            ScatterCopy near = copies.getFirst();
            for (ScatterCopy copy : copies) {
                boolean sooner = !isGpu(near) || near.sourceEnd() <= at || copy.sourceOffset() < near.sourceOffset();
                near = isGpu(copy) && copy.sourceEnd() > at && sooner ? copy : near;
            }
            known = backend.stage(near.destination().range(), length - at);
            stage = known;
        }
        return known.range();
    }

    private CuFileException.Builder failure(long done) {
        return CuFileException.builder(operation.function()).path(file.path()).range(fileOffset, length)
                .transferred(done);
    }

    private void copy(MemoryRange part, ScatterCopy copy, long from, long bytes) {
        MemoryRange to = copy.destination().range();
        copy.forPart(from, bytes, (offset, width, rows, destinationOffset) -> {
            long partPitch = rows == 1 ? width : copy.sourcePitch();
            long fragmentPitch = rows == 1 ? width : copy.destinationPitch();
            MemoryRange inPart = part.slice(offset, (rows - 1) * partPitch + width);
            MemoryRange fragment = to.slice(destinationOffset, (rows - 1) * fragmentPitch + width);
            if (operation.isWrite()) {
                backend.allocator().copyRows(fragment, fragmentPitch, inPart, partPitch, width, rows);
            } else {
                backend.allocator().copyRows(inPart, partPitch, fragment, fragmentPitch, width, rows);
            }
        });
    }

    @Override
    public void close() {
        if (stage != null) {
            stage.close();
        }
    }
}
