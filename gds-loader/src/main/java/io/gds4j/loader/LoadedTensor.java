package io.gds4j.loader;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.FloatDecoder;
import io.gds4j.loader.internal.RowMajor;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A tensor in memory.
 *
 * <pre>{@code
 * float[] weights = tensors.get("lm_head.weight").toFloatArray();              // BF16 or Q4_K: decoded into an array
 * float[] embedding = tensors.get("embed.weight").row(token).toFloatArray();   // decodes no more than the row
 * FloatBuffer bias = tensors.get("lm_head.bias").toHost().asFloatBuffer();     // F32: a view
 * }</pre>
 *
 * <p>
 * {@link #toFloatArray}, {@link #copyFloats} and {@link #toHost} work for tensors in any memory. Segments and buffers view host memory, and copy nothing. A view
 * covers all elements in row-major order, little-endian, and has at most 2^31-1 bytes. A tensor of another order
 * ({@link TensorInfo#order}) has no view of its elements; {@link #toFloatArray} moves them. After the tensor is freed, an access throws
 * IllegalStateException. Immutable.
 *
 * @since 0.1
 */
public final class LoadedTensor implements SavePlan.TensorInMemory {
    private static final String FUNCTION = "LoadedTensor";
    /** Native code reads elements of up to 8 bytes at once. */
    private static final long MAX_ALIGNMENT = Long.BYTES;

    private final TensorInfo info;
    private final MemoryRange range;
    private final @Nullable MemoryAllocator allocator;

    /**
     * Describes a tensor in memory of the program; {@link #toHost} and {@link #toFloatArray} then need host memory.
     *
     * @param info description of the tensor
     * @param range exactly its bytes; length 0 for a tensor without elements
     */
    public LoadedTensor(TensorInfo info, MemoryRange range) {
        this(info, range, null);
    }

    /** @param allocator copies the tensor to host memory; null if it cannot be copied */
    LoadedTensor(TensorInfo info, MemoryRange range, @Nullable MemoryAllocator allocator) {
        this.info = Objects.requireNonNull(info, "info");
        this.range = Objects.requireNonNull(range, "range");
        this.allocator = allocator;
    }

    /** Returns the description of the tensor. */
    @Override
    public TensorInfo info() {
        return info;
    }

    /** Returns the name in the checkpoint. */
    public String name() {
        return info.name();
    }

    /** Returns the element type. */
    public DType dtype() {
        return info.dtype();
    }

    /** Returns the dimensions, as {@link TensorInfo#shape} does; empty for a scalar. */
    public List<Long> shape() {
        return info.shape();
    }

    /**
     * Returns the number of elements.
     *
     * @throws CuFileException as {@link TensorInfo#elements}
     */
    public long elements() {
        return info.elements();
    }

    /** Returns exactly the bytes of the tensor; their length is 0 for a tensor without elements. */
    @Override
    public MemoryRange range() {
        return range;
    }

    /** Returns the address of the first byte, in the address space of the CPU or the GPU. */
    public long address() {
        return range.address();
    }

    /** Returns the length in bytes. */
    public long length() {
        return range.length();
    }

    /**
     * Returns a tensor in host memory as a segment: its bytes in {@link TensorInfo#order}.
     *
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID for memory that has no segment, such as all GPU memory: call {@link #toHost}
     *         first
     */
    public MemorySegment segment() {
        return range.segment()
                .orElseThrow(() -> failure(
                        CuFileError.CUDA_MEMORY_TYPE_INVALID,
                        "is in %s memory, which segments and buffers do not view; toHost() copies it"
                                .formatted(range.kind())));
    }

    /**
     * Lends the tensor to native code that keeps its address. Until the loan is closed, closing the memory throws EBUSY.
     *
     * @throws CuFileException INVALID_VALUE if its address is no multiple of its elements, as may be in mapped files, and for a segment of
     *         an arena that the program can close; CUDA_POINTER_INVALID if the tensor is freed
     */
    public TensorLoan lend() {
        requireAligned();
        return TensorLoan.of("LoadedTensor.lend() of " + CheckpointException.quote(name()), List.of(range));
    }

    /** Throws if native code could not read the tensor by its elements, as it may stand in a mapped file. */
    void requireAligned() {
        TensorInfo info = info();
        long alignment = Math.clamp(Long.lowestOneBit(info.dtype().blockBytes()), 1, MAX_ALIGNMENT);
        if (length() > 0 && address() % alignment != 0) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, "TensorLoan", info.file(),
                    "tensor %s of %s begins at byte %s, no multiple of %s: load aligns it".formatted(
                            CheckpointException.quote(info.name()), info.dtype(), info.fileOffset(), alignment));
        }
    }

    /**
     * Returns the tensor in host memory, so that the same program runs with and without a GPU.
     *
     * @return this tensor if it has a {@link #segment}, else a copy of its own; the garbage collector frees the copy
     * @throws CuFileException CUDA_POINTER_INVALID if the tensor is freed; NOMEM_ERROR if the JVM's limit of direct memory
     *         ({@code -XX:MaxDirectMemorySize}) leaves too little: {@link LoadedTensors#copyToHost} copies into memory of the program;
     *         CUDA_MEMORY_TYPE_INVALID for memory of the program that has no segment
     */
    public LoadedTensor toHost() {
        if (range.segment().isPresent()) {
            return this;
        }
        return new LoadedTensor(info, MemoryRange.ofSegment(copy(Arena.ofAuto(), range)));
    }

    /** Copies {@code to.byteSize()} bytes, beginning at {@code offset}. */
    void copyToHost(long offset, MemorySegment to) {
        MemoryRange from = range.slice(offset, to.byteSize());
        if (allocator == null) {
            to.copyFrom(segment().asSlice(offset, to.byteSize()));
        } else if (from.length() > 0) {
            allocator.copyToHost(from, to);
        }
    }

    /** Copies the tensor, or a part of it, to memory of the arena. */
    private MemorySegment copy(Arena arena, MemoryRange part) {
        if (allocator == null) {
            return segment();
        }
        MemorySegment to;
        try {
            to = arena.allocate(Math.max(1, part.length()), Long.BYTES).asSlice(0, part.length());
        } catch (OutOfMemoryError e) {
            throw failure(
                    CuFileError.NOMEM_ERROR,
                    "has %s bytes, for which the JVM has too little direct memory".formatted(part.length()));
        }
        if (part.length() > 0) {
            allocator.copyToHost(part, to);
        }
        return to;
    }

    /**
     * Returns what the tensor has at an index of its first dimension: a row of a matrix, a matrix of a tensor of three dimensions.
     *
     * @return a view of this tensor's memory with the other dimensions, the same name and the row's place in the file
     * @throws CuFileException INVALID_VALUE for a scalar, an index outside the first dimension, and rows of quantised types that do not
     *         begin with a block
     * @throws CheckpointException TENSOR_ORDER unless the tensor is row-major
     */
    public LoadedTensor row(long index) {
        requireRowMajor();
        List<Long> shape = info.shape();
        if (shape.isEmpty() || index < 0 || Long.compareUnsigned(index, shape.getFirst()) >= 0) {
            throw invalid("of shape %s has no row %s".formatted(shape, index));
        }
        List<Long> rest = shape.subList(1, shape.size());
        long bytes = info.dtype().bytes(rest).orElseThrow(() -> invalid(
                "of type %s and shape %s has rows that do not begin with a block".formatted(info.dtype(), shape)));
        TensorInfo row = new TensorInfo(
                info.name(), info.dtype(), rest, info.file(), info.fileOffset() + index * bytes, bytes);
        return new LoadedTensor(row, range.slice(index * bytes, bytes), allocator);
    }

    /**
     * Views the bytes of a tensor of any type in host memory as they lie there, in {@link TensorInfo#order}.
     *
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID as {@link #segment}; INVALID_VALUE for more than 2^31-1 bytes
     */
    public ByteBuffer asByteBuffer() {
        MemorySegment segment = segment();
        if (segment.byteSize() > Integer.MAX_VALUE) {
            throw invalid(
                    "has %s bytes, more than a buffer may have; segment() views it".formatted(segment.byteSize()));
        }
        return segment.asByteBuffer().order(ByteOrder.LITTLE_ENDIAN);
    }

    /**
     * Views an F32 tensor in host memory.
     *
     * @throws CuFileException as {@link #asByteBuffer}; INVALID_VALUE for another type
     * @throws CheckpointException TENSOR_ORDER unless the tensor is row-major
     */
    public FloatBuffer asFloatBuffer() {
        require(info.dtype().equals(DType.F32), FloatDecoder.of(info.dtype()).isPresent()
                ? "a view of floats needs F32; toFloatArray() decodes this type"
                : "a view of floats needs F32; segment() has the elements, in blocks of %s elements and %s bytes"
                        .formatted(info.dtype().blockElements(), info.dtype().blockBytes()));
        return rowMajor().asFloatBuffer();
    }

    /**
     * Views an F64 tensor in host memory.
     *
     * @throws CuFileException as {@link #asByteBuffer}; INVALID_VALUE for another type
     * @throws CheckpointException TENSOR_ORDER unless the tensor is row-major
     */
    public DoubleBuffer asDoubleBuffer() {
        require(info.dtype().equals(DType.F64), "a view of doubles needs F64");
        return rowMajor().asDoubleBuffer();
    }

    /**
     * Views an I32 or U32 tensor in host memory; {@link Integer#toUnsignedLong} gives the value of a U32 element.
     *
     * @throws CuFileException as {@link #asByteBuffer}; INVALID_VALUE for another type
     * @throws CheckpointException TENSOR_ORDER unless the tensor is row-major
     */
    public IntBuffer asIntBuffer() {
        require(info.dtype().equals(DType.I32) || info.dtype().equals(DType.U32), "a view of ints needs I32 or U32");
        return rowMajor().asIntBuffer();
    }

    /**
     * Views an I64 or U64 tensor in host memory.
     *
     * @throws CuFileException as {@link #asByteBuffer}; INVALID_VALUE for another type
     * @throws CheckpointException TENSOR_ORDER unless the tensor is row-major
     */
    public LongBuffer asLongBuffer() {
        require(info.dtype().equals(DType.I64) || info.dtype().equals(DType.U64), "a view of longs needs I64 or U64");
        return rowMajor().asLongBuffer();
    }

    /**
     * Views an I16 or U16 tensor in host memory, or the bits of an F16 or BF16 tensor.
     *
     * @throws CuFileException as {@link #asByteBuffer}; INVALID_VALUE for another type
     * @throws CheckpointException TENSOR_ORDER unless the tensor is row-major
     */
    public ShortBuffer asShortBuffer() {
        require(
                info.dtype().equals(DType.I16)
                        || info.dtype().equals(DType.U16)
                        || info.dtype().equals(DType.F16)
                        || info.dtype().equals(DType.BF16),
                "a view of shorts needs I16, U16, F16 or BF16");
        return rowMajor().asShortBuffer();
    }

    /**
     * Copies the bytes, in the {@link TensorInfo#order} of the tensor, into an array.
     *
     * @throws CuFileException INVALID_VALUE for 2^31-8 bytes or more: {@link LoadedTensors#copyToHost} copies them into native memory;
     *         CUDA_MEMORY_TYPE_INVALID as {@link #toHost}
     */
    public byte[] toByteArray() {
        if (length() > Integer.MAX_VALUE - Long.BYTES) {
            throw invalid("has %s bytes, more than an array may have".formatted(length()));
        }
        byte[] bytes = new byte[(int) length()];
        copyToHost(0, MemorySegment.ofArray(bytes));
        return bytes;
    }

    /**
     * Decodes a tensor of F32, F16, BF16, an 8-bit float type or blocks of ggml: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL
     * and MXFP4. Floats are exact, because every value of these types is a float; blocks have the values that ggml computes.
     * F8_E4M3 is the type of safetensors and PyTorch without infinities (E4M3FN). A tensor in GPU memory is copied first.
     *
     * @return a new array of all elements in row-major order
     * @throws CuFileException as {@link #toHost}; INVALID_VALUE for another type, or for more elements than an array may have, which
     *         {@link #copyFloats} decodes in parts
     */
    public float[] toFloatArray() {
        FloatDecoder decoder = decoder();
        long elements = decodedElements();
        if (elements > Integer.MAX_VALUE - Long.BYTES) {
            throw invalid("has %s elements, more than an array may have".formatted(elements));
        }
        float[] floats = new float[(int) elements];
        decode(decoder, 0, floats, 0, floats.length);
        if (info.order().isRowMajor()) {
            return floats;
        }
        float[] sorted = new float[floats.length];
        RowMajor.of(info, Float.BYTES).move(MemorySegment.ofArray(floats), 0, MemorySegment.ofArray(sorted));
        return sorted;
    }

    /**
     * Decodes a part of a tensor into an array, as {@link #toFloatArray} decodes all of it. The part may begin and end within a block.
     * Of a tensor in GPU memory only the part is copied.
     *
     * <pre>{@code
     * float[] part = new float[1 << 20];
     * for (long first = 0; first < tensor.elements(); first += part.length) {
     *     int count = (int) Math.min(part.length, tensor.elements() - first);
     *     tensor.copyFloats(first, part, 0, count);
     *     use(part, count);
     * }
     * }</pre>
     *
     * @param first number of the first element in row-major order
     * @param to destination
     * @param at index of the first element in the destination
     * @param count number of elements, 0 or more
     * @throws CuFileException as {@link #toHost}; INVALID_VALUE for another type, and for elements outside the tensor or the array
     * @throws CheckpointException TENSOR_ORDER unless the tensor is row-major
     */
    public void copyFloats(long first, float[] to, int at, int count) {
        FloatDecoder decoder = decoder();
        requireRowMajor();
        long elements = decodedElements();
        if (first < 0 || count < 0 || first > elements - count || at < 0 || at > to.length - count) {
            throw invalid(
                    "has %s elements; elements %s and on, %s in number, do not fit it and index %s of an array of %s"
                            .formatted(elements, first, count, at, to.length));
        }
        if (count > 0) {
            decode(decoder, first, to, at, count);
        }
    }

    private FloatDecoder decoder() {
        return FloatDecoder.of(info.dtype()).orElseThrow(() -> invalid(
                "is of type %s, which is not decoded to floats; segment() has its elements".formatted(info.dtype())));
    }

    private long decodedElements() {
        return range.length() / info.dtype().blockBytes() * info.dtype().blockElements();
    }

    private void decode(FloatDecoder decoder, long first, float[] to, int at, int count) {
        if (range.segment().isPresent()) {
            decoder.decode(segment(), first, to, at, count);
            return;
        }
        int block = info.dtype().blockElements();
        long begin = first / block;
        long end = (first + count + block - 1) / block;
        try (Arena arena = Arena.ofConfined()) {
            int bytes = info.dtype().blockBytes();
            MemorySegment blocks = copy(arena, range.slice(begin * bytes, (end - begin) * bytes));
            decoder.decode(blocks, first % block, to, at, count);
        }
    }

    /** Views the bytes of a tensor whose elements follow each other in row-major order. */
    private ByteBuffer rowMajor() {
        requireRowMajor();
        return asByteBuffer();
    }

    private void requireRowMajor() {
        if (!info.order().isRowMajor()) {
            throw CheckpointException.of(
                    CheckpointRule.TENSOR_ORDER,
                    info.file(),
                    -1,
                    info.name(),
                    "tensor %s of shape %s is %s; asByteBuffer() and TensorInfo.strides() give its elements"
                            .formatted(CheckpointException.quote(info.name()), info.shape(), info.order()));
        }
    }

    private void require(boolean valid, String rule) {
        if (!valid) {
            throw invalid("is of type %s: %s".formatted(info.dtype(), rule));
        }
    }

    private CuFileException invalid(String detail) {
        return failure(CuFileError.INVALID_VALUE, detail);
    }

    private CuFileException failure(CuFileError error, String detail) {
        return CuFileException.of(
                error, FUNCTION, info.file(), "tensor %s %s".formatted(CheckpointException.quote(info.name()), detail));
    }

    @Override
    public String toString() {
        return "LoadedTensor[%s, %s]".formatted(info, range);
    }
}
