package io.gds4j.dataset;

import io.gds4j.dataset.RecordOrder.ShuffledBlocks;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Optional;

/**
 * The blocks of the window that is read, and of the next one, in host memory. Each block is read once, by long requests, and its records
 * are copied from there in any order. Blocks that do not fit are left to reads of single records. Thread-safe.
 */
final class WindowBlocks implements AutoCloseable {
    /** From this length on, a read of a record costs about as much as its part of a block. */
    private static final int MAX_RECORD = 512 << 10;

    /** Up to this length, a copy from a block costs less than a system call. */
    private static final int SHORT_RECORD = 16 << 10;

    /** Bytes between two records that are read with them: the headers of a tar. */
    private static final int MAX_GAP = 16 << 10;

    private static final int MAX_BLOCKS = 1 << 12;

    private static final int SAMPLES = 256;

    /** A block of more ranges has no order on the disk that a long request could use. */
    private static final int MAX_RANGES = 8;

    private static final long NONE = -1;

    /** A place for a block. Its monitor guards it, also while the block is read: others that need it wait. */
    private static final class Slot {
        private final long start;
        private long block = NONE;
        private int ranges;
        private final long[] firstRecord = new long[MAX_RANGES];
        /** What to add to an offset in the file to get one in the memory. */
        private final long[] shift = new long[MAX_RANGES];

        Slot(long start) {
            this.start = start;
        }
    }

    private final ShuffledBlocks order;
    private final RecordSource source;
    private final RecordMemory files;
    private final long slotBytes;
    private final Slot[] slots;
    private final MemoryAllocation allocation;
    private final MemorySegment memory;

    private WindowBlocks(ShuffledBlocks order, RecordSource source, RecordMemory files, int slots, long slotBytes) {
        this.order = order;
        this.source = source;
        this.files = files;
        this.slotBytes = slotBytes;
        this.slots = new Slot[slots];
        Arrays.setAll(this.slots, i -> new Slot(i * slotBytes));
        this.allocation = files.driver().allocator().allocate(MemoryKind.HOST, slotBytes * slots);
        this.memory = allocation.range().segment().orElseThrow();
    }

    /**
     * Returns memory for blocks, if the order mixes several and copies from them pay.
     *
     * @param bytes most bytes of all blocks
     * @param atOnce bytes that readers read at once, from neighbouring windows
     */
    static Optional<WindowBlocks> of(
            RecordOrder order, RecordSource source, RecordMemory files, long bytes, long atOnce) {
        if (!(order instanceof ShuffledBlocks blocks) || blocks.windowBlocks() == 1 || source.records() == 0
                || source.maxLength() > MAX_RECORD || !files.kind().isHost() && !files.isStaged()) {
            return Optional.empty();
        }
        long records = Math.min(blocks.blockRecords(), source.records());
        double mean = records * sampledLength(source);
        double count = blocks.windowBlocks() * 2.0 + atOnce * 2 / mean + 1;
        long slotBytes = (long) Math.min(bytes / count, (double) records * (source.maxLength() + MAX_GAP));
        return mean > slotBytes || count > MAX_BLOCKS
                ? Optional.empty()
                : Optional.of(new WindowBlocks(blocks, source, files, (int) count, slotBytes));
    }

    /** Returns about the mean length of a record. */
    private static double sampledLength(RecordSource source) {
        double sum = 0;
        for (int i = 0; i < SAMPLES; i++) {
            sum += source.length((long) ((double) i / SAMPLES * source.records()));
        }
        return sum / SAMPLES;
    }

    /** Tells whether a record of this length should come from its block. */
    static boolean serves(boolean waitsForDisk, long length) {
        return waitsForDisk || length <= SHORT_RECORD;
    }

    /**
     * Copies a record. Its block is read first, unless it is there.
     *
     * @return false if the block does not fit or cannot be read
     */
    boolean read(long record, long epoch, long length, MemoryRange target, long offset) {
        long block = order.block(record, source.records());
        Slot slot = slots[Math.floorMod(order.place(block, source.records(), epoch), slots.length)];
        synchronized (slot) {
            if (slot.block != block) {
                load(slot, block);
            }
            for (int range = slot.ranges - 1; range >= 0; range--) {
                if (record >= slot.firstRecord[range]) {
                    MemorySegment.copy(memory, source.fileOffset(record) + slot.shift[range],
                            target.segment().orElseThrow(), offset, length);
                    return true;
                }
            }
            return false;
        }
    }

    /** Reads a block into its slot. A slot without ranges says that this block cannot be had. */
    private void load(Slot slot, long block) {
        slot.block = block;
        slot.ranges = 0;
        long first = block * order.blockRecords();
        long end = Math.min(order.blockRecords(), source.records() - first) + first;
        int[] rangeFile = new int[MAX_RANGES];
        long[] rangeBegin = new long[MAX_RANGES];
        long[] rangeEnd = new long[MAX_RANGES];
        int ranges = 0;
        long bytes = 0;
        for (long record = first; record < end; record++) {
            int file = source.file(record);
            long begin = source.fileOffset(record);
            long length = source.length(record);
            int last = ranges - 1;
            if (last < 0 || rangeFile[last] != file || begin < rangeEnd[last] || begin - rangeEnd[last] > MAX_GAP) {
                if (ranges == MAX_RANGES) {
                    return;
                }
                last = ranges++;
                rangeFile[last] = file;
                rangeBegin[last] = begin;
                rangeEnd[last] = begin;
                slot.firstRecord[last] = record;
                slot.shift[last] = slot.start + bytes - begin;
            }
            bytes += begin - rangeEnd[last] + length;
            rangeEnd[last] = begin + length;
            if (length < 0 || bytes > slotBytes) {
                return;
            }
        }
        for (int range = 0; range < ranges; range++) {
            long size = rangeEnd[range] - rangeBegin[range];
            if (!fills(rangeFile[range], rangeBegin[range], size, rangeBegin[range] + slot.shift[range])) {
                return;
            }
        }
        slot.ranges = ranges;
    }

    private boolean fills(int file, long fileOffset, long size, long offset) {
        try {
            return size == 0 || files.file(file).read(allocation, size, fileOffset, offset) == size;
        } catch (CuFileException e) {
            System.getLogger("io.gds4j.dataset").log(
                    System.Logger.Level.DEBUG, "a block cannot be read; its records are read one by one", e);
            return false;
        }
    }

    @Override
    public void close() {
        allocation.close();
    }
}
