package io.gds4j.engine.kernel;

import io.gds4j.ffi.NativeSegments;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * Pinned memory by which threads tell a {@link GatherKernel} where pieces have arrived, and the kernel tells what it has copied. Each
 * word holds the tag of its request beside its value, so that a word of an earlier request does not count, and so that no order of the
 * bus between words matters.
 *
 * <p>
 * Any thread may tell of a piece and ask. {@link #begin} is for one thread, while no kernel runs that could read the board.
 */
public final class PieceBoard {
    /** Largest number of pieces of a request. */
    public static final int PIECES = 256;

    /** Largest number of blocks of a kernel. */
    static final int MOST_BLOCKS = 128;

    /** Bits of the number of a unit within its piece: a block copies a unit at a time. */
    static final int UNIT_BITS = 2;
    static final int UNITS = 1 << UNIT_BITS;

    /** Bits of a value; the tag is above. GPU addresses have 49. */
    static final int VALUE_BITS = 49;

    /** The value that tells blocks to leave. */
    static final long END = (1L << VALUE_BITS) - 1;

    private static final int LAST_TAG = (1 << Long.SIZE - VALUE_BITS) - 1;

    /** A cache line for each piece: reads of one line over the bus are serialised. */
    static final int LINE_BYTES = 64;

    /** Offset of the words of units: the tag of the request whose unit was copied. */
    static final long COPIED = (long) PIECES * LINE_BYTES;

    /** Offset of the words of blocks: twice the tag of the request whose kernel has begun, one more once the block has left. */
    static final long BLOCKS = COPIED + (long) PIECES * UNITS * Integer.BYTES;

    /** Bytes of a board, whose address is a multiple of 64. */
    public static final long BYTES = BLOCKS + (long) MOST_BLOCKS * Integer.BYTES;

    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    private final MemorySegment memory;
    private int tag;

    private PieceBoard(MemorySegment memory) {
        this.memory = memory;
    }

    /** Makes an empty board of pinned memory, which must stay. */
    public static PieceBoard at(long address) {
        PieceBoard board = new PieceBoard(NativeSegments.of(address, BYTES));
        board.memory.fill((byte) 0);
        return board;
    }

    public long address() {
        return memory.address();
    }

    /** Begins a request: nothing has arrived and nothing is copied. */
    public void begin() {
        if (tag == LAST_TAG) {
            memory.fill((byte) 0);
            tag = 0;
        }
        tag++;
    }

    int tag() {
        return tag;
    }

    /**
     * Tells the kernel to copy a piece, whose bytes are in the source.
     *
     * @param place blocks wait for the places in order
     * @param source pinned memory
     * @param target memory of the kernel's context
     * @param bytes 0 for nothing
     */
    public void arrived(int place, long source, long target, long bytes) {
        long line = (long) place * LINE_BYTES;
        LONG.set(memory, line, word(source));
        LONG.set(memory, line + Long.BYTES, word(target));
        LONG.setRelease(memory, line + 2 * Long.BYTES, word(bytes));
    }

    /** Tells blocks that wait at a place, or come to it later, to leave. Sets all words: a thread of the block waits for each. */
    public void end(int place) {
        arrived(place, END, END, END);
        VarHandle.fullFence(); // isAnyAtWork must not look before this is seen
    }

    private long word(long value) {
        return (long) tag << VALUE_BITS | value & END;
    }

    /** Returns whether a piece, which has arrived at a place, has been copied. */
    public boolean isCopied(int place) {
        long first = COPIED + (long) place * UNITS * Integer.BYTES;
        for (int unit = 0; unit < UNITS; unit++) {
            if ((int) INT.getAcquire(memory, first + unit * Integer.BYTES) != tag) {
                return false;
            }
        }
        return true;
    }

    /**
     * Returns whether a block of the kernel has begun and not left. After {@link #end} of a place no other block begins to copy
     * its piece. Once this is false, no block copies it.
     */
    public boolean isAnyAtWork() {
        for (long block = 0; block < MOST_BLOCKS; block++) {
            if ((int) INT.getVolatile(memory, BLOCKS + block * Integer.BYTES) == 2 * tag) {
                return true;
            }
        }
        return false;
    }
}
