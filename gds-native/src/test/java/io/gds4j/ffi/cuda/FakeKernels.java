package io.gds4j.ffi.cuda;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/** The one kernel that {@link FakeCuda} can run, which is our own: it copies what its cell says when the stream comes to it. */
abstract class FakeKernels extends FakeSharing {
    private final Map<Long, FakeContext> modules = new HashMap<>();
    private final Map<Long, FakeContext> functions = new HashMap<>();

    FakeKernels(int devices, long memoryPerDevice) {
        super(devices, memoryPerDevice);
    }

    @Override
    public int moduleLoad(long[] module, String ptx) {
        return inContext(CudaFunction.MODULE_LOAD_DATA, context -> {
            if (!ptx.equals(CopyPtx.TEXT)) {
                return ERROR_INVALID_VALUE;
            }
            module[0] = handle();
            modules.put(module[0], context);
            return SUCCESS;
        });
    }

    @Override
    public int moduleUnload(long module) {
        return inContext(
                CudaFunction.MODULE_UNLOAD,
                context -> modules.remove(module) == context ? SUCCESS : ERROR_INVALID_HANDLE);
    }

    @Override
    public int moduleGetFunction(long[] function, long module, String name) {
        return inContext(CudaFunction.MODULE_GET_FUNCTION, context -> {
            if (modules.get(module) != context || !name.equals(CopyPtx.NAME)) {
                return ERROR_NOT_FOUND;
            }
            function[0] = handle();
            functions.put(function[0], context);
            return SUCCESS;
        });
    }

    @Override
    public int launchKernel(long function, int blocks, int threadsPerBlock, long argument, long stream) {
        return onStream(CudaFunction.LAUNCH_KERNEL, stream, used -> {
            if (functions.get(function) != used.context || blocks < 1 || threadsPerBlock < 1) {
                return violation("a kernel of another context is launched in %s", ERROR_INVALID_HANDLE, used.context);
            }
            used.enqueueKernel(() -> carryOut(() -> copy(CopyCell.at(argument), used.context)));
            return SUCCESS;
        });
    }

    /** A kernel that touches what it may not would end its context: here it is noted. */
    private void copy(CopyCell cell, FakeContext context) {
        long bytes = cell.bytes();
        if (bytes > 0
                && checkKernelMayTouch("source", cell.source(), bytes, context)
                && checkKernelMayTouch("target", cell.target(), bytes, context)) {
            MemorySegment.copy(
                    MemorySegment.ofAddress(cell.source()).reinterpret(bytes),
                    0,
                    MemorySegment.ofAddress(cell.target()).reinterpret(bytes),
                    0,
                    bytes);
        }
    }

    private boolean checkKernelMayTouch(String role, long address, long bytes, FakeContext context) {
        FakeBlock block = blocks.around(address);
        boolean pinned = block != null && block.kind.isHost() && block.holds(address, bytes);
        if (block == null) {
            violation("a kernel's %s 0x%x is neither pinned nor a GPU's", ERROR_ILLEGAL_ADDRESS, role, address);
            return false;
        }
        return pinned || checkDevice(role, address, bytes, context) == SUCCESS;
    }
}
