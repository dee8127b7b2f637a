package io.gds4j.interop.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.engine.PtNDManager;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.dlpack.ManagedTensors;
import io.gds4j.ffi.dlpack.ManagedTensors.StructKind;
import io.gds4j.ffi.dlpack.ManagedTensors.TensorFields;
import io.gds4j.ffi.torch.TorchLibrary;
import io.gds4j.internal.lifetime.CallSite;
import io.gds4j.internal.lifetime.Loan;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.interop.dlpack.DlPackDevice;
import io.gds4j.interop.dlpack.DlPackTensor;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.List;
import java.util.Map;

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
 * The memory is lent until the array and its views are closed, by the program or by their manager: until then closing the memory throws
 * EBUSY. In GPU memory, and with a PyTorch whose {@code at::fromDLPack} or {@code aoti_torch_new_uninitialized_tensor} is missing, views do
 * not count: close them before the array. DJL calls the type of BF16 tensors unknown: {@code toType} converts them. Thread-safe as the
 * array is.
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

    private SharedArray(NDArray array) {
        this.array = array;
    }

    /**
     * Shares a tensor.
     *
     * @param tensor a tensor in host or GPU memory
     * @param manager a manager of the PyTorch engine, which owns the array
     * @return the array; closing it, or its manager, ends the loan
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
        DlPackTensor described = DlPackTensor.of(tensor);
        Loan loan = MemoryAccess.USES.lend(memory, "SharedArray.of(%s), at %s".formatted(
                CheckpointException.quote(tensor.name()), CallSite.ofCaller()));
        return Undo.ifFails(loan::close, () -> new SharedArray(share(described, type, loan, manager)));
    }

    private static NDArray share(DlPackTensor described, int type, Loan loan, NDManager manager) {
        if (!(manager instanceof PtNDManager pytorch)) {
            throw CuFileException.invalid(FUNCTION,
                    "the manager is of the engine %s; allowed is PyTorch"
                            .formatted(manager.getEngine().getEngineName()));
        }
        TorchLibrary torch = TorchLibrary.loaded();
        if (described.range().kind().isCuda() || !torch.takesDlPack()) {
            return new LoanedArray(pytorch, over(torch, described, type), loan);
        }
        long struct = ManagedTensors.create(StructKind.UNVERSIONED, fields(described), loan::close);
        long handle = Undo.ifFails(
                () -> ManagedTensors.delete(StructKind.UNVERSIONED, struct), () -> torch.tensorOf(struct));
        return new PtNDArray(pytorch, handle);
    }

    /** An array whose storage knows no deleter: the loan ends with the array, by its manager or without. */
    private static final class LoanedArray extends PtNDArray {
        private final Loan loan;

        LoanedArray(PtNDManager manager, long handle, Loan loan) {
            super(manager, handle);
            this.loan = loan;
        }

        @Override
        public void close() {
            try {
                super.close();
            } finally {
                loan.close();
            }
        }
    }

    private static long over(TorchLibrary torch, DlPackTensor described, int type) {
        MemoryRange memory = described.range();
        boolean gpu = memory.kind().isCuda();
        return torch.tensorOver(
                memory.address(),
                longs(described.shape()),
                longs(described.strides()),
                type,
                gpu ? TorchLibrary.CUDA : TorchLibrary.CPU,
                gpu ? memory.device() : 0);
    }

    /** PyTorch knows no pinned memory in DLPack: all memory of the host is that of the CPU. */
    private static TensorFields fields(DlPackTensor described) {
        return new TensorFields(
                described.range().address(),
                DlPackDevice.CPU.type(),
                DlPackDevice.CPU.id(),
                described.type().code(),
                described.type().bits(),
                described.type().lanes(),
                described.shape(),
                described.strides(),
                0);
    }

    private static long[] longs(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).toArray();
    }

    /** Returns the array; writing to it writes to the tensor. */
    public NDArray array() {
        return array;
    }

    /** Closes the array. The memory may be freed once its last view is closed, too. Idempotent. */
    @Override
    public void close() {
        array.close();
    }
}
