package io.gds4j.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Loan;
import io.gds4j.internal.lifetime.MemoryUses;
import io.gds4j.internal.lifetime.ThreadState;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A range of host or GPU memory: address, length, kind, device. Immutable; a slice shares its owner.
 *
 * <pre>{@code
 * try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 1 << 20)) {
 *     handle.read(memory.range().slice(4096, 8192), 0);
 * }
 * }</pre>
 *
 * @since 0.1
 */
public final class MemoryRange implements IoMemory {
    /** {@link #device()} of host memory. */
    public static final int NO_DEVICE = -1;

    static {
        MemoryUses.publish(new PackageMemoryUses());
    }

    private final long address;
    private final long length;
    private final MemoryKind kind;
    private final int device;
    private final @Nullable MemorySegment segment;
    private final @Nullable MemoryAllocation owner;

    private MemoryRange(
            long address,
            long length,
            MemoryKind kind,
            int device,
            @Nullable MemorySegment segment,
            @Nullable MemoryAllocation owner) {
        this.address = address;
        this.length = length;
        this.kind = kind;
        this.device = device;
        this.segment = segment;
        this.owner = owner;
    }

    /**
     * Wraps a raw address: host memory, or GPU memory of device 0.
     *
     * <p>
     * <b>The caller is responsible for the address.</b> gds4j cannot check that {@code length} bytes at {@code address} exist,
     * are of this kind and stay allocated until I/O on them has ended; a wrong address can crash the process.
     *
     * @param address first byte, not 0
     * @param length bytes, 0 or more
     * @param kind the kind of memory
     * @return the range
     * @throws CuFileException INVALID_VALUE if the address is 0, the length negative, or the end wraps around
     */
    public static MemoryRange ofAddress(long address, long length, MemoryKind kind) {
        return ofAddress(address, length, kind, kind.isCuda() ? 0 : NO_DEVICE);
    }

    /**
     * Like {@link #ofAddress(long, long, MemoryKind)}, for memory of a given GPU.
     *
     * @param address first byte
     * @param length bytes
     * @param kind the kind of memory
     * @param device ordinal of the GPU, or {@link #NO_DEVICE} for host memory
     * @return the range
     */
    public static MemoryRange ofAddress(long address, long length, MemoryKind kind, int device) {
        Objects.requireNonNull(kind, "kind");
        if (address == 0) {
            throw invalid("address is 0");
        }
        if (length < 0) {
            throw invalid("length is negative: " + length);
        }
        if (Long.compareUnsigned(address + length, address) < 0) {
            throw invalid("address 0x%x and length %s wrap around".formatted(address, length));
        }
        if (kind.isCuda() && device < 0) {
            throw invalid(kind + " needs a device, got " + device);
        }
        return new MemoryRange(address, length, kind, device, null, null);
    }

    /**
     * Wraps a native segment of host memory. Its arena must stay open until I/O on it has ended: I/O with a closed arena fails,
     * and never crashes.
     *
     * @param segment native memory
     * @return the range
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID for a segment over a Java array, CUDA_POINTER_INVALID for one that
     *         is closed, INVALID_VALUE for the null segment
     */
    public static MemoryRange ofSegment(MemorySegment segment) {
        return ofSegment(segment, MemoryKind.HOST);
    }

    /**
     * Like {@link #ofSegment(MemorySegment)}, for pinned or huge-page host memory.
     *
     * @param segment native memory
     * @param kind HOST, HOST_HUGEPAGE, or HOST_PINNED for memory that is pinned
     * @return the range
     * @throws CuFileException INVALID_VALUE for other kinds, and as {@link #ofSegment(MemorySegment)}
     */
    public static MemoryRange ofSegment(MemorySegment segment, MemoryKind kind) {
        Objects.requireNonNull(segment, "segment");
        if (!kind.isHost()) {
            throw invalidSegment(kind + " is no host memory: wrap its address");
        }
        if (!segment.isNative()) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID,
                    "MemoryRange.ofSegment",
                    "a segment over a Java array has no stable address: allocate native memory");
        }
        if (!segment.scope().isAlive()) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_INVALID, "MemoryRange.ofSegment", "the segment's arena is closed");
        }
        if (segment.address() == 0) {
            throw invalidSegment("the null segment");
        }
        return new MemoryRange(segment.address(), segment.byteSize(), kind, NO_DEVICE, segment, null);
    }

    @Override
    public MemoryRange range() {
        return this;
    }

    /** {@return first byte, as the CPU or the GPU sees it} */
    public long address() {
        return address;
    }

    /** {@return bytes} */
    public long length() {
        return length;
    }

    /** {@return where the memory is} */
    public MemoryKind kind() {
        return kind;
    }

    /** {@return ordinal of the GPU, or {@link #NO_DEVICE} for host memory} */
    public int device() {
        return device;
    }

    /** {@return the segment of a host range that wraps one, sliced like the range; its scope guards accesses} */
    public Optional<MemorySegment> segment() {
        return Optional.ofNullable(segment);
    }

    /** {@return the allocation that owns these bytes; empty for foreign memory} */
    public Optional<MemoryAllocation> owner() {
        return Optional.ofNullable(owner);
    }

    /**
     * Tells whether bytes may be read into the range.
     *
     * @return false for a read-only segment, which can only be written to a file
     */
    public boolean isWritable() {
        return segment == null || !segment.isReadOnly();
    }

    /**
     * Returns a part of the range.
     *
     * @param offset first byte of the part
     * @param length bytes
     * @return the part
     * @throws CuFileException CUDA_POINTER_RANGE_ERROR if it is not wholly inside
     */
    public MemoryRange slice(long offset, long length) {
        if (offset < 0 || length < 0 || length > this.length || offset > this.length - length) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR,
                    "MemoryRange.slice",
                    "offset %s and length %s are outside a range of %s bytes".formatted(offset, length, this.length));
        }
        MemorySegment part = segment == null ? null : segment.asSlice(offset, length);
        return new MemoryRange(address + offset, length, kind, device, part, owner);
    }

    /**
     * Keeps the memory from being freed until {@link #release()}, on any thread: freeing waits. Does nothing for memory without
     * an owner. Allocates nothing. For backends.
     *
     * @throws CuFileException CUDA_POINTER_INVALID if it is freed already, or its arena closed or confined to another
     *         thread
     */
    public void retain() {
        checkAccess();
        if (owner != null && !owner.lifetime().hold()) {
            throw MemoryAllocation.closed();
        }
    }

    /** Ends what {@link #retain()} began; exactly once for each successful call. */
    public void release() {
        if (owner != null) {
            owner.lifetime().letGo();
        }
    }

    /** Like {@link #retain()} for the time of a call of this thread, inside which freeing the memory is an error. */
    void enter(ThreadState here) {
        checkAccess();
        if (owner != null && !owner.lifetime().enter(here)) {
            throw MemoryAllocation.closed();
        }
    }

    /** Ends what {@link #enter} began, innermost first. */
    void exit(ThreadState here) {
        if (owner != null) {
            owner.lifetime().exit(here);
        }
    }

    /** Like {@link #retain()}, but freeing the memory is an error until {@link #unclaim()}. */
    void claim() {
        checkAccess();
        if (owner != null && !owner.lifetime().claim()) {
            throw unclaimable(owner);
        }
    }

    private static CuFileException unclaimable(MemoryAllocation owner) {
        return owner.isOpen() && owner.lifetime().isGiven() ? MemoryAllocation.given() : MemoryAllocation.closed();
    }

    /** Like {@link #claim()}, for code outside of Java. */
    Loan lend(Object borrower) {
        if (!outlivesCall()) {
            throw CuFileException.invalid("MemoryRange.lend",
                    "the program could close the arena of the memory while native code uses it;"
                            + " use an allocation, or an automatic or global arena");
        }
        checkAccess();
        if (owner == null) {
            return Loan.ofUnowned(this, borrower);
        }
        Loan loan = owner.lifetime().lend(this, borrower);
        if (loan == null) {
            throw unclaimable(owner);
        }
        return loan;
    }

    /** Ends what {@link #claim()} began. */
    void unclaim() {
        if (owner != null) {
            owner.lifetime().unclaim();
        }
    }

    /**
     * Tells whether the memory stays valid for asynchronous I/O: a program could close a shared or confined arena during the
     * I/O.
     *
     * @return false for segments of shared and confined arenas; true for the global arena and automatic ones, for allocations,
     *         which wait for their I/O, and for raw addresses, for which the caller is responsible
     */
    public boolean outlivesCall() {
        return owner != null || segment == null || ArenaKind.isNeverClosed(segment);
    }

    /**
     * Checks that the calling thread may use the memory now.
     *
     * @throws CuFileException CUDA_POINTER_INVALID if its arena is closed, or confined to another thread
     */
    public void checkAccess() {
        if (segment == null) {
            return;
        }
        if (!segment.scope().isAlive()) {
            throw unusable("the segment's arena is closed");
        }
        if (!segment.isAccessibleBy(Thread.currentThread())) {
            throw unusable("the segment is confined to another thread");
        }
    }

    private static CuFileException unusable(String detail) {
        return CuFileException.of(CuFileError.CUDA_POINTER_INVALID, "MemoryRange.retain", detail);
    }

    /** Returns the same memory with an owner. */
    MemoryRange ownedBy(MemoryAllocation allocation) {
        return new MemoryRange(address, length, kind, device, segment, allocation);
    }

    private static CuFileException invalid(String detail) {
        return CuFileException.invalid("MemoryRange.ofAddress", detail);
    }

    private static CuFileException invalidSegment(String detail) {
        return CuFileException.invalid("MemoryRange.ofSegment", detail);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof MemoryRange that
                && address == that.address
                && length == that.length
                && kind == that.kind
                && device == that.device;
    }

    @Override
    public int hashCode() {
        return Objects.hash(address, length, kind, device);
    }

    @Override
    public String toString() {
        return "MemoryRange[0x%x, length=%s, %s%s]"
                .formatted(address, length, kind, device < 0 ? "" : ", device=" + device);
    }

    /** Finds out whether a program can close an arena. */
    private static final class ArenaKind {
        private static final MemorySegment.Scope GLOBAL = Arena.global().scope();

        /** The JDK does not say which scopes are automatic, but all of them are of one class. */
        private static final Class<?> AUTOMATIC = Arena.ofAuto().scope().getClass();

        /** That of a direct buffer, which lives as long as its segment can be reached. */
        private static final Class<?> BUFFER = MemorySegment.ofBuffer(ByteBuffer.allocateDirect(1)).scope().getClass();

        static boolean isNeverClosed(MemorySegment segment) {
            MemorySegment.Scope scope = segment.scope();
            return scope.equals(GLOBAL) || scope.getClass() == AUTOMATIC || scope.getClass() == BUFFER;
        }
    }
}
