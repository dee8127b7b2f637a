package io.gds4j.engine.kernel;

import io.gds4j.ffi.NativeSegments;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * A mailbox in pinned memory: threads post where pieces have arrived, and a {@link GatherKernel} posts what it has copied. Each word
 * holds its request's tag beside its value. So words of earlier requests do not count, and the bus may reorder words.
 *
 * <p>
 * A request may have more places than the board has lines: line n serves place n, then n + {@link #PIECES} with the next tag, and so on. A
 * thread posts a place only after the earlier place of the same line has been copied.
 *
 * <p>
 * Any thread may post a piece and read what is copied. One thread at a time begins requests.
 */
public final class PieceBoard {
    /** Bits of the number of a line. */
    static final int LINE_BITS = 9;

    /** Number of lines, and largest number of pieces that may be on the board at a time. */
    public static final int PIECES = 1 << LINE_BITS;

    /** Largest number of places of a request whose number of pieces is not known. */
    static final int MAX_PLACES = 1 << 28;

    /** Largest number of blocks of a kernel. */
    static final int MAX_BLOCKS = 128;

    /** Bits of the number of a unit within its piece: a block copies a unit at a time. */
    static final int UNIT_BITS = 2;
    static final int UNITS = 1 << UNIT_BITS;

    /** Number of places behind the last piece at which blocks may wait. {@link #end} of each has them leave. */
    public static final int WAITING_PLACES = MAX_BLOCKS / UNITS;

    /** Bits of a value; the tag is above. GPU addresses have 49. */
    static final int VALUE_BITS = 49;

    /** The value that tells blocks to leave. */
    static final long END = (1L << VALUE_BITS) - 1;

    /** Tags are 1 to this. */
    static final int LAST_TAG = (1 << Long.SIZE - VALUE_BITS) - 1;

    /** Largest number of a request: its tag is the last one, so that the number after it has the first tag. */
    private static final int LAST_REQUEST = Integer.MAX_VALUE / LAST_TAG * LAST_TAG - 1;

    /** A cache line for each piece: reads of one line over the bus are serialised. */
    static final int LINE_BYTES = 64;

    /** Offset of the words of units: the tag of the request whose unit was copied. */
    static final long COPIED = (long) PIECES * LINE_BYTES;

    /** Offset of the words of blocks: twice the tag of the request whose kernel has begun, one more once the block has left. */
    static final long BLOCKS = COPIED + (long) PIECES * UNITS * Integer.BYTES;

    /** Offset of the address of the word that tells blocks to leave though pieces are missing; 0 if they leave after a while. */
    static final long EXIT = BLOCKS + (long) MAX_BLOCKS * Integer.BYTES;

    /** Offset of the word that a bell sets to the number of its request. */
    static final long BELL = EXIT + Long.BYTES;

    /** Bytes of a board, whose address is a multiple of 64. */
    public static final long BYTES = EXIT + LINE_BYTES;

    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
    private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

    private final MemorySegment memory;
    private int requests;

    private PieceBoard(MemorySegment memory, int requests) {
        this.memory = memory;
        this.requests = requests;
    }

    /** Makes an empty board of pinned memory, which must stay. */
    public static PieceBoard at(long address) {
        return at(address, 0);
    }

    /** Makes a board as {@link #at(long)} on which this many requests have begun. */
    static PieceBoard at(long address, int requests) {
        PieceBoard board = new PieceBoard(NativeSegments.of(address, BYTES), requests);
        board.memory.fill((byte) 0);
        return board;
    }

    public long address() {
        return memory.address();
    }

    /**
     * Has blocks wait for their pieces until the process ends, instead of half a second.
     *
     * @param word address of a pinned word that an exit handler sets to {@link io.gds4j.ffi.posix.ExitHandlers#PASSED}
     */
    public void waitUntilExit(long word) {
        LONG.setRelease(memory, EXIT, word);
    }

    /** Begins a request, of which nothing has arrived, and returns its number. No kernel runs that could read the board. */
    public int begin() {
        int request = beginBehind();
        if (tag(request) == 1) {
            memory.asSlice(0, EXIT).fill((byte) 0); // tags of long ago come again
        }
        return request;
    }

    /** As {@link #begin} while kernels of earlier requests may read the board. {@link #forget} was or will be called for each of them. */
    public int beginBehind() {
        requests = requests >= LAST_REQUEST ? LAST_TAG : requests + 1; // the tags of neighbours differ at the wrap, too
        return requests;
    }

    static int tag(int request) {
        return request % LAST_TAG + 1;
    }

    /** Returns the tag of a place: each time that its line comes again it has another one. */
    private static int tag(int request, int place) {
        return (request % LAST_TAG + (place >>> LINE_BITS)) % LAST_TAG + 1;
    }

    /** Returns the number of the line that serves a place. */
    private static int line(int place) {
        return place & PIECES - 1;
    }

    /**
     * Tells the kernel to copy a piece, whose bytes are in the source.
     *
     * @param place blocks wait for the places in order; the place {@link #PIECES} before has been copied
     * @param source pinned memory
     * @param target memory of the kernel's context
     * @param bytes 0 for nothing
     */
    public void arrived(int request, int place, long source, long target, long bytes) {
        long line = (long) line(place) * LINE_BYTES;
        int tag = tag(request, place);
        LONG.set(memory, line, word(tag, source));
        LONG.set(memory, line + Long.BYTES, word(tag, target));
        LONG.setRelease(memory, line + 2 * Long.BYTES, word(tag, bytes));
    }

    /** Tells blocks that wait at a place, or come to it later, to leave. Sets all words: a thread of the block waits for each. */
    public void end(int request, int place) {
        arrived(request, place, END, END, END);
        VarHandle.fullFence(); // isAnyAtWork must not look before this is seen
    }

    /** Returns whether the bell of a request has rung: a stream has come to it, but for the kernel right before it. */
    public boolean isRung(int request) {
        return (int) INT.getAcquire(memory, BELL) == request;
    }

    /** Drops what was told of the first places, and what was copied of them: tags come again. The kernel has ended. */
    public void forget(int places) {
        int lines = Math.min(places, PIECES);
        memory.asSlice(0, (long) lines * LINE_BYTES).fill((byte) 0);
        memory.asSlice(COPIED, (long) lines * UNITS * Integer.BYTES).fill((byte) 0);
    }

    private static long word(int tag, long value) {
        return (long) tag << VALUE_BITS | value & END;
    }

    /** Returns whether a piece, which has arrived at a place, has been copied. */
    public boolean isCopied(int request, int place) {
        int tag = tag(request, place);
        long first = COPIED + (long) line(place) * UNITS * Integer.BYTES;
        for (int unit = 0; unit < UNITS; unit++) {
            if ((int) INT.getAcquire(memory, first + unit * Integer.BYTES) != tag) {
                return false;
            }
        }
        return true;
    }

    /**
     * As {@link #isCopied}, and also true once the line of a place serves a later one, which it does only after the copy. For boards of
     * which all earlier requests were forgotten.
     */
    public boolean hasCopied(int request, int place) {
        int tag = tag(request, place);
        long first = COPIED + (long) line(place) * UNITS * Integer.BYTES;
        for (int unit = 0; unit < UNITS; unit++) {
            int copied = (int) INT.getAcquire(memory, first + unit * Integer.BYTES);
            if (copied == 0 || Math.floorMod(copied - tag, LAST_TAG) > LAST_TAG / 2) {
                return false;
            }
        }
        return true;
    }

    /**
     * Returns whether a block of the kernel has begun and not left. After {@link #end} of a place no other block begins to copy
     * its piece. Once this is false, no block copies it.
     */
    public boolean isAnyAtWork(int request) {
        int tag = tag(request);
        for (long block = 0; block < MAX_BLOCKS; block++) {
            if ((int) INT.getVolatile(memory, BLOCKS + block * Integer.BYTES) == 2 * tag) {
                return true;
            }
        }
        return false;
    }
}
