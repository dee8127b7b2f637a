package io.gds4j.testkit;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Memory of any kind between two guard zones, filled with random bytes, with a copy of the expected content of every
 * byte. {@link #verify} finds stray writes.
 *
 * <pre>{@code
 * try (GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), MemoryKind.HOST, 10_000)) {
 *     long n = handle.read(memory.range(), 10_000, 0, 0);
 *     memory.expect(0, Arrays.copyOf(content, (int) n));
 *     memory.verify();           // only those n bytes changed
 * }
 * }</pre>
 *
 * <p>
 * Not thread-safe, except that several threads may expect and read disjoint parts.
 *
 * @since 0.1
 */
public final class GuardedMemory implements AutoCloseable {
    /** Size of each guard zone in bytes. */
    public static final int GUARD = 8192;

    private final MemoryAllocator allocator;
    private final MemoryAllocation allocation;
    private final MemoryRange range;
    private final byte[] expected;
    private final int start;
    private final int length;
    private final String what;

    private GuardedMemory(MemoryAllocator allocator, MemoryKind kind, int length, int misalignment, long seed) {
        if (length < 0 || misalignment < 0 || misalignment >= GUARD) {
            throw new IllegalArgumentException("length %s, misalignment %s".formatted(length, misalignment));
        }
        this.allocator = allocator;
        this.length = length;
        this.start = GUARD + misalignment;
        this.expected = RandomBytes.of(seed, Math.addExact(start + GUARD, length));
        this.what = "%s memory of %s bytes, misaligned by %s, seed %s".formatted(kind, length, misalignment, seed);
        this.allocation = allocator.allocate(kind, expected.length);
        this.range = allocation.range().slice(start, length);
        allocator.copyFromHost(MemorySegment.ofArray(expected), allocation.range());
    }

    /** Allocates memory with the alignment of the allocator: a page for host kinds, 256 bytes for GPUs. */
    public static GuardedMemory allocate(MemoryAllocator allocator, MemoryKind kind, int length) {
        return allocate(allocator, kind, length, 0, length);
    }

    /**
     * Allocates memory that starts {@code misalignment} bytes, less than {@link #GUARD}, after such an address.
     *
     * @param seed seed of the content
     */
    public static GuardedMemory allocate(
            MemoryAllocator allocator, MemoryKind kind, int length, int misalignment, long seed) {
        return new GuardedMemory(allocator, kind, length, misalignment, seed);
    }

    /** Returns the memory between the guard zones. */
    public MemoryRange range() {
        return range;
    }

    /** Returns a copy of the expected content of a part, for example of the bytes that a write moves to a file. */
    public byte[] expected(int offset, int size) {
        checkPart(offset, size);
        byte[] copy = new byte[size];
        System.arraycopy(expected, start + offset, copy, 0, size);
        return copy;
    }

    /** Expects these bytes at {@code offset} from now on, for example after a read. */
    public void expect(int offset, byte[] bytes) {
        checkPart(offset, bytes.length);
        System.arraycopy(bytes, 0, expected, start + offset, bytes.length);
    }

    /** Writes bytes into the memory, and expects them. */
    public void put(int offset, byte[] bytes) {
        expect(offset, bytes);
        allocator.copyFromHost(MemorySegment.ofArray(bytes), range.slice(offset, bytes.length));
    }

    /** Expects the current content of a part, which the contract does not define (after the count of a failed read). */
    public void accept(int offset, int size) {
        checkPart(offset, size);
        byte[] now = new byte[size];
        allocator.copyToHost(range.slice(offset, size), MemorySegment.ofArray(now));
        System.arraycopy(now, 0, expected, start + offset, size);
    }

    /**
     * Compares every byte, including the guard zones, with the expected content.
     *
     * @throws AssertionError with the position of the first difference
     */
    public void verify() {
        compare(0, expected.length);
    }

    /**
     * Compares a part, and {@link #GUARD} bytes on both sides of it, with the expected content.
     *
     * @throws AssertionError with the position of the first difference
     */
    public void verifyAround(int offset, int size) {
        checkPart(offset, size);
        int from = start + offset - GUARD;
        compare(from, Math.min(expected.length, start + offset + size + GUARD) - from);
    }

    private void compare(int from, int size) {
        MemorySegment actual = MemorySegment.ofArray(new byte[size]);
        allocator.copyToHost(allocation.range().slice(from, size), actual);
        MemorySegment wanted = MemorySegment.ofArray(expected).asSlice(from, size);
        long at = Difference.first(wanted, actual);
        if (at >= 0) {
            throw new AssertionError(
                    "%s: %s: %s".formatted(what, place(from + at), Difference.describe(wanted, actual, at)));
        }
    }

    /** Returns the current byte at an offset of the range. */
    public byte byteAt(int offset) {
        MemorySegment one = MemorySegment.ofArray(new byte[1]);
        allocator.copyToHost(range.slice(offset, 1), one);
        return one.get(ValueLayout.JAVA_BYTE, 0);
    }

    private String place(long index) {
        if (index < start) {
            return "guard zone, %s bytes before the range".formatted(start - index);
        }
        long offset = index - start;
        return offset < length
                ? "byte %s of the range".formatted(offset)
                : "guard zone, %s bytes past the end of the range".formatted(offset - length);
    }

    private void checkPart(int offset, int size) {
        if (offset < 0 || size < 0 || offset > length - size) {
            throw new IndexOutOfBoundsException("offset %s, size %s of %s".formatted(offset, size, what));
        }
    }

    /** Frees the memory without checks. */
    @Override
    public void close() {
        allocation.close();
    }

    @Override
    public String toString() {
        return what;
    }
}
