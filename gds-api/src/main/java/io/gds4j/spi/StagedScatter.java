package io.gds4j.spi;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Scatters a file range by plain reads and copies. What a destination receives without gaps is read straight into it, and copied
 * from there to the others; the destinations take turns. All else is read into {@link CuFileBackend#stage}. Used by one thread.
 */
final class StagedScatter implements AutoCloseable {
    private static final long PAGE = 4096;
    /** Most bytes that are read at a time into a destination from which others are copied. */
    private static final long PIECE = 16L << 20;
    /** Fewest bytes that are worth a read of their own. */
    private static final long LEAST = 1L << 20;

    private final CuFileBackend backend;
    private final BackendFile file;
    private final long fileOffset;
    private final long length;
    private final List<ScatterCopy> copies;
    private @Nullable MemoryAllocation stage;
    private int turn;

    private StagedScatter(
            CuFileBackend backend, BackendFile file, long fileOffset, long length, List<ScatterCopy> copies) {
        this.backend = backend;
        this.file = file;
        this.fileOffset = fileOffset;
        this.length = length;
        this.copies = copies;
    }

    static long read(
            CuFileBackend backend, BackendFile file, long fileOffset, long length, List<ScatterCopy> copies) {
        try (StagedScatter scatter = new StagedScatter(backend, file, fileOffset, length, copies)) {
            return scatter.run();
        }
    }

    private long run() {
        long done = 0;
        while (done < length) {
            if (Thread.currentThread().isInterrupted()) {
                throw failure(done).error(CuFileError.IO_ERROR).errno(Errno.EINTR).detail("interrupted")
                        .buildInterrupted();
            }
            ScatterCopy owner = owner(done);
            MemoryRange memory = owner == null ? stage(done) : owner.destination().range();
            long offset = owner == null ? 0 : owner.destinationOffset() + done - owner.sourceOffset();
            long end = Math.min(length, owner == null ? nextDense(done) : owner.sourceEnd());
            long asked = pieceEnd(done, end, owner == null ? memory.length() : PIECE) - done;
            long read = piece(memory, offset, done, asked);
            if (read > 0) {
                MemoryRange source = memory.slice(offset, read);
                for (ScatterCopy copy : copies) {
                    if (copy != owner) {
                        copy(source, copy, done, read);
                    }
                }
            }
            done += read;
            if (read < asked) {
                break;
            }
        }
        return done;
    }

    /** Cuts at pages of the file, up to which a backend may read past the page cache. */
    private long pieceEnd(long from, long end, long most) {
        if (end - from <= most) {
            return end;
        }
        long cut = (fileOffset + from + most & -PAGE) - fileOffset;
        return cut > from ? cut : from + most;
    }

    private boolean isDense(ScatterCopy copy) {
        return copy.rows() == 1 && copy.width() >= Math.min(LEAST, length);
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

    private long piece(MemoryRange memory, long offset, long done, long asked) {
        try {
            return backend.read(file, memory, asked, fileOffset + done, offset);
        } catch (CuFileException e) {
            CuFileException.Builder whole = failure(done).error(e.error()).detail(e.detail()).cause(e);
            e.errno().ifPresent(whole::errno);
            throw e instanceof CuFileInterruptedException ? whole.buildInterrupted() : whole.build();
        }
    }

    private CuFileException.Builder failure(long done) {
        return CuFileException.builder("cuFileRead").path(file.path()).range(fileOffset, length).transferred(done);
    }

    private void copy(MemoryRange source, ScatterCopy copy, long from, long bytes) {
        MemoryRange to = copy.destination().range();
        copy.forPart(from, bytes, (offset, width, rows, destinationOffset) -> {
            long sourcePitch = rows == 1 ? width : copy.sourcePitch();
            long targetPitch = rows == 1 ? width : copy.destinationPitch();
            backend.allocator().copyRows(
                    source.slice(offset, (rows - 1) * sourcePitch + width),
                    sourcePitch,
                    to.slice(destinationOffset, (rows - 1) * targetPitch + width),
                    targetPitch,
                    width,
                    rows);
        });
    }

    @Override
    public void close() {
        if (stage != null) {
            stage.close();
        }
    }
}
