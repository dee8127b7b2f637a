package io.gds4j.spi;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.util.List;

/** Scatters a file range by plain reads into host memory and copies from there, for backends without a faster way. */
final class StagedScatter {
    /** Bytes that are read at a time. */
    private static final long PIECE = 4L << 20;

    private StagedScatter() {
    }

    static long read(
            CuFileBackend backend, BackendFile file, long fileOffset, long length, List<ScatterCopy> copies) {
        if (length == 0) {
            return 0;
        }
        MemoryAllocator allocator = backend.allocator();
        boolean cuda = copies.stream().anyMatch(copy -> copy.destination().range().kind().isCuda());
        MemoryKind kind = cuda && allocator.supports(MemoryKind.HOST_PINNED) ? MemoryKind.HOST_PINNED : MemoryKind.HOST;
        try (MemoryAllocation stage = allocator.allocate(kind, Math.min(length, PIECE))) {
            long done = 0;
            while (done < length) {
                if (Thread.currentThread().isInterrupted()) {
                    throw failure(file, fileOffset, length, done)
                            .error(CuFileError.IO_ERROR)
                            .errno(Errno.EINTR)
                            .detail("interrupted")
                            .buildInterrupted();
                }
                long asked = Math.min(PIECE, length - done);
                long read = piece(backend, file, stage.range(), fileOffset, length, done, asked);
                for (ScatterCopy copy : copies) {
                    copy(allocator, stage.range(), copy, done, read);
                }
                done += read;
                if (read < asked) {
                    break;
                }
            }
            return done;
        }
    }

    private static long piece(
            CuFileBackend backend, BackendFile file, MemoryRange stage, long fileOffset, long length, long done,
            long asked) {
        try {
            return backend.read(file, stage, asked, fileOffset + done, 0);
        } catch (CuFileException e) {
            CuFileException.Builder whole = failure(file, fileOffset, length, done)
                    .error(e.error())
                    .detail(e.detail())
                    .cause(e);
            e.errno().ifPresent(whole::errno);
            throw e instanceof CuFileInterruptedException ? whole.buildInterrupted() : whole.build();
        }
    }

    private static CuFileException.Builder failure(BackendFile file, long fileOffset, long length, long done) {
        return CuFileException.builder("cuFileRead").path(file.path()).range(fileOffset, length).transferred(done);
    }

    private static void copy(MemoryAllocator allocator, MemoryRange stage, ScatterCopy copy, long from, long length) {
        MemoryRange to = copy.destination().range();
        copy.forPart(from, length, (offset, width, rows, destinationOffset) -> {
            long source = rows == 1 ? width : copy.sourcePitch();
            long target = rows == 1 ? width : copy.destinationPitch();
            allocator.copyRows(
                    stage.slice(offset, (rows - 1) * source + width),
                    source,
                    to.slice(destinationOffset, (rows - 1) * target + width),
                    target,
                    width,
                    rows);
        });
    }
}
