package io.gds4j.ffi.cuda;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.HashMap;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The kernels that {@link FakeCuda} can run: the engine's. The argument of its copy kernel points to the address of the source, the
 * address of the target, and the number of bytes, 8 bytes each. Its gather kernel reads and writes a board of pieces. Its bell sets a word.
 * Its kernel of conversions does what the {@link FakeConversion} of the module under test does.
 */
abstract class FakeKernels extends FakeSharing {
    private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();
    private static final VarHandle COUNT = ValueLayout.JAVA_LONG.varHandle();
    private static final String COPY = "gds4j_copy";
    private static final String GATHER = "gds4j_gather";
    private static final String BELL = "gds4j_bell";
    private static final String FRAGMENTS = "gds4j_fragments";
    private static final String CONVERT = "gds4j_convert";

    /** A table has a word that says that the kernel has begun, and from here on a line of three words for each copy. */
    private static final long FIRST_LINE = 64;
    private static final long FRAGMENT_BYTES = 32;

    /** The board has a line of three words for each piece, then a word for each of their four units, then one for each block. */
    private static final int PIECES = 512;
    private static final int LAST_TAG = 32767;
    private static final long LINE_BYTES = 64;
    private static final int UNITS = 4;
    private static final long COPIED = PIECES * LINE_BYTES;
    private static final long BLOCKS = COPIED + PIECES * UNITS * Integer.BYTES;
    private static final long EXIT = BLOCKS + 128 * Integer.BYTES;
    private static final long MIN_UNIT = 8192;
    private static final int VALUE_BITS = 49;
    private static final long VALUE = (1L << VALUE_BITS) - 1;

    private final Map<Long, Module> modules = new HashMap<>();
    private final Map<Long, Function> functions = new HashMap<>();
    private final AtomicLong fragmentKernels = new AtomicLong();
    private volatile int gatherBlocks;
    private volatile boolean occupied;

    private record Module(FakeContext context, String ptx) {
        boolean has(String kernel) {
            return ptx.contains(".visible .entry %s(.param .u64 ".formatted(kernel));
        }
    }

    private record Function(FakeContext context, String kernel) {
    }

    FakeKernels(int devices, long memoryPerDevice) {
        super(devices, memoryPerDevice);
    }

    /** Returns how many kernels that copy fragments were launched. */
    public long fragmentKernels() {
        return fragmentKernels.get();
    }

    /** Returns the number of blocks of the newest gather kernel. */
    public int gatherBlocks() {
        return gatherBlocks;
    }

    /** Sets whether kernels of others occupy the GPU, so that no gather kernel begins. */
    public void occupy(boolean value) {
        occupied = value;
    }

    @Override
    boolean mayHoldCalls() {
        return occupied || super.mayHoldCalls();
    }

    @Override
    public int moduleLoad(long[] module, String ptx) {
        return inContext(CudaFunction.MODULE_LOAD_DATA, context -> {
            Module loaded = new Module(context, ptx);
            if (!loaded.has(COPY) && !loaded.has(GATHER) && !loaded.has(FRAGMENTS)
                    && !loaded.has(CONVERT)) {
                return ERROR_INVALID_VALUE;
            }
            module[0] = handle();
            modules.put(module[0], loaded);
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
            if (loaded == null || loaded.context() != context || !loaded.has(name)) {
                return ERROR_NOT_FOUND;
            }
            function[0] = handle();
            functions.put(function[0], new Function(context, name));
            return SUCCESS;
        });
    }

    @Override
    public int launchKernel(
            long function, int blocks, int threadsPerBlock, long first, long second, long third, long stream) {
        return onStream(CudaFunction.LAUNCH_KERNEL, stream, used -> {
            Function kernel = functions.get(function);
            if (kernel == null || kernel.context() != used.context || blocks < 1 || threadsPerBlock < 1) {
                return violation("a kernel of another context is launched in %s", ERROR_INVALID_HANDLE, used.context);
            }
            if (kernel.kernel().equals(COPY)) {
                used.enqueueKernel(() -> carryOut(() -> copy(first, used.context)));
                return SUCCESS;
            }
            if (kernel.kernel().equals(FRAGMENTS)) {
                if (occupied) {
                    used.enqueueGate(() -> !occupied);
                }
                fragmentKernels.incrementAndGet();
                used.enqueueKernel(() -> carryOut(() -> copyFragments(first, blocks / (int) second, used.context)));
                return SUCCESS;
            }
            if (kernel.kernel().equals(CONVERT)) {
                used.enqueueKernel(() -> carryOut(() -> convert(first, second, third, used.context)));
                return SUCCESS;
            }
            gatherBlocks = blocks;
            Gather gather = new Gather(first, second, blocks, used.context);
            if (gather.waitsUntilExit()) {
                used.enqueueWaitingKernel(gather::isOver);
            } else {
                if (occupied) {
                    used.enqueueGate(() -> !occupied);
                }
                used.enqueueKernel(() -> carryOut(gather::run));
            }
            return SUCCESS;
        });
    }

    @Override
    public int launchKernelEarly(
            long function, int blocks, int threadsPerBlock, long first, long second, long stream) {
        return onStream(CudaFunction.LAUNCH_KERNEL_EX, stream, used -> {
            Function kernel = functions.get(function);
            if (kernel == null || kernel.context() != used.context || !kernel.kernel().equals(BELL)) {
                return violation("no bell is launched early in %s", ERROR_INVALID_HANDLE, used.context);
            }
            MemorySegment word = MemorySegment.ofAddress(first).reinterpret(Integer.BYTES);
            used.enqueueEarly(() -> WORD.setRelease(word, 0L, (int) second));
            return SUCCESS;
        });
    }

    /** Copies the pieces of a board. A block that comes to one which has not arrived leaves, as if it had waited for too long. */
    private final class Gather {
        private final MemorySegment board;
        private final int tag;
        private final int blocks;
        private final FakeContext context;

        /** The next unit of each block; the number of units once it has left. */
        private final int[] next;
        private final int units;

        Gather(long address, long shape, int blocks, FakeContext context) {
            this.board = MemorySegment.ofAddress(address).reinterpret(EXIT + LINE_BYTES);
            this.tag = (int) (shape & 0x7fff);
            this.units = (int) (shape >>> 16);
            this.blocks = blocks;
            this.context = context;
            this.next = new int[blocks];
            for (int block = 0; block < blocks; block++) {
                next[block] = block;
            }
        }

        boolean waitsUntilExit() {
            return (long) COUNT.getAcquire(board, EXIT) != 0;
        }

        private boolean isExit() {
            long word = (long) COUNT.getAcquire(board, EXIT);
            MemorySegment exit = MemorySegment.ofAddress(word).reinterpret(Integer.BYTES);
            return (int) WORD.getAcquire(exit, 0L) == Integer.MAX_VALUE;
        }

        void run() {
            for (int block = 0; block < blocks; block++) {
                advance(block);
                board.set(ValueLayout.JAVA_INT, BLOCKS + (long) block * Integer.BYTES, 2 * tag + 1);
            }
        }

        /** Copies what has arrived. Returns whether all blocks have left. */
        boolean isOver() {
            boolean all = true;
            for (int block = 0; block < blocks; block++) {
                advance(block);
                all &= next[block] >= units;
            }
            return all || isExit();
        }

        private void advance(int block) {
            while (next[block] < units) {
                int place = next[block] / UNITS;
                long line = place % PIECES * LINE_BYTES;
                int placesTag = (tag - 1 + place / PIECES) % LAST_TAG + 1;
                long count = (long) COUNT.getAcquire(board, line + 2 * Long.BYTES);
                long source = board.get(ValueLayout.JAVA_LONG, line);
                long target = board.get(ValueLayout.JAVA_LONG, line + Long.BYTES);
                if (count >>> VALUE_BITS != placesTag) {
                    return;
                }
                if (source >>> VALUE_BITS != placesTag || target >>> VALUE_BITS != placesTag) {
                    violation("a kernel waits for a word of a piece in %s", ERROR_ILLEGAL_ADDRESS, context);
                }
                if ((count & VALUE) == VALUE) {
                    next[block] = units;
                    return;
                }
                long unitBytes = Math.max(MIN_UNIT, ((count & VALUE) + 63) / 64 * 16);
                long from = next[block] % UNITS * unitBytes;
                move(
                        (source & VALUE) + from, (target & VALUE) + from,
                        Math.min((count & VALUE) - from, unitBytes), context);
                long unit = next[block] % (PIECES * UNITS);
                WORD.setRelease(board, COPIED + unit * Integer.BYTES, placesTag);
                next[block] += blocks;
            }
        }
    }

    private void copyFragments(long argument, int count, FakeContext context) {
        MemorySegment table = MemorySegment.ofAddress(argument).reinterpret(FIRST_LINE + count * FRAGMENT_BYTES);
        WORD.setRelease(table, 0L, 1);
        for (int i = 0; i < count; i++) {
            long line = FIRST_LINE + i * FRAGMENT_BYTES;
            long bytes = (long) COUNT.getAcquire(table, line + 2 * Long.BYTES);
            move(
                    table.get(ValueLayout.JAVA_LONG, line), table.get(ValueLayout.JAVA_LONG, line + Long.BYTES), bytes,
                    context);
        }
    }

    private void copy(long argument, FakeContext context) {
        MemorySegment cell = MemorySegment.ofAddress(argument).reinterpret(3 * Long.BYTES);
        long bytes = (long) COUNT.getAcquire(cell, 2L * Long.BYTES);
        move(cell.get(ValueLayout.JAVA_LONG, 0), cell.get(ValueLayout.JAVA_LONG, Long.BYTES), bytes, context);
    }

    private void convert(long from, long to, long what, FakeContext context) {
        if (what == 0) {
            return; // no elements, as of the first launch
        }
        FakeConversion conversion = ServiceLoader.load(FakeConversion.class).findFirst().orElseThrow();
        long source = conversion.sourceBytes(what);
        long target = conversion.targetBytes(what);
        if (checkKernelMayTouch("source", from, source, context)
                && checkKernelMayTouch("target", to, target, context)) {
            conversion.convert(what, MemorySegment.ofAddress(from).reinterpret(source),
                    MemorySegment.ofAddress(to).reinterpret(target));
        }
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
