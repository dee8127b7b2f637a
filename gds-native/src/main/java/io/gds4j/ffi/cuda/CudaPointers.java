package io.gds4j.ffi.cuda;

/** Asks the driver about raw addresses. Thread-safe; needs no current context. */
public final class CudaPointers {
    private final Cuda cuda;

    /** Over an initialised driver. */
    public CudaPointers(Cuda cuda) {
        this.cuda = cuda;
    }

    /** What the driver knows of an address; {@link CudaPointer.Type#UNKNOWN} if nothing. */
    public CudaPointer classify(long address) {
        long[] value = new long[1];
        if (cuda.pointerGetAttribute(value, CudaAttributes.POINTER_MEMORY_TYPE, address) != Cuda.SUCCESS) {
            return new CudaPointer(address, CudaPointer.Type.UNKNOWN, -1, 0, 0, 0, 0, 0);
        }
        long memoryType = value[0];
        boolean managed = ask(CudaAttributes.POINTER_IS_MANAGED, address, value) != 0;
        return new CudaPointer(
                address,
                type(memoryType, managed),
                (int) ask(CudaAttributes.POINTER_DEVICE_ORDINAL, address, value),
                ask(CudaAttributes.POINTER_CONTEXT, address, value),
                ask(CudaAttributes.POINTER_RANGE_START, address, value),
                ask(CudaAttributes.POINTER_RANGE_SIZE, address, value),
                ask(CudaAttributes.POINTER_BUFFER_ID, address, value),
                ask(CudaAttributes.POINTER_MEMPOOL_HANDLE, address, value));
    }

    private static CudaPointer.Type type(long memoryType, boolean managed) {
        if (managed) {
            return CudaPointer.Type.MANAGED;
        }
        return memoryType == CudaAttributes.MEMORY_TYPE_HOST
                ? CudaPointer.Type.PINNED_HOST
                : CudaPointer.Type.DEVICE;
    }

    /** 0 for an attribute that the driver does not have for this memory. */
    private long ask(int attribute, long address, long[] value) {
        return cuda.pointerGetAttribute(value, attribute, address) == Cuda.SUCCESS ? value[0] : 0;
    }
}
