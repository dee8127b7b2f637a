package io.gds4j.ffi.dlpack;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.Linkage;
import io.gds4j.ffi.NativeSegments;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * Creates, reads and deletes managed tensors. Thread-safe.
 *
 * <p>
 * A struct, its shape and its strides are one block of malloc, because its deleter may run on any thread and at any time. All
 * structs share one deleter, which looks the struct up by its address: a second call finds nothing and reads no freed memory.
 */
public final class ManagedTensors {
    /** Version in our structs. Consumers of major version 1 accept any minor one. */
    public static final int MAJOR = 1;
    /** The minor version from which on a sub-byte float has a code and strides are always present. */
    public static final int MINOR = 3;
    /** Dimensions that NumPy and PyTorch accept. */
    public static final int MAX_RANK = 64;

    private static final System.Logger LOGGER = System.getLogger("io.gds4j.interop");
    private static final Linkage LIBC = Linkage.ofLibc();
    private static final MethodHandle MALLOC = LIBC.function("malloc", FunctionDescriptor.of(JAVA_LONG, JAVA_LONG));
    private static final MethodHandle FREE = LIBC.function("free", FunctionDescriptor.ofVoid(JAVA_LONG));

    /** Structs of ours that no deleter has freed yet. */
    private static final ConcurrentMap<Long, Runnable> LIVE = new ConcurrentHashMap<>();

    /** Linked at the first use: a program without DLPack makes no stub. */
    private static final class Calls {
        static final FunctionDescriptor TYPE = FunctionDescriptor.ofVoid(JAVA_LONG);
        static final long DELETER = deleter();
        /** Calls any deleter: the address of the function comes first. */
        static final MethodHandle DELETE = Linker.nativeLinker().downcallHandle(TYPE);

        private static long deleter() {
            try {
                MethodHandle target = MethodHandles.lookup()
                        .findStatic(
                                ManagedTensors.class, "deleteOurs", MethodType.methodType(void.class, long.class));
                return Linker.nativeLinker().upcallStub(target, TYPE, Arena.global()).address();
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }
    }

    private ManagedTensors() {
    }

    /**
     * Creates a struct whose deleter runs {@code release} once, on the thread that deletes.
     *
     * @return address of the struct
     */
    public static long create(StructKind kind, TensorFields fields, Runnable release) {
        int rank = fields.shape().size();
        long size = kind.layout.byteSize() + 2L * rank * Long.BYTES;
        long address = malloc(size);
        MemorySegment struct = NativeSegments.of(address, size);
        struct.fill((byte) 0);
        long shape = kind.layout.byteSize();
        long strides = shape + (long) rank * Long.BYTES;
        for (int i = 0; i < rank; i++) {
            struct.set(JAVA_LONG, shape + (long) i * Long.BYTES, fields.shape().get(i));
            struct.set(JAVA_LONG, strides + (long) i * Long.BYTES, fields.strides().get(i));
        }
        if (kind == StructKind.VERSIONED) {
            struct.set(JAVA_INT, 0, MAJOR);
            struct.set(JAVA_INT, Integer.BYTES, MINOR);
            struct.set(JAVA_LONG, kind.deleter + Long.BYTES, fields.flags());
        }
        struct.set(JAVA_LONG, kind.deleter, Calls.DELETER);
        MemorySegment tensor = struct.asSlice(kind.tensor, DlTensor.LAYOUT.byteSize());
        tensor.set(JAVA_LONG, DlTensor.DATA, fields.data());
        tensor.set(JAVA_INT, DlTensor.DEVICE_TYPE, fields.deviceType());
        tensor.set(JAVA_INT, DlTensor.DEVICE_ID, fields.deviceId());
        tensor.set(JAVA_INT, DlTensor.NDIM, rank);
        tensor.set(JAVA_BYTE, DlTensor.CODE, (byte) fields.code());
        tensor.set(JAVA_BYTE, DlTensor.BITS, (byte) fields.bits());
        tensor.set(JAVA_SHORT, DlTensor.LANES, (short) fields.lanes());
        tensor.set(JAVA_LONG, DlTensor.SHAPE, rank == 0 ? 0 : address + shape);
        tensor.set(JAVA_LONG, DlTensor.STRIDES, rank == 0 ? 0 : address + strides);
        LIVE.put(address, release);
        return address;
    }

    /** Returns the major version of a versioned struct: 1, or one whose fields this code must not read. */
    public static int majorVersion(long address) {
        return NativeSegments.of(address, Integer.BYTES).get(JAVA_INT, 0);
    }

    /**
     * Reads a struct of major version 1, or an unversioned one.
     *
     * @throws CuFileException INVALID_VALUE for more than {@link #MAX_RANK} dimensions or a shape that is missing
     */
    public static TensorFields read(StructKind kind, long address) {
        MemorySegment struct = NativeSegments.of(address, kind.layout.byteSize());
        MemorySegment tensor = struct.asSlice(kind.tensor, DlTensor.LAYOUT.byteSize());
        int rank = tensor.get(JAVA_INT, DlTensor.NDIM);
        if (rank < 0 || rank > MAX_RANK) {
            throw invalid("the tensor has %s dimensions; allowed are 0 to %s".formatted(rank, MAX_RANK));
        }
        long shape = tensor.get(JAVA_LONG, DlTensor.SHAPE);
        long strides = tensor.get(JAVA_LONG, DlTensor.STRIDES);
        if (rank > 0 && shape == 0) {
            throw invalid("the tensor has %s dimensions and no shape".formatted(rank));
        }
        long data = tensor.get(JAVA_LONG, DlTensor.DATA);
        long offset = tensor.get(JAVA_LONG, DlTensor.BYTE_OFFSET);
        if (Long.compareUnsigned(data + offset, data) < 0) {
            throw invalid("data 0x%x and byte offset %s wrap around".formatted(data, Long.toUnsignedString(offset)));
        }
        return new TensorFields(
                data == 0 ? 0 : data + offset,
                tensor.get(JAVA_INT, DlTensor.DEVICE_TYPE),
                tensor.get(JAVA_INT, DlTensor.DEVICE_ID),
                Byte.toUnsignedInt(tensor.get(JAVA_BYTE, DlTensor.CODE)),
                Byte.toUnsignedInt(tensor.get(JAVA_BYTE, DlTensor.BITS)),
                Short.toUnsignedInt(tensor.get(JAVA_SHORT, DlTensor.LANES)),
                longs(shape, rank),
                strides == 0 ? List.of() : longs(strides, rank),
                kind == StructKind.VERSIONED ? struct.get(JAVA_LONG, kind.deleter + Long.BYTES) : 0);
    }

    /** Calls the deleter of a struct of any version, once; does nothing if it has none. */
    public static void delete(StructKind kind, long address) {
        long deleter = NativeSegments.of(address, kind.deleter + Long.BYTES).get(JAVA_LONG, kind.deleter);
        if (deleter == 0) {
            return;
        }
        try {
            Calls.DELETE.invokeExact(MemorySegment.ofAddress(deleter), address);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Returns how many structs of ours wait for their deleter. */
    public static int live() {
        return LIVE.size();
    }

    /** The deleter. An exception here would end the process. */
    private static void deleteOurs(long address) {
        try {
            Runnable release = LIVE.remove(address);
            if (release != null) {
                FREE.invokeExact(address);
                release.run();
            }
        } catch (Throwable t) {
            LOGGER.log(Level.ERROR, "a tensor that another runtime deleted was not released", t);
        }
    }

    private static long malloc(long size) {
        try {
            long address = (long) MALLOC.invokeExact(size);
            if (address == 0) {
                throw CuFileException.of(CuFileError.NOMEM_ERROR, "malloc", "no memory for %s bytes".formatted(size));
            }
            return address;
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private static List<Long> longs(long address, int count) {
        MemorySegment array = NativeSegments.of(address, (long) count * Long.BYTES);
        List<Long> values = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            values.add(array.get(JAVA_LONG, (long) i * Long.BYTES));
        }
        return values;
    }

    private static CuFileException invalid(String detail) {
        return CuFileException.invalid("DLPack", detail);
    }

    /** The two structs by which DLPack hands a tensor over. */
    public enum StructKind {
        /** {@code DLManagedTensor}, before DLPack 1.0: neither version nor flags. */
        UNVERSIONED(DlTensor.MANAGED),
        /** {@code DLManagedTensorVersioned}, from DLPack 1.0 on. */
        VERSIONED(DlTensor.VERSIONED);

        final StructLayout layout;
        final long tensor;
        final long context;
        final long deleter;

        StructKind(StructLayout layout) {
            this.layout = layout;
            this.tensor = layout.byteOffset(PathElement.groupElement("dl_tensor"));
            this.context = layout.byteOffset(PathElement.groupElement("manager_ctx"));
            this.deleter = layout.byteOffset(PathElement.groupElement("deleter"));
        }
    }

    /**
     * The fields of a tensor as C has them, unchecked.
     *
     * @param data first byte, with {@code byte_offset} added; 0 for none
     * @param deviceType {@code DLDeviceType}
     * @param deviceId ordinal of the device
     * @param code {@code DLDataTypeCode}, 0 to 255
     * @param bits bits of a lane, 0 to 255
     * @param lanes lanes of an element, 0 to 65535
     * @param shape dimensions
     * @param strides elements from one index to the next, as many as dimensions; empty for compact row-major order
     * @param flags bits of {@code DLPACK_FLAG_BITMASK_*}; 0 in an unversioned struct
     */
    public record TensorFields(
            long data,
            int deviceType,
            int deviceId,
            int code,
            int bits,
            int lanes,
            List<Long> shape,
            List<Long> strides,
            long flags) {
        /** Copies the lists. */
        public TensorFields {
            shape = List.copyOf(shape);
            strides = List.copyOf(strides);
        }
    }
}
