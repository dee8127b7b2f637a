package io.gds4j.ffi.cuda;

import java.util.Map;

/** Reserved addresses of {@link FakeCuda}, the memory that is mapped there, and its access rights. */
abstract class FakeReservations extends FakeKernels {
    private static final long GRANULARITY = 2L << 20;

    FakeReservations(int devices, long memoryPerDevice) {
        super(devices, memoryPerDevice);
    }

    @Override
    public int memAddressReserve(long[] pointer, long bytes, long alignment) {
        return inContext(CudaFunction.MEM_ADDRESS_RESERVE, context -> {
            if (bytes <= 0 || bytes % GRANULARITY != 0) {
                return ERROR_INVALID_VALUE;
            }
            return allocate(pointer, bytes, FakeBlock.Kind.VMM, Math.max(GRANULARITY, alignment), context);
        });
    }

    @Override
    public int memAddressFree(long pointer, long bytes) {
        return plain(CudaFunction.MEM_ADDRESS_FREE, () -> {
            FakeBlock block = blocks.at(pointer, FakeBlock.Kind.VMM);
            if (block == null || block.bytes != bytes) {
                return ERROR_INVALID_VALUE;
            }
            if (!block.mappings.isEmpty()) {
                return violation("cuMemAddressFree of 0x%x, which is still mapped", ERROR_INVALID_VALUE, pointer);
            }
            return freeAfterWork(block);
        });
    }

    @Override
    public int memCreate(long[] handle, long bytes, int device, boolean rdma) {
        return plain(CudaFunction.MEM_CREATE, () -> {
            if (bytes <= 0 || bytes % GRANULARITY != 0) {
                return ERROR_INVALID_VALUE;
            }
            if (device < 0 || device >= devices) {
                return ERROR_INVALID_DEVICE;
            }
            handle[0] = handle();
            physical.put(handle[0], bytes);
            return SUCCESS;
        });
    }

    @Override
    public int memRelease(long handle) {
        return plain(
                CudaFunction.MEM_RELEASE, () -> physical.remove(handle) == null ? ERROR_INVALID_VALUE : SUCCESS);
    }

    @Override
    public int memMap(long pointer, long bytes, long offset, long handle) {
        return plain(CudaFunction.MEM_MAP, () -> {
            FakeBlock block = blocks.around(pointer);
            Long behind = physical.get(handle);
            boolean reserved = block != null && block.kind == FakeBlock.Kind.VMM && block.holds(pointer, bytes);
            if (!reserved || behind == null || offset != 0 || bytes != behind) {
                return ERROR_INVALID_VALUE;
            }
            Map.Entry<Long, FakeMapping> before = block.mappings.lowerEntry(pointer + bytes);
            if (before != null && before.getKey() + before.getValue().bytes > pointer) {
                return violation("0x%x is mapped already", ERROR_INVALID_VALUE, pointer);
            }
            block.mappings.put(pointer, new FakeMapping(bytes));
            return SUCCESS;
        });
    }

    @Override
    public int memUnmap(long pointer, long bytes) {
        return plain(CudaFunction.MEM_UNMAP, () -> {
            FakeBlock block = blocks.around(pointer);
            FakeMapping mapping = block == null ? null : block.mappings.get(pointer);
            if (mapping == null || bytes != mapping.bytes) {
                return ERROR_INVALID_VALUE;
            }
            block.mappings.remove(pointer);
            return SUCCESS;
        });
    }

    @Override
    public int memSetAccess(long pointer, long bytes, int device) {
        return plain(CudaFunction.MEM_SET_ACCESS, () -> {
            FakeBlock block = blocks.around(pointer);
            FakeMapping mapping = block == null ? null : block.mappings.get(pointer);
            if (mapping == null || bytes != mapping.bytes || device != block.device) {
                return ERROR_INVALID_VALUE;
            }
            mapping.accessible = true;
            return SUCCESS;
        });
    }

    @Override
    public int memGetAllocationGranularity(long[] bytes, int device) {
        return onDevice(
                CudaFunction.MEM_GET_ALLOCATION_GRANULARITY, device, () -> bytes[0] = GRANULARITY);
    }
}
