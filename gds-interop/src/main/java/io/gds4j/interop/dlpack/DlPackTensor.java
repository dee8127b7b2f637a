package io.gds4j.interop.dlpack;

import io.gds4j.ffi.dlpack.ManagedTensors;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Memory described as a tensor: element type, shape, strides, device. Immutable; owns nothing.
 *
 * <pre>{@code
 * try (DlPackCapsule capsule = DlPackTensor.of(tensors.get("lm_head.weight")).capsule()) {
 *     consumer.accept(capsule.handOver());       // the consumer's deleter ends the loan
 * }
 * }</pre>
 *
 * @param range memory that contains all elements; the first element is its first byte
 * @param type element type
 * @param shape dimensions, each 0 or more; at most 64; empty for a scalar
 * @param strides elements from one index of a dimension to the next, each 0 or more where there is a next one
 * @param device where consumers look for the memory
 * @param flags what consumers must know
 * @since 0.1
 */
public record DlPackTensor(
        MemoryRange range,
        DlPackType type,
        List<Long> shape,
        List<Long> strides,
        DlPackDevice device,
        Set<DlPackFlag> flags) {

    /**
     * Creates a description.
     *
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for a shape or strides out of range, for strides of packed elements
     *         shorter than a byte, and for elements outside the memory
     */
    public DlPackTensor {
        shape = List.copyOf(shape);
        strides = List.copyOf(strides);
        flags = flags.isEmpty() ? Set.of() : Set.copyOf(flags);
        Objects.requireNonNull(device, "device");
        long bytes = extent(type, shape, strides, flags.contains(DlPackFlag.SUBBYTE_PADDED));
        if (bytes > range.length()) {
            throw Refusals
                    .invalid("a tensor of shape %s, strides %s and %s bits per element has %s bytes, its memory %s"
                            .formatted(shape, strides, type.elementBits(), bytes, range.length()));
        }
    }

    /**
     * Describes compact memory in row-major order.
     *
     * @param range memory; longer than the tensor is allowed
     * @param type element type
     * @param shape dimensions, slowest first
     * @return the description; READ_ONLY for memory over a read-only segment
     * @throws io.gds4j.error.CuFileException INVALID_VALUE as the constructor
     */
    public static DlPackTensor compact(MemoryRange range, DlPackType type, List<Long> shape) {
        return of(range, type, shape, compactStrides(shape));
    }

    /**
     * Describes a tensor of a checkpoint, with the strides of its {@link TensorInfo#order}.
     *
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for an element type without an equivalent, such as a quantised type
     */
    public static DlPackTensor of(LoadedTensor tensor) {
        TensorInfo info = tensor.info();
        return of(tensor.range(), DlPackType.of(info.dtype()), info.shape(), info.strides());
    }

    private static DlPackTensor of(MemoryRange range, DlPackType type, List<Long> shape, List<Long> strides) {
        Set<DlPackFlag> flags = range.isWritable() ? Set.of() : EnumSet.of(DlPackFlag.READ_ONLY);
        return new DlPackTensor(range, type, shape, strides, DlPackDevice.of(range), flags);
    }

    /**
     * Names another device for the same memory, such as {@link DlPackDevice#CPU} for pinned memory and a consumer that does not
     * know {@link DlPackDevice#CUDA_HOST}.
     *
     * @param other the device
     * @return the same tensor on that device
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for a GPU and memory of the host, or the other way round, and for a
     *         device that CUDA does not know
     */
    public DlPackTensor onDevice(DlPackDevice other) {
        boolean fits = range.kind().isHost()
                ? other.equals(DlPackDevice.CPU) || other.equals(DlPackDevice.CUDA_HOST)
                : other.isGpu();
        if (!fits) {
            throw Refusals.invalid("%s memory is not on %s".formatted(range.kind(), other));
        }
        return new DlPackTensor(range, type, shape, strides, other, flags);
    }

    /**
     * Returns the same tensor with a flag.
     *
     * @param flag what consumers must know
     * @return the tensor with this flag and those it had
     */
    public DlPackTensor with(DlPackFlag flag) {
        Set<DlPackFlag> all = EnumSet.of(flag);
        all.addAll(flags);
        return new DlPackTensor(range, type, shape, strides, device, all);
    }

    /**
     * Groups neighbours of the last dimension into vectors. PyTorch has 4-bit floats in pairs only: pass 2.
     *
     * @param lanes elements of a vector, 1 to 65535
     * @return the same memory as a tensor of vectors
     * @throws io.gds4j.error.CuFileException INVALID_VALUE for a scalar, for strides, for vectors, for elements that are padded to a
     *         byte, and for a last dimension that lanes do not divide
     */
    public DlPackTensor vectors(int lanes) {
        boolean padded = flags.contains(DlPackFlag.SUBBYTE_PADDED) && type.bits() % Byte.SIZE != 0;
        if (padded || shape.isEmpty() || !isCompact() || type.lanes() != 1 || lanes < 1
                || shape.getLast() % lanes != 0) {
            throw Refusals.invalid("a tensor of shape %s, strides %s, flags %s and %s lanes has no vectors of %s"
                    .formatted(shape, strides, flags, type.lanes(), lanes));
        }
        List<Long> shorter = new ArrayList<>(shape);
        shorter.set(shape.size() - 1, shape.getLast() / lanes);
        DlPackType vector = new DlPackType(type.code(), type.bits(), lanes);
        return new DlPackTensor(range, vector, shorter, compactStrides(shorter), device, flags);
    }

    /** Returns true if the elements follow each other in row-major order. */
    public boolean isCompact() {
        return isCompact(shape, strides);
    }

    /** Returns true if a consumer may write to the memory. */
    public boolean isWritable() {
        return !flags.contains(DlPackFlag.READ_ONLY);
    }

    /** Returns the bytes from the first to the last element. */
    public long bytes() {
        return extent(type, shape, strides, flags.contains(DlPackFlag.SUBBYTE_PADDED));
    }

    /**
     * Lends the tensor to another runtime, as DLPack 1.x. The memory cannot be freed until the consumer has called the deleter:
     * closing it throws EBUSY.
     *
     * @return the capsule; the caller hands it over or closes it
     * @throws io.gds4j.error.CuFileException as {@link #capsule(DlPackVersion)}
     */
    public DlPackCapsule capsule() {
        return capsule(DlPackVersion.VERSIONED);
    }

    /**
     * Lends the tensor to another runtime.
     *
     * @param version the struct that the consumer knows
     * @return the capsule; the caller hands it over or closes it
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_INVALID if the memory is freed; INVALID_VALUE for a segment of an
     *         arena that the program can close, and for flags that an unversioned struct cannot express
     */
    public DlPackCapsule capsule(DlPackVersion version) {
        return DlPackCapsule.lend(this, version);
    }

    /**
     * Gives the tensor away, once, as DLPack 1.x: the consumer's deleter closes {@code owner}, which the program can no longer close,
     * lend or give.
     *
     * @param owner memory that contains the tensor, such as from {@link io.gds4j.loader.LoadedTensors#take}
     * @return the capsule; closing it unused closes {@code owner}
     * @throws io.gds4j.error.CuFileException INVALID_VALUE if the tensor is outside of {@code owner}; CUDA_POINTER_INVALID if it
     *         is closed; IO_NOT_SUPPORTED (EBUSY) if it is registered, lent or given already
     */
    public DlPackCapsule give(MemoryAllocation owner) {
        return DlPackCapsule.give(this, DlPackVersion.VERSIONED, owner);
    }

    static List<Long> compactStrides(List<Long> shape) {
        Long[] strides = new Long[shape.size()];
        long stride = 1;
        for (int i = strides.length - 1; i >= 0; i--) {
            strides[i] = stride;
            stride = product(stride, Math.max(1, shape.get(i)));
        }
        return List.of(strides);
    }

    /** Returns 2^63-1 for a larger product: its tensor is empty, or the constructor refuses it as too long. */
    private static long product(long left, long right) {
        return Math.multiplyHigh(left, right) == 0 && left * right >= 0 ? left * right : Long.MAX_VALUE;
    }

    private static boolean isCompact(List<Long> shape, List<Long> strides) {
        if (shape.contains(0L)) {
            return true;
        }
        long stride = 1;
        for (int i = shape.size() - 1; i >= 0; i--) {
            if (shape.get(i) != 1 && strides.get(i) != stride) {
                return false;
            }
            stride *= shape.get(i);
        }
        return true;
    }

    /** Returns the bytes up to the end of the last element. */
    private static long extent(DlPackType type, List<Long> shape, List<Long> strides, boolean padded) {
        if (shape.size() > ManagedTensors.MAX_RANK || strides.size() != shape.size()) {
            throw Refusals.invalid("shape has %s and strides %s dimensions; allowed are 0 to %s, and as many strides"
                    .formatted(shape.size(), strides.size(), ManagedTensors.MAX_RANK));
        }
        int bits = type.elementBits();
        if (shape.stream().anyMatch(size -> size < 0)) {
            throw Refusals.invalid("shape %s is negative".formatted(shape));
        }
        if (shape.contains(0L)) {
            return 0;
        }
        for (int i = 0; i < shape.size(); i++) {
            // NumPy leaves any stride in a dimension with one index, where it has no meaning.
            if (shape.get(i) > 1 && strides.get(i) < 0) {
                throw Refusals.invalid("strides %s of shape %s are negative".formatted(strides, shape));
            }
        }
        boolean whole = padded || bits % Byte.SIZE == 0;
        if (!whole && !isCompact(shape, strides)) {
            throw Refusals.invalid("packed elements of %s bits have strides %s; allowed are compact ones"
                    .formatted(bits, strides));
        }
        try {
            long last = 0;
            for (int i = 0; i < shape.size(); i++) {
                last = Math.addExact(last, Math.multiplyExact(shape.get(i) - 1, strides.get(i)));
            }
            long elements = Math.addExact(last, 1);
            return whole
                    ? Math.multiplyExact(elements, (bits + Byte.SIZE - 1) / Byte.SIZE)
                    : Math.ceilDiv(Math.multiplyExact(elements, bits), Byte.SIZE);
        } catch (ArithmeticException e) {
            throw Refusals
                    .invalid("a tensor of shape %s and strides %s exceeds 2^63-1 bytes".formatted(shape, strides));
        }
    }
}
