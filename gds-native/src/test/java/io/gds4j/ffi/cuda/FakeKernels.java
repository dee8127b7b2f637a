package io.gds4j.ffi.cuda;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.HashMap;
import java.util.Map;

/**
 * The only kernel that {@link FakeCuda} can run: the engine's copy kernel. Its argument points to the address of the source, the
 * address of the target, and the number of bytes, 8 bytes each.
 */
abstract class FakeKernels extends FakeSharing {
    private static final VarHandle COUNT = ValueLayout.JAVA_LONG.varHandle();
    private static final String NAME = "gds4j_copy";

    private final Map<Long, FakeContext> modules = new HashMap<>();
    private final Map<Long, FakeContext> functions = new HashMap<>();

    FakeKernels(int devices, long memoryPerDevice) {
        super(devices, memoryPerDevice);
    }

    @Override
    public int moduleLoad(long[] module, String ptx) {
        return inContext(CudaFunction.MODULE_LOAD_DATA, context -> {
            if (!ptx.contains(".visible .entry " + NAME + "(.param .u64 ")) {
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
            if (modules.get(module) != context || !name.equals(NAME)) {
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
            used.enqueueKernel(() -> carryOut(() -> copy(argument, used.context)));
            return SUCCESS;
        });
    }

    /** Notes a kernel that touches memory of others; a GPU would end its context. */
    private void copy(long argument, FakeContext context) {
        MemorySegment cell = MemorySegment.ofAddress(argument).reinterpret(3 * Long.BYTES);
        long bytes = (long) COUNT.getAcquire(cell, 2L * Long.BYTES);
        long source = cell.get(ValueLayout.JAVA_LONG, 0);
        long target = cell.get(ValueLayout.JAVA_LONG, Long.BYTES);
        if (bytes > 0
                && checkKernelMayTouch("source", source, bytes, context)
                && checkKernelMayTouch("target", target, bytes, context)) {
            MemorySegment.copy(
                    MemorySegment.ofAddress(source).reinterpret(bytes),
                    0,
                    MemorySegment.ofAddress(target).reinterpret(bytes),
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
