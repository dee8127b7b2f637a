package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.jcuda.JCudaInterop;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.List;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUmemAccessDesc;
import jcuda.driver.CUmemAccess_flags;
import jcuda.driver.CUmemGenericAllocationHandle;
import jcuda.driver.CUmemLocation;
import jcuda.driver.CUmemLocationType;
import jcuda.driver.JCudaDriver;

/**
 * GPU memory that grows in place: addresses are reserved for all of it, memory is mapped behind them chunk by chunk. The
 * memory comes from gds4j's allocator, because JCuda's {@code cuMemCreate} hands the driver fields that nobody has set.
 */
final class GrowingDeviceMemory implements AutoCloseable {
    /** What GPUs map at least. */
    private static final long GRANULARITY = 2L << 20;

    private final CuFileDriver driver;
    private final CUdeviceptr base = new CUdeviceptr();
    private final List<CUmemGenericAllocationHandle> chunks = new ArrayList<>();
    private final int gpu;
    private final long chunk;
    private final long reserved;
    private final long address;

    /**
     * Reserves addresses; needs a current context.
     *
     * @param most bytes that it may grow to
     * @param step bytes that it grows by
     */
    GrowingDeviceMemory(CuFileDriver driver, int gpu, long most, long step) {
        this.driver = driver;
        this.gpu = gpu;
        this.chunk = Math.ceilDiv(step, GRANULARITY) * GRANULARITY;
        this.reserved = Math.ceilDiv(most, chunk) * chunk;
        GpuContext.check(
                "cuMemAddressReserve", JCudaDriver.cuMemAddressReserve(base, reserved, 0, new CUdeviceptr(), 0));
        this.address = GpuContext.address(base);
    }

    /** Bytes that are mapped. */
    long size() {
        return chunks.size() * chunk;
    }

    /** All addresses, mapped or not. */
    MemoryRange reserved() {
        return MemoryRange.ofAddress(address, reserved, MemoryKind.CUDA_VMM, gpu);
    }

    /** What is mapped. */
    MemoryRange range() {
        return reserved().slice(0, size());
    }

    /** Maps one more chunk behind the others; what stands in those stays where it is. */
    MemoryRange grow() {
        CUmemGenericAllocationHandle handle = new CUmemGenericAllocationHandle();
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_VMM, chunk, gpu)) {
            GpuContext.check(
                    "cuMemRetainAllocationHandle",
                    JCudaDriver.cuMemRetainAllocationHandle(handle, JCudaInterop.pointer(memory.range())));
        }
        CUdeviceptr place = base.withByteOffset(size());
        GpuContext.check("cuMemMap", JCudaDriver.cuMemMap(place, chunk, 0, handle, 0));
        MemoryRange grown = reserved().slice(size(), chunk);
        chunks.add(handle);
        CUmemAccessDesc[] access = {
                new CUmemAccessDesc(
                        new CUmemLocation(CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, gpu),
                        CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE)};
        GpuContext.check("cuMemSetAccess", JCudaDriver.cuMemSetAccess(place, chunk, access, 1));
        return grown;
    }

    @Override
    public void close() {
        for (int i = 0; i < chunks.size(); i++) {
            JCudaDriver.cuMemUnmap(base.withByteOffset(i * chunk), chunk);
        }
        chunks.forEach(JCudaDriver::cuMemRelease);
        JCudaDriver.cuMemAddressFree(base, reserved);
    }
}
