package io.gds4j.samples;

import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.List;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUmemAccessDesc;
import jcuda.driver.CUmemAccess_flags;
import jcuda.driver.CUmemAllocationProp;
import jcuda.driver.CUmemAllocationType;
import jcuda.driver.CUmemGenericAllocationHandle;
import jcuda.driver.CUmemLocation;
import jcuda.driver.CUmemLocationType;
import jcuda.driver.JCudaDriver;

/** GPU memory that grows in place: addresses are reserved for all of it, memory is mapped behind them chunk by chunk. */
final class GrowingDeviceMemory implements AutoCloseable {
    private final CUdeviceptr base = new CUdeviceptr();
    private final CUmemAllocationProp properties = new CUmemAllocationProp();
    private final List<CUmemGenericAllocationHandle> chunks = new ArrayList<>();
    private final int gpu;
    private final long reserved;
    private final long chunk;
    private final long address;

    /**
     * Reserves addresses; needs a current context.
     *
     * @param most bytes that it may grow to
     * @param chunk bytes of a step, rounded up to what the GPU can map
     */
    GrowingDeviceMemory(int gpu, long most, long chunk) {
        this.gpu = gpu;
        properties.type = CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = new CUmemLocation(CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE, gpu);
        long[] granularity = new long[1];
        GpuContext.check(
                "cuMemGetAllocationGranularity", JCudaDriver.cuMemGetAllocationGranularity(granularity, properties, 0));
        this.chunk = Math.ceilDiv(chunk, granularity[0]) * granularity[0];
        this.reserved = Math.ceilDiv(most, this.chunk) * this.chunk;
        GpuContext.check(
                "cuMemAddressReserve", JCudaDriver.cuMemAddressReserve(base, reserved, 0, new CUdeviceptr(), 0));
        this.address = GpuContext.address(base);
    }

    /** Bytes that are mapped. */
    long size() {
        return chunks.size() * chunk;
    }

    /** Bytes of a step. */
    long chunk() {
        return chunk;
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
        GpuContext.check("cuMemCreate", JCudaDriver.cuMemCreate(handle, chunk, properties, 0));
        CUdeviceptr place = base.withByteOffset(size());
        GpuContext.check("cuMemMap", JCudaDriver.cuMemMap(place, chunk, 0, handle, 0));
        CUmemAccessDesc[] access = {
                new CUmemAccessDesc(properties.location, CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE)};
        GpuContext.check("cuMemSetAccess", JCudaDriver.cuMemSetAccess(place, chunk, access, 1));
        MemoryRange grown = reserved().slice(size(), chunk);
        chunks.add(handle);
        return grown;
    }

    @Override
    public void close() {
        if (!chunks.isEmpty()) {
            JCudaDriver.cuMemUnmap(base, size());
        }
        chunks.forEach(JCudaDriver::cuMemRelease);
        JCudaDriver.cuMemAddressFree(base, reserved);
    }
}
