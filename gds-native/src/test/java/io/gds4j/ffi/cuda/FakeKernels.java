package io.gds4j.ffi.cuda;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.HashMap;
import java.util.Map;

/**
 * The kernels that {@link FakeCuda} can run: the engine's. The argument of its copy kernel points to the address of the source, the
 * address of the target, and the number of bytes, 8 bytes each. Its gather kernel reads and writes a board of pieces.
 */
abstract class FakeKernels extends FakeSharing {
    private static final VarHandle COUNT = ValueLayout.JAVA_LONG.varHandle();
    private static final String COPY = "gds4j_copy";
    private static final String GATHER = "gds4j_gather";

    /** The board of 256 pieces: a line of three words each, then a word for each of their four units, then one for each block. */
    private static final long LINE_BYTES = 64;
    private static final int UNITS = 4;
    private static final long COPIED = 256 * LINE_BYTES;
    private static final long BLOCKS = COPIED + 256 * UNITS * Integer.BYTES;
    private static final int VALUE_BITS = 49;
    private static final long VALUE = (1L << VALUE_BITS) - 1;

    private final Map<Long, Module> modules = new HashMap<>();
    private final Map<Long, Module> functions = new HashMap<>();
    private volatile boolean occupied;

    private record Module(FakeContext context, String kernel) {
    }

    FakeKernels(int devices, long memoryPerDevice) {
        super(devices, memoryPerDevice);
    }

    /** Sets whether kernels of others occupy the GPU, so that no gather kernel begins. */
    public void occupy(boolean value) {
        occupied = value;
    }

    @Override
    public int moduleLoad(long[] module, String ptx) {
        return inContext(CudaFunction.MODULE_LOAD_DATA, context -> {
            String entry = ".visible .entry %s(.param .u64 ";
            String kernel = ptx.contains(entry.formatted(COPY)) ? COPY : GATHER;
            if (!ptx.contains(entry.formatted(kernel))) {
                return ERROR_INVALID_VALUE;
            }
            module[0] = handle();
            modules.put(module[0], new Module(context, kernel));
            return SUCCESS;
        });
    }

    @Override
    public int moduleUnload(long module) {
        return inContext(
                CudaFunction.MODULE_UNLOAD,
                context -> {
                    Module removed = modules.remove(module);
                    return removed != null && removed.context() == context ? SUCCESS : ERROR_INVALID_HANDLE;
                });
    }

    @Override
    public int moduleGetFunction(long[] function, long module, String name) {
        return inContext(CudaFunction.MODULE_GET_FUNCTION, context -> {
            Module loaded = modules.get(module);
            if (loaded == null || loaded.context() != context || !name.equals(loaded.kernel())) {
                return ERROR_NOT_FOUND;
            }
            function[0] = handle();
            functions.put(function[0], loaded);
            return SUCCESS;
        });
    }

    @Override
    public int launchKernel(
            long function, int blocks, int threadsPerBlock, long first, long second, long stream) {
        return onStream(CudaFunction.LAUNCH_KERNEL, stream, used -> {
            Module module = functions.get(function);
            if (module == null || module.context() != used.context || blocks < 1 || threadsPerBlock < 1) {
                return violation("a kernel of another context is launched in %s", ERROR_INVALID_HANDLE, used.context);
            }
            if (module.kernel().equals(COPY)) {
                used.enqueueKernel(() -> carryOut(() -> copy(first, used.context)));
            } else {
                if (occupied) {
                    used.enqueueGate(() -> !occupied);
                }
                used.enqueueKernel(() -> carryOut(() -> gather(first, second, blocks, used.context)));
            }
            return SUCCESS;
        });
    }

    /** Copies the pieces that have arrived. A block that comes to another one leaves, as if it had waited for too long. */
    private void gather(long address, long shape, int blocks, FakeContext context) {
        long bytes = BLOCKS + (long) blocks * Integer.BYTES;
        MemorySegment board = MemorySegment.ofAddress(address).reinterpret(bytes);
        int tag = (int) (shape & 0x7fff);
        int units = (int) (shape >>> 16 & 0xffff);
        long unitBytes = 1L << (shape >>> 32);
        for (int block = 0; block < blocks; block++) {
            boolean stays = true;
            for (int unit = block; stays && unit < units; unit += blocks) {
                long line = unit / UNITS * LINE_BYTES;
                long count = (long) COUNT.getAcquire(board, line + 2 * Long.BYTES);
                long source = board.get(ValueLayout.JAVA_LONG, line);
                long target = board.get(ValueLayout.JAVA_LONG, line + Long.BYTES);
                boolean told = count >>> VALUE_BITS == tag;
                if (told && (source >>> VALUE_BITS != tag || target >>> VALUE_BITS != tag)) {
                    violation("a kernel waits for a word of a piece in %s", ERROR_ILLEGAL_ADDRESS, context);
                }
                stays = told && (count & VALUE) != VALUE;
                if (stays) {
                    long from = unit % UNITS * unitBytes;
                    move(
                            (source & VALUE) + from,
                            (target & VALUE) + from,
                            Math.min((count & VALUE) - from, unitBytes), context);
                    board.set(ValueLayout.JAVA_INT, COPIED + (long) unit * Integer.BYTES, tag);
                }
            }
            board.set(ValueLayout.JAVA_INT, BLOCKS + (long) block * Integer.BYTES, 2 * tag + 1);
        }
    }

    private void copy(long argument, FakeContext context) {
        MemorySegment cell = MemorySegment.ofAddress(argument).reinterpret(3 * Long.BYTES);
        long bytes = (long) COUNT.getAcquire(cell, 2L * Long.BYTES);
        move(cell.get(ValueLayout.JAVA_LONG, 0), cell.get(ValueLayout.JAVA_LONG, Long.BYTES), bytes, context);
    }

    /** Notes a kernel that touches memory of others; a GPU would end its context. */
    private void move(long source, long target, long bytes, FakeContext context) {
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
