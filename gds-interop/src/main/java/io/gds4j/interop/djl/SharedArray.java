package io.gds4j.interop.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.engine.PtNDManager;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.torch.TorchLibrary;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.interop.dlpack.DlPackTensor;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An array of DJL's PyTorch engine that shares the memory of a tensor. Nothing is copied.
 *
 * <pre>{@code
 * try (SharedArray weight = SharedArray.of(tensors.get("weight"), manager)) {
 *     NDArray output = input.matMul(weight.array());
 * }
 * }</pre>
 *
 * <p>
 * The memory cannot be freed until {@link #close}: closing it throws EBUSY. Close this object after the last use of the array
 * and of its views; the array has no other tie to the memory. DJL calls the type of BF16 tensors unknown: {@code toType}
 * converts them. Thread-safe as the array is.
 *
 * @since 0.1
 */
@SuppressWarnings("exports") // DJL is optional: a program that shares arrays requires it itself
public final class SharedArray implements AutoCloseable {
    private static final String FUNCTION = "SharedArray.of";

    /** Numbers of {@code at::ScalarType} for the types that DJL has, too. */
    private static final Map<DType, Integer> TYPES = Map.of(
            DType.U8, 0,
            DType.I8, 1,
            DType.I32, 3,
            DType.I64, 4,
            DType.F16, 5,
            DType.F32, 6,
            DType.F64, 7,
            DType.C64, 9,
            DType.BOOL, 11,
            DType.BF16, 15);

    private final NDArray array;
    private final MemoryRange memory;
    private final AtomicBoolean closed = new AtomicBoolean();

    private SharedArray(NDArray array, MemoryRange memory) {
        this.array = array;
        this.memory = memory;
    }

    /**
     * Shares a tensor.
     *
     * @param tensor a tensor in host or GPU memory
     * @param manager a manager of the PyTorch engine, which owns the array
     * @return the array, to be closed before the memory
     * @throws CuFileException INVALID_VALUE for a manager of another engine, a type that DJL lacks, a tensor without elements,
     *         read-only memory and a segment of an arena that the program can close; CUDA_MEMORY_TYPE_INVALID for managed memory; CUDA_POINTER_INVALID if the memory is freed; PLATFORM_NOT_SUPPORTED
     *         for a PyTorch before 2.2
     */
    public static SharedArray of(LoadedTensor tensor, NDManager manager) {
        Integer type = TYPES.get(tensor.info().dtype());
        if (type == null) {
            throw CuFileException.invalid(FUNCTION, "DJL has no type %s".formatted(tensor.info().dtype()));
        }
        MemoryRange memory = tensor.range();
        if (memory.length() == 0) {
            throw CuFileException.invalid(FUNCTION, "the tensor has no elements");
        }
        if (memory.kind() == MemoryKind.CUDA_MANAGED) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, FUNCTION, "PyTorch does not take managed memory");
        }
        if (!memory.isWritable()) {
            throw CuFileException.invalid(FUNCTION, "the memory is read-only, and PyTorch has no such arrays");
        }
        if (!memory.outlivesCall()) {
            throw CuFileException.invalid(FUNCTION,
                    "the program could close the arena of the tensor's memory under the array;"
                            + " use an allocation, or an automatic or global arena");
        }
        if (!(manager instanceof PtNDManager pytorch)) {
            throw CuFileException.invalid(FUNCTION,
                    "the manager is of the engine %s; allowed is PyTorch"
                            .formatted(manager.getEngine().getEngineName()));
        }
        DlPackTensor described = DlPackTensor.of(tensor);
        boolean gpu = memory.kind().isCuda();
        MemoryAccess.USES.claim(memory);
        return Undo.ifFails(() -> MemoryAccess.USES.unclaim(memory), () -> {
            long handle = TorchLibrary.loaded()
                    .tensorOver(
                            memory.address(),
                            longs(described.shape()),
                            longs(described.strides()),
                            type,
                            gpu ? TorchLibrary.CUDA : TorchLibrary.CPU,
                            gpu ? memory.device() : 0);
            return new SharedArray(new PtNDArray(pytorch, handle), memory);
        });
    }

    private static long[] longs(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).toArray();
    }

    /** Returns the array; writing to it writes to the tensor. */
    public NDArray array() {
        return array;
    }

    /** Closes the array, then lets the memory be freed. Idempotent. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            try {
                array.close();
            } finally {
                MemoryAccess.USES.unclaim(memory);
            }
        }
    }
}
