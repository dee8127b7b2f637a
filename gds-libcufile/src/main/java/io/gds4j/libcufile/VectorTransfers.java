package io.gds4j.libcufile;

import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cufile.CuFileFunction;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.cufile.CuFileResults;
import io.gds4j.ffi.cufile.IoVec;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.guard.Transfers;
import io.gds4j.libcufile.process.CurrentContext;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.IoPath;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * {@code cuFileReadv} and {@code cuFileWritev} of one session. A call of the library moves ranges of one CUDA context that the file
 * serves directly, up to the end of the file. {@link Transfers} moves the rest, and what a call leaves, one range at a time. The
 * library's POSIX I/O gets no vector: it takes as long as single calls for 16 ranges and 0.1 s for 128.
 */
final class VectorTransfers {
    /** Most ranges of a call. The library answers EINVAL to more than 128, and the close of 1.20.0 never ends after 65 to 128. */
    private static final int MAX_RANGES = 64;

    private final CuFileLibrary library;
    private final Transfers transfers;
    private final Cuda cuda;

    VectorTransfers(CuFileLibrary library, Transfers transfers, Cuda cuda) {
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
    long run(Thread caller, LibraryFile file, Operation operation, List<MemoryRange> given, long fileOffset,
            int flags) {
        // The library aborts the process at a range of 0 bytes.
        List<MemoryRange> ranges = given.stream().filter(range -> range.length() > 0).toList();
        long total = total(ranges);
        long done = 0;
        int next = 0;
        while (next < ranges.size()) {
            List<MemoryRange> group = together(file, operation, ranges.subList(next, ranges.size()), fileOffset + done);
            long moved = 0;
            if (group.isEmpty()) {
                group = ranges.subList(next, next + 1);
            } else {
                moved = call(file, operation, group, fileOffset, done, total, flags);
            }
            long wanted = total(group);
            long start = 0;
            for (MemoryRange range : group) {
                long end = start + range.length();
                if (moved < end) {
                    long left = end - moved;
                    long more = single(caller, file, operation, range, moved - start, fileOffset, done + moved, total);
                    moved += more;
                    if (more < left) {
                        break;
                    }
                }
                start = end;
            }
            done += moved;
            if (moved < wanted) {
                break;
            }
            next += group.size();
        }
        return done;
    }

    private static long total(List<MemoryRange> ranges) {
        return ranges.stream().mapToLong(MemoryRange::length).sum();
    }

    /** Returns whether the library may get vectors of a file. */
    boolean serves(LibraryFile file) {
        return file.servedBy() != IoPath.LIBCUFILE_POSIX && library.has(CuFileFunction.READV);
    }

    /**
     * Returns the fragments of a range in the order of the file, as vectors name them; empty if they leave bytes out, hold some twice, or are
     * rows.
     */
    static List<MemoryRange> vector(long length, List<ScatterCopy> copies) {
        List<ScatterCopy> inOrder = new ArrayList<>(copies);
        inOrder.sort(Comparator.comparingLong(ScatterCopy::sourceOffset));
        List<MemoryRange> ranges = new ArrayList<>();
        long end = 0;
        for (ScatterCopy copy : inOrder) {
            if (copy.rows() > 1 || copy.sourceOffset() != end) {
                return List.of();
            }
            ranges.add(copy.destination().range().slice(copy.destinationOffset(), copy.width()));
            end = copy.sourceEnd();
        }
        return end == length ? ranges : List.of();
    }

    /** Returns the first ranges, which the library may get in one call. */
    private List<MemoryRange> together(LibraryFile file, Operation operation, List<MemoryRange> ranges,
            long fileOffset) {
        if (!serves(file)) {
            return List.of();
        }
        long context = transfers.contextOf(ranges.getFirst());
        long end = operation.isWrite() ? Long.MAX_VALUE : file.end();
        long at = fileOffset;
        int count = 0;
        for (MemoryRange range : ranges) {
            long from = at;
            at += range.length();
            if (at > end || count == MAX_RANGES || transfers.contextOf(range) != context
                    || !transfers.fitsVector(file, range, from)) {
                break;
            }
            count++;
        }
        return ranges.subList(0, count);
    }

    /** @param done bytes of the whole vector that were moved before */
    private long call(
            LibraryFile file, Operation operation, List<MemoryRange> ranges, long fileOffset, long done, long whole,
            int flags) {
        long size = total(ranges);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment vector = arena.allocate(IoVec.LAYOUT, ranges.size());
            for (int i = 0; i < ranges.size(); i++) {
                IoVec.write(vector, i, ranges.get(i).address(), ranges.get(i).length());
            }
            long moved = CurrentContext.with(
                    cuda,
                    transfers.contextOf(ranges.getFirst()),
                    () -> operation.isWrite()
                            ? library.writev(file.handle(), vector, ranges.size(), size, fileOffset + done, flags)
                            : library.readv(file.handle(), vector, ranges.size(), size, fileOffset + done, flags));
            if (moved < 0) {
                throw CuFileResults.failure(operation.function(), moved)
                        .path(file.path())
                        .range(fileOffset, whole)
                        .transferred(done)
                        .build();
            }
            file.countMoved(operation, moved);
            return moved;
        }
    }

    /** Moves the rest of one range; its failure becomes that of the whole vector. */
    private long single(
            Thread caller,
            LibraryFile file,
            Operation operation,
            MemoryRange range,
            long offset,
            long fileOffset,
            long done,
            long total) {
        try {
            return transfers.run(
                    caller, file, operation.single(), range, range.length() - offset, fileOffset + done, offset);
        } catch (CuFileException e) {
            CuFileException.Builder whole = CuFileException.builder(operation.function())
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
