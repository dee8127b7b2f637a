package io.gds4j.ffi.torch;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.DynamicLoader;
import io.gds4j.ffi.Linkage;
import io.gds4j.ffi.NativeSegments;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The libtorch that this process has loaded, by the functions that it keeps stable for compiled models. Its handles are pointers to
 * {@code at::Tensor} on the heap. Thread-safe.
 */
public final class TorchLibrary {
    /** {@code aoti_torch_device_type_cpu()}. */
    public static final int CPU = 0;
    /** {@code aoti_torch_device_type_cuda()}. */
    public static final int CUDA = 1;

    private static final String LIBRARY = "libtorch_cpu.so";
    private static final String CREATE = "aoti_torch_create_tensor_from_blob";

    /** A library that is loaded stays so. */
    private static @Nullable TorchLibrary loaded;

    /** {@code at::Tensor at::fromDLPack(DLManagedTensor*)}. */
    private static final String FROM_DLPACK = "_ZN2at10fromDLPackEP15DLManagedTensor";
    private static final String NEW = "aoti_torch_new_uninitialized_tensor";
    /**
     * What a C++ object of any size comes back through: a struct of more than 16 bytes is returned in memory, as every object with a
     * destructor is. An {@code at::Tensor} is the first 8 bytes.
     */
    private static final MemoryLayout OBJECT = MemoryLayout.structLayout(JAVA_LONG, JAVA_LONG, JAVA_LONG);

    private final MethodHandle create;
    /** Null for a library without {@code at::fromDLPack}. */
    private final @Nullable MethodHandle fromDlPack;
    private final @Nullable MethodHandle newTensor;

    private TorchLibrary(MethodHandle create, @Nullable MethodHandle fromDlPack, @Nullable MethodHandle newTensor) {
        this.create = create;
        this.fromDlPack = fromDlPack;
        this.newTensor = newTensor;
    }

    /**
     * Returns the library. Call it only after an engine has loaded it.
     *
     * @throws CuFileException PLATFORM_NOT_SUPPORTED if there is none, or one before PyTorch 2.2
     */
    public static synchronized TorchLibrary loaded() {
        if (loaded == null) {
            loaded = load(LIBRARY);
        }
        return loaded;
    }

    static TorchLibrary load(String library) {
        return switch (DynamicLoader.open(library)) {
            case DynamicLoader.Unlinked unlinked -> throw refused(unlinked.reason());
            case DynamicLoader.NotLoaded not -> throw refused(not.reason());
            case DynamicLoader.Loaded loaded -> link(library, loaded.symbols());
        };
    }

    private static TorchLibrary link(String library, SymbolLookup symbols) {
        MemorySegment function = symbols.find(CREATE)
                .orElseThrow(() -> refused("%s lacks %s; PyTorch 2.2 and newer have it".formatted(library, CREATE)));
        Linker linker = Linker.nativeLinker();
        return new TorchLibrary(
                linker.downcallHandle(
                        function,
                        FunctionDescriptor.of(
                                JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT,
                                JAVA_INT,
                                ADDRESS)),
                symbols.find(FROM_DLPACK)
                        .map(found -> linker.downcallHandle(found, FunctionDescriptor.of(OBJECT, JAVA_LONG)))
                        .orElse(null),
                symbols.find(NEW)
                        .map(found -> linker.downcallHandle(found, FunctionDescriptor.of(JAVA_INT, ADDRESS)))
                        .orElse(null));
    }

    /** Returns whether {@link #tensorOf} works: the storage of its tensors knows a deleter, so views keep the memory, too. */
    public boolean takesDlPack() {
        return fromDlPack != null && newTensor != null;
    }

    /**
     * Takes a managed tensor of DLPack, unversioned, in host memory. PyTorch calls its deleter when the last view is gone.
     *
     * @param managed the struct; its element type and shape must be ones that PyTorch has: an exception of C++ would end the process
     * @return handle of the tensor, which the caller deletes
     * @throws CuFileException CUDA_DRIVER_ERROR if PyTorch has no memory for a tensor; the struct stays the caller's then
     */
    public long tensorOf(long managed) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(JAVA_LONG);
            int result = (int) Objects.requireNonNull(newTensor).invokeExact(handle);
            if (result != 0) {
                throw CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, NEW, "PyTorch makes no tensor");
            }
            long tensor = handle.get(JAVA_LONG, 0);
            MemorySegment object = (MemorySegment) Objects.requireNonNull(fromDlPack)
                    .invokeExact((SegmentAllocator) arena, managed);
            // an undefined tensor owns nothing: the pointer inside is replaced by the one that the object would release
            NativeSegments.of(tensor, Long.BYTES).set(JAVA_LONG, 0, object.get(JAVA_LONG, 0));
            return tensor;
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /**
     * Creates a tensor over memory that the caller keeps.
     *
     * @param data first byte
     * @param shape dimensions
     * @param strides elements from one index to the next, as many as dimensions
     * @param dtype number of {@code at::ScalarType}
     * @param deviceType {@link #CPU} or {@link #CUDA}
     * @param device ordinal of the GPU; 0 for host memory
     * @return handle of the tensor, which the caller deletes
     * @throws CuFileException CUDA_DRIVER_ERROR if PyTorch refuses; it prints the reason
     */
    public long tensorOver(long data, long[] shape, long[] strides, int dtype, int deviceType, int device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(JAVA_LONG);
            int result = (int) create.invokeExact(
                    data,
                    (long) shape.length,
                    arena.allocateFrom(JAVA_LONG, shape),
                    arena.allocateFrom(JAVA_LONG, strides),
                    0L,
                    dtype,
                    deviceType,
                    device,
                    handle);
            if (result != 0) {
                throw CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, CREATE, "PyTorch refused the tensor");
            }
            return handle.get(JAVA_LONG, 0);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    private static CuFileException refused(String reason) {
        return CuFileException.of(CuFileError.PLATFORM_NOT_SUPPORTED, "libtorch", reason);
    }
}
