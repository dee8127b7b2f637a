package io.gds4j.libcufile.guard;

import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.cufile.CuFileResults;
import io.gds4j.ffi.cufile.IoVec;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.process.CurrentContext;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * {@code cuFileReadv} and {@code cuFileWritev} of one session. One call of the library moves the first ranges, up to the end of
 * the file or to memory of another CUDA context. {@link Transfers} moves the rest, and what that call leaves, one range at a
 * time.
 */
public final class VectorTransfers {
    private final CuFileLibrary library;
    private final Transfers transfers;
    private final Cuda cuda;

    public VectorTransfers(CuFileLibrary library, Transfers transfers, Cuda cuda) {
        this.library = library;
        this.transfers = transfers;
        this.cuda = cuda;
    }

    /**
     * Moves bytes. The arguments are checked and the caller has entered the file. Not for virtual threads, see
     * {@link CurrentContext}.
     *
     * @param caller an interrupt of this thread ends the transfer
     * @return bytes moved; fewer than the ranges hold only at the end of the file
     */
    public long run(Thread caller, LibraryFile file, boolean write, List<MemoryRange> ranges, long fileOffset,
            int flags) {
        List<MemoryRange> together = together(file, write, ranges, fileOffset);
        long done = together.isEmpty() ? 0 : call(file, write, together, fileOffset, flags);
        long start = 0;
        for (MemoryRange range : ranges) {
            long end = start + range.length();
            if (done < end) {
                long wanted = end - done;
                long moved = single(caller, file, write, range, done - start, fileOffset, done, total(ranges));
                done += moved;
                if (moved < wanted) {
                    break;
                }
            }
            start = end;
        }
        return done;
    }

    private static long total(List<MemoryRange> ranges) {
        return ranges.stream().mapToLong(MemoryRange::length).sum();
    }

    /** Returns the first ranges, which the library may get in one call. */
    private List<MemoryRange> together(LibraryFile file, boolean write, List<MemoryRange> ranges, long fileOffset) {
        long context = transfers.contextOf(ranges.getFirst());
        long end = write ? Long.MAX_VALUE : file.end();
        long at = fileOffset;
        int count = 0;
        for (MemoryRange range : ranges) {
            at += range.length();
            if (at > end || transfers.contextOf(range) != context) {
                break;
            }
            count++;
        }
        return ranges.subList(0, count);
    }

    private long call(LibraryFile file, boolean write, List<MemoryRange> ranges, long fileOffset, int flags) {
        long size = total(ranges);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment vector = arena.allocate(IoVec.LAYOUT, ranges.size());
            for (int i = 0; i < ranges.size(); i++) {
                IoVec.write(vector, i, ranges.get(i).address(), ranges.get(i).length());
            }
            long moved = CurrentContext.with(
                    cuda,
                    transfers.contextOf(ranges.getFirst()),
                    () -> write
                            ? library.writev(file.handle(), vector, ranges.size(), size, fileOffset, flags)
                            : library.readv(file.handle(), vector, ranges.size(), size, fileOffset, flags));
            if (moved < 0) {
                throw CuFileResults.failure(function(write), moved).path(file.path()).range(fileOffset, size).build();
            }
            file.countMoved(moved);
            return moved;
        }
    }

    private static String function(boolean write) {
        return write ? "cuFileWritev" : "cuFileReadv";
    }

    /** Moves the rest of one range; its failure becomes that of the whole vector. */
    private long single(
            Thread caller,
            LibraryFile file,
            boolean write,
            MemoryRange range,
            long offset,
            long fileOffset,
            long done,
            long total) {
        try {
            return transfers.run(
                    caller, file, write, range, range.length() - offset, fileOffset + done, offset);
        } catch (CuFileException e) {
            CuFileException.Builder whole = CuFileException.builder(function(write))
                    .error(e.error())
                    .path(file.path())
                    .range(fileOffset, total)
                    .transferred(done + e.bytesTransferred())
                    .detail(e.detail())
                    .cause(e);
            e.errno().ifPresent(whole::errno);
            throw e instanceof CuFileInterruptedException ? whole.buildInterrupted() : whole.build();
        }
    }
}
