package io.gds4j.loader;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.internal.Conversion;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;

/**
 * Allocates host memory and pretends that part of it is GPU memory: without a segment, and aligned to 256 bytes instead of a
 * page. Counts allocations and can simulate exhausted memory.
 */
final class TrackingAllocator implements MemoryAllocator {
    private static final long PAGE = 4096;

    private final AtomicInteger open = new AtomicInteger();
    private final AtomicInteger made = new AtomicInteger();
    private final AtomicInteger copies = new AtomicInteger();
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong peak = new AtomicLong();
    private final List<String> expected = new CopyOnWriteArrayList<>();
    private volatile int limit = Integer.MAX_VALUE;
    private volatile IntConsumer before = number -> {
    };

    /** Returns the number of open allocations. */
    int open() {
        return open.get();
    }

    /** Returns the number of allocations so far. */
    int made() {
        return made.get();
    }

    /** Returns the memory that loads expected, each with the number of allocations before. */
    List<String> expected() {
        return expected;
    }

    /** Returns the number of copies into memory so far. */
    int copies() {
        return copies.get();
    }

    /** Returns the bytes of open allocations. */
    long bytes() {
        return bytes.get();
    }

    /** Returns the most bytes of open allocations since the last call. */
    long peak() {
        return peak.getAndSet(bytes.get());
    }

    /** Makes allocations fail after this number of them. */
    void failAfter(int allocations) {
        limit = allocations;
    }

    /** Sets what is called before each allocation, with its number from 1 on. */
    void beforeEach(IntConsumer call) {
        before = call;
    }

    @Override
    public boolean supports(MemoryKind kind) {
        return kind == MemoryKind.HOST || kind == MemoryKind.CUDA_DEVICE;
    }

    @Override
    public void expect(MemoryKind kind, int device) {
        expected.add("%s %s after %s".formatted(kind, device, made));
    }

    @Override
    public MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        if (!supports(kind)) {
            throw CuFileException.of(CuFileError.CUDA_MEMORY_TYPE_INVALID, "allocate", kind + " is not supported");
        }
        int number = made.incrementAndGet();
        before.accept(number);
        if (number > limit) {
            throw CuFileException.of(CuFileError.NOMEM_ERROR, "allocate", "no " + size + " bytes left");
        }
        Arena arena = Arena.ofShared();
        boolean cuda = kind.isCuda();
        MemorySegment memory = arena.allocate(size + 256, PAGE).asSlice(cuda ? 256 : 0, size);
        open.incrementAndGet();
        peak.accumulateAndGet(bytes.addAndGet(size), Math::max);
        MemoryRange range = cuda
                ? MemoryRange.ofAddress(memory.address(), size, kind, device)
                : MemoryRange.ofSegment(memory, kind);
        return MemoryAllocation.of(range, () -> {
            arena.close();
            open.decrementAndGet();
            bytes.addAndGet(-size);
        });
    }

    /** Returns the bytes of a range of any kind. */
    static MemorySegment raw(MemoryRange range) {
        return MemorySegment.ofAddress(range.address()).reinterpret(range.length());
    }

    private static Optional<Conversion> conversion(String from, String to) {
        return DType.of(from).flatMap(type -> Conversion.of(type, DType.of(to).orElseThrow()));
    }

    @Override
    public boolean converts(String from, String to) {
        return conversion(from, to).isPresent();
    }

    @Override
    public void convert(MemoryRange from, String fromType, MemoryRange to, String toType) {
        conversion(fromType, toType).orElseThrow().convert(raw(from), raw(to));
    }

    @Override
    public void copyToHost(MemoryRange from, MemorySegment to) {
        range(from.length() >= to.byteSize());
        to.copyFrom(raw(from).asSlice(0, to.byteSize()));
    }

    @Override
    public void copyFromHost(MemorySegment from, MemoryRange to) {
        range(to.length() >= from.byteSize());
        copies.incrementAndGet();
        raw(to).copyFrom(from);
    }

    @Override
    public void copy(MemoryRange from, MemoryRange to) {
        range(to.length() >= from.length());
        copies.incrementAndGet();
        raw(to).copyFrom(raw(from));
    }

    private static void range(boolean inside) {
        if (!inside) {
            throw CuFileException.of(CuFileError.CUDA_POINTER_RANGE_ERROR, "copy", "past the end");
        }
    }

    @Override
    public void fill(MemoryRange range, byte value) {
        raw(range).fill(value);
    }

    @Override
    public long available(MemoryKind kind, int device) {
        return Long.MAX_VALUE;
    }
}
