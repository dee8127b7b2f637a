package io.gds4j.ffi.cuda;

import io.gds4j.ffi.posix.FfmPosix;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The part of {@link FakeCuda} for pointer attributes and for other devices. */
abstract class FakeSharing extends FakeDevices {
    private static final long PAGE = 4096;

    private final Set<Long> synced = new HashSet<>();
    private final List<String> prefetches = new ArrayList<>();
    private int flushes;

    FakeSharing(int devices, long memoryPerDevice) {
        super(devices, memoryPerDevice);
    }

    /** Returns the prefetches so far: address, length, and device or host. */
    public synchronized List<String> prefetches() {
        return List.copyOf(prefetches);
    }

    /** Returns the addresses of allocations and mappings whose synchronous copies wait for their end. */
    public synchronized Set<Long> synced() {
        return Set.copyOf(synced);
    }

    /** Returns the number of flushes of other devices' writes so far. */
    public synchronized int flushes() {
        return flushes;
    }

    @Override
    public int pointerGetAttribute(long[] value, int attribute, long pointer) {
        return plain(CudaFunction.POINTER_GET_ATTRIBUTE, () -> {
            FakeBlock block = known(pointer);
            return block == null ? ERROR_INVALID_VALUE : read(block, pointer, attribute, value, 0);
        });
    }

    @Override
    public int pointerGetAttributes(long[] values, int[] attributes, long pointer) {
        return plain(CudaFunction.POINTER_GET_ATTRIBUTES, () -> {
            FakeBlock block = known(pointer);
            for (int i = 0; i < attributes.length; i++) {
                values[i] = 0;
                int result = block == null ? SUCCESS : read(block, pointer, attributes[i], values, i);
                if (result != SUCCESS) {
                    return result;
                }
            }
            return SUCCESS;
        });
    }

    private FakeBlock known(long pointer) {
        FakeBlock block = blocks.around(pointer);
        return block == null || block.known(pointer).isEmpty() ? null : block;
    }

    private int read(FakeBlock block, long pointer, int attribute, long[] value, int i) {
        long[] known = block.known(pointer).orElseThrow();
        boolean contextless = block.kind == FakeBlock.Kind.POOL || block.kind == FakeBlock.Kind.VMM;
        switch (attribute) {
            case CudaAttributes.POINTER_CONTEXT -> value[i] = contextless ? 0 : block.context.handle;
            case CudaAttributes.POINTER_MEMORY_TYPE ->
                value[i] = block.kind.isHost()
                        ? CudaAttributes.MEMORY_TYPE_HOST
                        : CudaAttributes.MEMORY_TYPE_DEVICE;
            case CudaAttributes.POINTER_BUFFER_ID ->
                value[i] = block.kind == FakeBlock.Kind.VMM ? known[0] : block.id;
            case CudaAttributes.POINTER_IS_MANAGED -> value[i] = block.kind == FakeBlock.Kind.MANAGED ? 1 : 0;
            case CudaAttributes.POINTER_DEVICE_ORDINAL -> value[i] = block.device;
            case CudaAttributes.POINTER_RANGE_START -> value[i] = known[0];
            case CudaAttributes.POINTER_RANGE_SIZE -> value[i] = known[1];
            case CudaAttributes.POINTER_SYNC_MEMOPS -> value[i] = synced.contains(known[0]) ? 1 : 0;
            case CudaAttributes.POINTER_MEMPOOL_HANDLE ->
                value[i] = block.kind == FakeBlock.Kind.POOL ? 0x5000 + block.device : 0;
            default -> {
                return ERROR_INVALID_VALUE;
            }
        }
        return SUCCESS;
    }

    @Override
    public int pointerSetAttribute(int value, int attribute, long pointer) {
        return plain(CudaFunction.POINTER_SET_ATTRIBUTE, () -> {
            FakeBlock block = known(pointer);
            if (block == null || attribute != CudaAttributes.POINTER_SYNC_MEMOPS
                    || block.kind == FakeBlock.Kind.MANAGED) {
                return ERROR_INVALID_VALUE;
            }
            synced.add(block.known(pointer).orElseThrow()[0]);
            return SUCCESS;
        });
    }

    @Override
    public int memPrefetchAsync(long pointer, long bytes, int device, long stream) {
        return onStream(CudaFunction.MEM_PREFETCH_ASYNC, stream, used -> {
            FakeBlock block = blocks.around(pointer);
            if (block == null || block.kind != FakeBlock.Kind.MANAGED || !block.holds(pointer, bytes)
                    || device >= devices) {
                return violation("cuMemPrefetchAsync of 0x%x to %d", ERROR_INVALID_VALUE, pointer, device);
            }
            prefetches.add("%d+%d to %s".formatted(
                    pointer - block.address, bytes, device < 0 ? "the host" : "GPU " + device));
            return SUCCESS;
        });
    }

    /** Returns an unnamed file of the same size in place of the buffer; the caller closes it. */
    @Override
    public int memGetDmaBuf(int[] fd, long pointer, long bytes) {
        return inContext(CudaFunction.MEM_GET_HANDLE_FOR_ADDRESS_RANGE, context -> {
            FakeBlock block = blocks.around(pointer);
            if (block == null || bytes <= 0 || pointer % PAGE != 0 || bytes % PAGE != 0) {
                return ERROR_INVALID_VALUE;
            }
            if (!block.isAccessible(pointer, bytes)) {
                return ERROR_INVALID_VALUE;
            }
            if (block.kind == FakeBlock.Kind.MANAGED || block.kind == FakeBlock.Kind.POOL || block.kind.isHost()) {
                return ERROR_NOT_SUPPORTED;
            }
            int opened = FfmPosix.instance().memfdCreate("dma-buf", 0);
            if (opened < 0 || FfmPosix.instance().ftruncate(opened, bytes) != 0) {
                return ERROR_OUT_OF_MEMORY;
            }
            fd[0] = opened;
            return SUCCESS;
        });
    }

    @Override
    public int flushGpuDirectRdmaWrites(int scope) {
        return inContext(CudaFunction.FLUSH_GPU_DIRECT_RDMA_WRITES, context -> {
            flushes++;
            return scope == FLUSH_TO_OWNER || scope == FLUSH_TO_ALL_DEVICES ? SUCCESS : ERROR_INVALID_VALUE;
        });
    }
}
