package io.gds4j.libcufile.guard;

import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.cufile.CuFileResults;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.process.CurrentContext;
import io.gds4j.libcufile.process.LibrarySettings;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.libcufile.process.Registrations;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.IoPath;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * {@code cuFileRead} and {@code cuFileWrite} of one session. A request is one downcall in the usual case, and more
 * where the library stops short. Allocates nothing.
 */
public final class Transfers {
    /** Largest piece, bytes. The library cannot be interrupted, so the interrupt flag is checked between pieces. */
    private static final long PIECE = 1L << 30;
    private static final long KIB = 1024;
    /**
     * Largest piece of GPU memory at an odd offset, bytes. Pieces above the library's largest slab fail with
     * INVALID_MAPPING_RANGE.
     */
    private static final long ODD_PIECE = 4L << 20;

    private final CuFileLibrary library;
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final Registrations registrations;
    private final SessionBuffers buffers;
    private final long slabPiece;
    private volatile long largestPiece = PIECE;

    public Transfers(OpenLibrary openLibrary, CudaContexts contexts, SessionBuffers buffers) {
        this.library = openLibrary.library();
        this.registrations = openLibrary.registrations();
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.buffers = buffers;
        this.slabPiece = slabPiece(openLibrary.settings());
    }

    /**
     * Largest piece of GPU memory where the library does POSIX I/O. It moves max_direct_io_size bytes at a time through
     * a slab, and fails with ENOMEM if no slab is that large. If one is, the library cuts the request itself, on
     * several threads.
     */
    private static long slabPiece(LibrarySettings settings) {
        long largestKb = settings.posixPoolSlabs().sizesKb().stream().mapToLong(Long::longValue).max().orElse(0);
        return largestKb > 0 && largestKb < settings.get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB) ? largestKb * KIB : PIECE;
    }

    /** Sets the largest piece, bytes. */
    public void cutAt(long bytes) {
        largestPiece = bytes;
    }

    /**
     * Moves bytes. The arguments are checked and the caller has entered the file. Not for virtual threads, see
     * {@link CurrentContext}.
     *
     * @param caller an interrupt of this thread ends the transfer
     * @return bytes moved; fewer than {@code size} only at the end of the file
     */
    public long run(
            Thread caller,
            LibraryFile file,
            Operation operation,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset) {
        long context = contextOf(base);
        boolean pushed = CurrentContext.push(cuda, context);
        try {
            Registrations.Registration registration = enterRegistration(base.address());
            try {
                return pieces(caller, registration, file, operation, base, size, fileOffset, bufferOffset);
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
     * Moves bytes between a file and memory of gds4j, which is never registered. Does not wait for registrations of
     * other memory.
     */
    public long runOwn(
            MemoryRange own, LibraryFile file, Operation operation, long size, long fileOffset, long bufferOffset) {
        boolean pushed = CurrentContext.push(cuda, contextOf(own));
        try {
            return pieces(Thread.currentThread(), null, file, operation, own, size, fileOffset, bufferOffset);
        } finally {
            if (pushed) {
                CurrentContext.pop(cuda);
            }
        }
    }

    /**
     * As {@link #run}, with a registration that the caller has entered, or null. Does not wait for registrations of
     * other memory.
     */
    public long runRegistered(Registrations.@Nullable Registration registration, LibraryFile file,
            BatchRequest request) {
        boolean pushed = CurrentContext.push(cuda, contextOf(request.memory()));
        try {
            return pieces(
                    Thread.currentThread(),
                    registration,
                    file,
                    request.operation(),
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
    public long contextOf(MemoryRange memory) {
        return switch (memory.kind()) {
            case HOST, HOST_HUGEPAGE -> CurrentContext.NONE;
            // Any context serves.
            case HOST_PINNED, HOST_REGISTERED -> contexts.primary(0);
            case CUDA_DEVICE, CUDA_MANAGED, CUDA_POOL, CUDA_VMM -> knownContextOf(memory);
        };
    }

    /**
     * Returns the CUDA context of GPU memory that is in use. Asking the driver takes 0.1 µs, so the answer is kept with the allocation,
     * which stays in its context while it is open. For memory without an owner the driver is asked each time, because gds4j
     * does not learn when it is freed.
     *
     * @throws CuFileException CUDA_POINTER_INVALID if the driver does not know the memory
     */
    private long knownContextOf(MemoryRange memory) {
        MemoryAllocation owner = memory.owner().orElse(null);
        if (owner != null) {
            long known = MemoryAccess.USES.cudaContext(owner, contexts);
            if (known != 0) {
                return known;
            }
        }
        long context = contexts.contextOf(memory.address(), memory.device());
        if (owner != null) {
            MemoryAccess.USES.rememberCudaContext(owner, contexts, context);
        }
        return context;
    }

    /**
     * Returns whether a vector may have a range: not one that {@link #run} moves in several pieces, nor memory of the host with a file that
     * is open for direct I/O, as the kernel may refuse its address.
     */
    public boolean fitsVector(LibraryFile file, MemoryRange range, long fileOffset) {
        boolean host = range.kind().isHost();
        long size = range.length();
        return size <= largestPiece && !(host && file.isDirect())
                && (host || size <= ODD_PIECE || isPageAligned(fileOffset | size));
    }

    private Registrations.@Nullable Registration enterRegistration(long base) {
        buffers.showToLibrary(base);
        return registrations.enter(base);
    }

    /**
     * Shaped for the JIT: this method is too long to be inlined. When it was split, the compiler inlined a whole read
     * into one method and no longer removed a segment that FFM makes for each call, 40 bytes a read.
     */
    private long pieces(
            Thread caller,
            Registrations.@Nullable Registration registration,
            LibraryFile file,
            Operation operation,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset) {
        boolean writesBehind = !operation.isWrite() && (file.isDirect() || isKnownToCuda(base.kind()));
        boolean throughSlabs = file.servedBy() == IoPath.LIBCUFILE_POSIX && !base.kind().isHost();
        boolean alignsAddress = file.isDirect() && base.kind().isHost();
        long done = 0;
        while (done < size) {
            if (caller.isInterrupted()) {
                file.countMoved(operation, done);
                throw failure(CuFileException.builder(operation.function()), file, fileOffset, size, done)
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
                piece = alignedForDirect(file, base.address() + bufferOffset + done, fileOffset + done, piece);
            }
            long moved = piece == 0
                    ? 0
                    : call(registration, file, operation, base, piece, fileOffset + done, bufferOffset + done);
            if (moved <= 0) {
                if (moved == 0 && !operation.isWrite()) {
                    break;
                }
                file.countMoved(operation, done);
                throw failure(reason(operation, moved), file, fileOffset, size, done).build();
            }
            done += moved;
        }
        file.countMoved(operation, done);
        return done;
    }

    /** Returns whether CUDA knows memory: to the library it then is a GPU's, even if it is pinned memory of the host. */
    private static boolean isKnownToCuda(MemoryKind kind) {
        return kind != MemoryKind.HOST && kind != MemoryKind.HOST_HUGEPAGE;
    }

    private static CuFileException.Builder reason(Operation operation, long moved) {
        return moved < 0
                ? CuFileResults.failure(operation.function(), moved)
                : CuFileException.builder(operation.function())
                        .error(CuFileError.IO_ERROR)
                        .detail("libcufile wrote nothing and named no error");
    }

    private static CuFileException.Builder failure(
            CuFileException.Builder reason, LibraryFile file, long fileOffset, long size, long done) {
        return reason.path(file.path()).range(fileOffset, size).transferred(done);
    }

    /**
     * Ends a piece of a read at the end of the file, because a read across it changes memory behind the end. A direct
     * read into host memory zeroes the rest of the block. Into a GPU the library copies its whole slab, with data of an
     * earlier transfer. A direct read first stops at the last whole page; the rest is unaligned and goes through the
     * page cache.
     */
    static long beforeTheEnd(LibraryFile file, long offset, long piece) {
        long end = file.end();
        if (end < 0 || offset + piece <= end) {
            return piece;
        }
        long wholePages = file.isDirect() ? Pages.down(end) : end;
        return offset < wholePages ? wholePages - offset : Math.max(0, end - offset);
    }

    /**
     * Shortens a direct piece of misaligned host memory to one byte. The library chooses its direct descriptor by file
     * offset and size alone, and the kernel refuses misaligned memory with EINVAL. After the first byte the offset is
     * odd, so all goes through the page cache.
     */
    private static long alignedForDirect(LibraryFile file, long address, long offset, long piece) {
        return isPageAligned(offset | piece) && address % file.directMemoryAlignment() != 0 ? Math.min(1, piece)
                : piece;
    }

    /**
     * True if the library uses its direct descriptor.
     *
     * @param bits file offset and size, combined by bitwise or
     */
    public static boolean isPageAligned(long bits) {
        return Pages.isAligned(bits);
    }

    private long call(
            Registrations.@Nullable Registration registration,
            LibraryFile file,
            Operation operation,
            MemoryRange base,
            long piece,
            long fileOffset,
            long bufferOffset) {
        long size = piece;
        long offset = bufferOffset;
        long shift = 0;
        if (registration != null && offset + size > registration.length()) {
            // A shorter range is registered at this base, and the library would refuse the whole transfer. The part
            // behind that range goes by its own address, at which nothing is registered.
            if (offset < registration.length()) {
                size = registration.length() - offset;
            } else {
                shift = offset;
                offset = 0;
            }
        }
        MemorySegment segment = base.segment().orElse(null);
        if (segment == null || !segment.isAccessibleBy(Thread.currentThread())) {
            // Without a segment the caller vouches for the address. A segment that is confined to a virtual thread is
            // safe, too: that thread waits for this one.
            long address = base.address() + shift;
            return operation.isWrite()
                    ? library.write(file.handle(), address, size, fileOffset, offset)
                    : library.read(file.handle(), address, size, fileOffset, offset);
        }
        try {
            MemorySegment shifted = shift == 0 ? segment : segment.asSlice(shift);
            return operation.isWrite()
                    ? library.write(file.handle(), shifted, size, fileOffset, offset)
                    : library.read(file.handle(), shifted, size, fileOffset, offset);
        } catch (IllegalStateException closed) {
            if (segment.scope().isAlive()) {
                throw closed; // a defect
            }
            throw CuFileException.builder(operation.function())
                    .error(CuFileError.CUDA_POINTER_INVALID)
                    .path(file.path())
                    .detail("the segment's arena is closed")
                    .cause(closed)
                    .build();
        }
    }
}
