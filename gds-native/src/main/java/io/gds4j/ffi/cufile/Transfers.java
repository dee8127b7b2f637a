package io.gds4j.ffi.cufile;

import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import io.gds4j.statistics.IoPath;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * {@code cuFileRead} and {@code cuFileWrite} of one session: one downcall for a request in the usual case, more where the
 * library stops short. Allocates nothing.
 */
final class Transfers {
    /** Between pieces of this size the interrupt flag is looked at; the library cannot be interrupted. */
    private static final long PIECE = 1L << 30;
    private static final long KIB = 1024;
    private static final long PAGE = 4096;
    /** GPU memory at odd offsets in larger pieces than the library's largest slab fails with INVALID_MAPPING_RANGE. */
    private static final long ODD_PIECE = 4L << 20;

    private final CuFileLibrary library;
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final Registrations registrations;
    private final SessionBuffers buffers;
    private final KnownContexts known;
    private final long slabPiece;
    private volatile long largestPiece = PIECE;

    Transfers(Opening opening, CudaContexts contexts, SessionBuffers buffers) {
        this.library = opening.library();
        this.registrations = opening.registrations();
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.buffers = buffers;
        this.known = new KnownContexts(contexts);
        this.slabPiece = slabPiece(opening.settings());
    }

    /**
     * By POSIX I/O the library moves GPU memory through a slab for each max_direct_io_size, and fails with ENOMEM if none is that
     * large. Where one is, it is left to cut by itself, which it does on several threads.
     */
    private static long slabPiece(LibrarySettings settings) {
        long largestKb = settings.posixPoolSlabs().sizesKb().stream().mapToLong(Long::longValue).max().orElse(0);
        return largestKb > 0 && largestKb < settings.get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB) ? largestKb * KIB : PIECE;
    }

    /** No piece is larger than so many bytes from now on. */
    void cutAt(long bytes) {
        largestPiece = bytes;
    }

    /**
     * Moves bytes; the file is entered, the arguments are checked. Not for virtual threads: see {@link CurrentContext}.
     *
     * @param caller whose interrupt ends it
     * @return bytes moved; fewer than {@code size} only at the end of the file
     */
    long run(
            Thread caller,
            LibraryFile file,
            boolean write,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset) {
        long context = contextOf(base);
        boolean pushed = CurrentContext.push(cuda, context);
        try {
            Registrations.Registration registration = enterRegistration(base.address());
            try {
                return pieces(caller, registration, file, write, base, size, fileOffset, bufferOffset);
            } finally {
                if (registration != null) {
                    registration.exit();
                }
            }
        } finally {
            if (pushed) {
                CurrentContext.pop(cuda);
            }
        }
    }

    /**
     * Moves bytes between a file and memory of our own, which nobody registers. Waits for nobody who registers other memory.
     */
    long runOwn(
            MemoryRange own, LibraryFile file, boolean write, long size, long fileOffset, long bufferOffset) {
        boolean pushed = CurrentContext.push(cuda, contextOf(own));
        try {
            return pieces(Thread.currentThread(), null, file, write, own, size, fileOffset, bufferOffset);
        } finally {
            if (pushed) {
                CurrentContext.pop(cuda);
            }
        }
    }

    /** As {@link #run}, by a registration that the caller is inside of, or none. Waits for nobody who registers other memory. */
    long runRegistered(Registrations.@Nullable Registration registration, LibraryFile file, BatchRequest request) {
        boolean pushed = CurrentContext.push(cuda, contextOf(request.memory()));
        try {
            return pieces(
                    Thread.currentThread(),
                    registration,
                    file,
                    request.write(),
                    request.memory(),
                    request.size(),
                    request.fileOffset(),
                    request.bufferOffset());
        } finally {
            if (pushed) {
                CurrentContext.pop(cuda);
            }
        }
    }

    /** The context that must be current for I/O on this memory, or {@link CurrentContext#NONE}. */
    long contextOf(MemoryRange memory) {
        return switch (memory.kind()) {
            case HOST, HOST_HUGEPAGE -> CurrentContext.NONE;
            // Any will do.
            case HOST_PINNED, HOST_REGISTERED -> contexts.primary(0);
            case CUDA_DEVICE, CUDA_MANAGED, CUDA_POOL, CUDA_VMM -> known.contextOf(memory);
        };
    }

    private Registrations.@Nullable Registration enterRegistration(long base) {
        buffers.showToLibrary(base);
        return registrations.enter(base);
    }

    /**
     * One method, too long to be inlined: in smaller ones the JIT compiler made a single one of all that a read does, and then no
     * longer left out a segment that FFM makes for each call, 40 bytes a read.
     */
    private long pieces(
            Thread caller,
            Registrations.@Nullable Registration registration,
            LibraryFile file,
            boolean write,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset) {
        boolean writesBehind = !write && (file.isDirect() || !base.kind().isHost());
        boolean throughSlabs = file.servedBy() == IoPath.LIBCUFILE_POSIX && !base.kind().isHost();
        boolean alignsAddress = file.isDirect() && base.kind().isHost();
        long done = 0;
        while (done < size) {
            if (caller.isInterrupted()) {
                file.countMoved(done);
                throw failure(CuFileException.builder(function(write)), file, fileOffset, size, done)
                        .error(CuFileError.IO_ERROR)
                        .detail("interrupted")
                        .buildInterrupted();
            }
            long piece = Math.min(size - done, largestPiece);
            if (piece > ODD_PIECE && !base.kind().isHost() && !isPageAligned((fileOffset + done) | piece)) {
                piece = ODD_PIECE;
            }
            if (throughSlabs) {
                piece = Math.min(piece, slabPiece);
            }
            if (writesBehind) {
                piece = beforeTheEnd(file, fileOffset + done, piece);
            }
            if (alignsAddress) {
                piece = whichTheAddressAllows(file, base.address() + bufferOffset + done, fileOffset + done, piece);
            }
            long moved = piece == 0
                    ? 0
                    : call(registration, file, write, base, piece, fileOffset + done, bufferOffset + done);
            if (moved <= 0) {
                if (moved == 0 && !write) {
                    break;
                }
                file.countMoved(done);
                throw failure(reason(write, moved), file, fileOffset, size, done).build();
            }
            done += moved;
        }
        file.countMoved(done);
        return done;
    }

    private static String function(boolean write) {
        return write ? "cuFileWrite" : "cuFileRead";
    }

    private static CuFileException.Builder reason(boolean write, long moved) {
        return moved < 0
                ? CuFileResults.failure(function(write), moved)
                : CuFileException.builder(function(write))
                        .error(CuFileError.IO_ERROR)
                        .detail("libcufile wrote nothing and named no error");
    }

    private static CuFileException.Builder failure(
            CuFileException.Builder reason, LibraryFile file, long fileOffset, long size, long done) {
        return reason.path(file.path()).range(fileOffset, size).transferred(done);
    }

    /**
     * A read across the end of the file changes memory behind the end: into host memory a direct one sets 0 up to the end of
     * the block, and into a GPU the library copies all of its slab, with whatever an earlier transfer left in it. So a read
     * stops at the end. A direct one stops at the last whole page first, and the odd rest is read as what it is: unaligned,
     * through the page cache.
     */
    static long beforeTheEnd(LibraryFile file, long offset, long piece) {
        long end = file.end();
        if (end < 0 || offset + piece <= end) {
            return piece;
        }
        long wholePages = file.isDirect() ? end & -PAGE : end;
        return offset < wholePages ? wholePages - offset : Math.max(0, end - offset);
    }

    /**
     * The library chooses its direct descriptor by file offset and size alone, and the kernel refuses host memory that is not
     * aligned with EINVAL. So one byte goes first, and the rest is at an odd offset: both through the page cache.
     */
    private static long whichTheAddressAllows(LibraryFile file, long address, long offset, long piece) {
        return isPageAligned(offset | piece) && address % file.directMemoryAlignment() != 0 ? Math.min(1, piece)
                : piece;
    }

    /** True if the library takes its direct descriptor for a file offset and a size, here both at once. */
    static boolean isPageAligned(long bits) {
        return (bits & (PAGE - 1)) == 0;
    }

    private long call(
            Registrations.@Nullable Registration registration,
            LibraryFile file,
            boolean write,
            MemoryRange base,
            long piece,
            long fileOffset,
            long bufferOffset) {
        long size = piece;
        long offset = bufferOffset;
        long shift = 0;
        if (registration != null && offset + size > registration.length()) {
            // Somebody registered less at this base, and the library would refuse all of it: what is behind goes by its
            // own address, at which nothing is registered.
            if (offset < registration.length()) {
                size = registration.length() - offset;
            } else {
                shift = offset;
                offset = 0;
            }
        }
        MemorySegment segment = base.segment().orElse(null);
        if (segment == null || !segment.isAccessibleBy(Thread.currentThread())) {
            // Without a segment the caller vouches for the address. One that is confined to a virtual thread is safe, too:
            // that thread waits for this one.
            long address = base.address() + shift;
            return write
                    ? library.write(file.handle(), address, size, fileOffset, offset)
                    : library.read(file.handle(), address, size, fileOffset, offset);
        }
        try {
            MemorySegment shifted = shift == 0 ? segment : segment.asSlice(shift);
            return write
                    ? library.write(file.handle(), shifted, size, fileOffset, offset)
                    : library.read(file.handle(), shifted, size, fileOffset, offset);
        } catch (IllegalStateException closed) {
            throw CuFileException.builder(function(write))
                    .error(CuFileError.CUDA_POINTER_INVALID)
                    .path(file.path())
                    .detail("the segment's arena is closed")
                    .cause(closed)
                    .build();
        }
    }
}
