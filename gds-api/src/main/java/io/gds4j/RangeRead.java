package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.spi.Operation;
import io.gds4j.spi.TransferArguments;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A range of a file and the fragments of memory that it fills, for {@link CuFileDriver#readRanges(List, IoResults)}. Immutable; a program
 * may read the same range many times. The call checks the arguments.
 *
 * <pre>{@code
 * driver.readRanges(List.of(
 *         RangeRead.of(handle, first, 0),                 // fills the memory
 *         RangeRead.of(handle, second, 4096, 1 << 20, 0), // 4096 bytes from file offset 1 MiB
 *         RangeRead.of(other, List.of(third, fourth), 0)));
 * }</pre>
 *
 * @since 0.1
 */
@Experimental
public final class RangeRead {
    private final CuFileHandle handle;
    private final List<IoMemory> fragments;
    private final long size;
    private final long fileOffset;
    private final long bufferOffset;

    /** The Java array in place of fragments; null if there are some. */
    private final @Nullable MemorySegment heap;

    private RangeRead(
            CuFileHandle handle, List<IoMemory> fragments, long size, long fileOffset, long bufferOffset,
            @Nullable MemorySegment heap) {
        this.handle = Objects.requireNonNull(handle, "handle");
        this.fragments = fragments;
        this.size = size;
        this.fileOffset = fileOffset;
        this.bufferOffset = bufferOffset;
        this.heap = heap;
    }

    /**
     * Returns a range that fills a part of memory.
     *
     * @param handle the file
     * @param memory receives the bytes
     * @param size bytes, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return the range
     */
    public static RangeRead of(CuFileHandle handle, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        return new RangeRead(handle, List.of(MemoryUse.plain(memory)), size, fileOffset, bufferOffset, null);
    }

    /**
     * Returns a range that fills the whole memory.
     *
     * @param handle the file
     * @param memory receives the bytes
     * @param fileOffset first byte in the file
     * @return the range
     */
    public static RangeRead of(CuFileHandle handle, IoMemory memory, long fileOffset) {
        return of(handle, memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Returns a range that fills several fragments of memory, one after the other.
     *
     * @param handle the file
     * @param fragments receive the bytes, in the order of the file; 2^62 bytes or less in total
     * @param fileOffset first byte in the file
     * @return the range
     */
    public static RangeRead of(CuFileHandle handle, List<? extends IoMemory> fragments, long fileOffset) {
        List<IoMemory> plain = fragments.stream().map(MemoryUse::plain).toList();
        long size = TransferArguments.total(plain.stream().map(IoMemory::range).toList());
        return new RangeRead(handle, plain, size, fileOffset, 0, null);
    }

    /**
     * Returns a range that fills a buffer from its present position to its limit, and leaves both as they are. A heap buffer is filled in
     * pieces of at most 1 MiB through native memory that the driver keeps, and not together with its neighbours in the file.
     *
     * @param handle the file
     * @param buffer receives the bytes; no other thread uses it during the call
     * @param fileOffset first byte in the file
     * @return the range
     * @throws CuFileException as {@link io.gds4j.memory.MemoryRange#ofSegment(MemorySegment)} for a direct buffer
     */
    public static RangeRead of(CuFileHandle handle, ByteBuffer buffer, long fileOffset) {
        MemorySegment segment = MemorySegment.ofBuffer(buffer);
        return segment.isNative()
                ? of(handle, handle.wrap(Operation.READ, segment, fileOffset), fileOffset)
                : new RangeRead(handle, List.of(), segment.byteSize(), fileOffset, 0, segment);
    }

    /** {@return the file} */
    public CuFileHandle handle() {
        return handle;
    }

    /** {@return what receives the bytes, in the order of the file; of allocations, their ranges; empty for a heap buffer} */
    public List<IoMemory> fragments() {
        return fragments;
    }

    /** {@return bytes} */
    public long size() {
        return size;
    }

    /** {@return first byte in the file} */
    public long fileOffset() {
        return fileOffset;
    }

    /** {@return first byte in the first fragment} */
    public long bufferOffset() {
        return bufferOffset;
    }

    /** Returns the Java array that receives the bytes; null if fragments do. */
    @Nullable
    MemorySegment heap() {
        return heap;
    }

    /** Returns the bytes that a fragment takes. */
    long taken(int fragment) {
        return fragments.size() == 1 ? size : fragments.get(fragment).range().length();
    }

    RequestCheck request() {
        return handle.request(Operation.READ, size, fileOffset, bufferOffset);
    }

    /**
     * Checks the arguments.
     *
     * @param number of the range in its call, for messages
     */
    RequestCheck check(Session session, int number) {
        RequestCheck request = request();
        try {
            if (handle.session() != session) {
                throw request.failure(CuFileError.HANDLE_NOT_REGISTERED)
                        .detail("the handle belongs to another driver session")
                        .build();
            }
            request.checkNumbers();
            if (heap != null) {
                request.checkHeap(heap);
            } else if (fragments.size() == 1) {
                request.checkWithin(fragments.getFirst());
            } else {
                fragments.forEach(request::checkAccess);
            }
        } catch (CuFileException e) {
            throw request.failure(e.error()).errno(e.errno().orElse(0))
                    .detail("range %s: %s".formatted(number, e.detail())).cause(e).build();
        }
        return request;
    }

    /** Returns whether a fragment is memory of a GPU. */
    boolean usesGpu() {
        for (IoMemory fragment : fragments) {
            if (fragment.range().kind().isCuda()) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String toString() {
        return "RangeRead[%s bytes at %s of %s into %s]".formatted(
                size, fileOffset, handle.path().map(Object::toString).orElse("a descriptor"),
                heap == null ? fragments.size() + " fragments" : "a Java array");
    }
}
