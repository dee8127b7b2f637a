package io.gds4j.ffi.cuda;

/** Asks the driver about raw addresses. Thread-safe. Only {@link #synchronise} needs a current context. */
public final class CudaPointers {
    private final Cuda cuda;

    /** Uses an initialised driver. */
    public CudaPointers(Cuda cuda) {
        this.cuda = cuda;
    }

    private static final int[] ASKED = {
            CudaAttributes.POINTER_MEMORY_TYPE, CudaAttributes.POINTER_IS_MANAGED,
            CudaAttributes.POINTER_DEVICE_ORDINAL, CudaAttributes.POINTER_CONTEXT, CudaAttributes.POINTER_RANGE_START,
            CudaAttributes.POINTER_RANGE_SIZE, CudaAttributes.POINTER_BUFFER_ID,
            CudaAttributes.POINTER_MEMPOOL_HANDLE};

    /** Returns what the driver knows of an address; {@link CudaPointer.Type#UNKNOWN} if nothing. */
    public CudaPointer classify(long address) {
        long[] found = new long[ASKED.length];
        if (cuda.pointerGetAttributes(found, ASKED, address) != Cuda.SUCCESS) {
            return classifyOneByOne(address);
        }
        if (found[0] == 0) {
            return unknown(address);
        }
        return new CudaPointer(
                address, type(found[0], found[1] != 0), (int) found[2], found[3], found[4], found[5], found[6],
                found[7]);
    }

    /**
     * Finds the end of driver memory without a hole, over any number of mappings or allocations.
     *
     * @param address first byte
     * @param length bytes to look at, 1 or more
     * @return the first address that the driver does not know, or one at or behind the end of {@code length}
     */
    public long knownUpTo(long address, long length) {
        long end = address + length;
        long at = address;
        long[] start = new long[1];
        long[] size = new long[1];
        while (Long.compareUnsigned(at, end) < 0) {
            int first = cuda.pointerGetAttribute(start, CudaAttributes.POINTER_RANGE_START, at);
            int second = cuda.pointerGetAttribute(size, CudaAttributes.POINTER_RANGE_SIZE, at);
            long next = first == Cuda.SUCCESS && second == Cuda.SUCCESS ? start[0] + size[0] : 0;
            if (Long.compareUnsigned(next, at) <= 0) {
                return at;
            }
            at = next;
        }
        return at;
    }

    /** Returns whether an address is of memory that a program has mapped: the driver knows each of its mappings alone. */
    public boolean isMapped(long address) {
        CudaPointer found = classify(address);
        return found.type() == CudaPointer.Type.DEVICE && found.pool() == 0 && found.context() == 0;
    }

    /**
     * Makes synchronous copies from and to memory complete on return, since another device may read what they wrote
     * (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS). The call is expensive and holds for the life of an allocation, or of each mapping in the range.
     * The memory's context must be current.
     *
     * @return {@code CUresult}
     */
    public int synchronise(long address, long length) {
        long[] value = new long[1];
        long end = address + length;
        for (long at = address; Long.compareUnsigned(at, end) < 0;) {
            int asked = cuda.pointerGetAttribute(value, CudaAttributes.POINTER_SYNC_MEMOPS, at);
            if (asked != Cuda.SUCCESS || value[0] == 0) {
                int result = cuda.pointerSetAttribute(1, CudaAttributes.POINTER_SYNC_MEMOPS, at);
                if (result != Cuda.SUCCESS) {
                    return result;
                }
            }
            long next = knownUpTo(at, 1);
            at = next == at ? end : next; // a driver that does not tell where memory ends has marked it whole
        }
        return Cuda.SUCCESS;
    }

    private static CudaPointer unknown(long address) {
        return new CudaPointer(address, CudaPointer.Type.UNKNOWN, -1, 0, 0, 0, 0, 0);
    }

    /** Asks for each attribute separately: one that the memory lacks must not hide the others. */
    private CudaPointer classifyOneByOne(long address) {
        long[] value = new long[1];
        if (cuda.pointerGetAttribute(value, CudaAttributes.POINTER_MEMORY_TYPE, address) != Cuda.SUCCESS) {
            return unknown(address);
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

    /** Returns 0 for an attribute that this memory lacks. */
    private long ask(int attribute, long address, long[] value) {
        return cuda.pointerGetAttribute(value, attribute, address) == Cuda.SUCCESS ? value[0] : 0;
    }
}
