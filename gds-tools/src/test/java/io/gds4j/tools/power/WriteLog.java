package io.gds4j.tools.power;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The log of the kernel's dm-log-writes: all writes to a disk in the order of their completion, and marks. A write is logged when
 * the next flush comes.
 */
record WriteLog(int unit, List<Entry> entries) {
    private static final long MAGIC = 0x6a_7366_7773_6872L;
    private static final long FLUSH = 1;
    private static final long FUA = 2;
    private static final long DISCARD = 4;
    private static final long MARK = 8;
    private static final long METADATA = 16;
    private static final long HEAD = 32;
    private static final ValueLayout.OfLong LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    /**
     * A write, a flush, or both.
     *
     * @param offset first byte on the disk
     * @param length bytes
     * @param data the bytes; empty if the bytes become zeros
     * @param mark text of the program that is logged; empty if there is none
     */
    record Entry(long offset, long length, long flags, MemorySegment data, String mark) {
        /** Returns whether writes before this one are durable. */
        boolean flushes() {
            return (flags & FLUSH) != 0;
        }

        /** Returns whether the write itself is durable. */
        boolean isDurable() {
            return (flags & FUA) != 0;
        }

        /** Returns whether the file system wrote data of its own. */
        boolean isMetadata() {
            return (flags & METADATA) != 0;
        }

        boolean isDiscard() {
            return (flags & DISCARD) != 0;
        }
    }

    static WriteLog read(Path file) throws IOException {
        MemorySegment log;
        try (FileChannel channel = FileChannel.open(file)) {
            log = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), Arena.ofAuto());
        }
        if (log.get(LONG, 0) != MAGIC || log.get(LONG, 8) != 1) {
            throw new IOException(file + " is no log of dm-log-writes");
        }
        long count = log.get(LONG, 16);
        int unit = log.get(INT, 24);
        List<Entry> entries = new ArrayList<>();
        long at = unit;
        for (long i = 0; i < count; i++) {
            long flags = log.get(LONG, at + 16);
            long length = log.get(LONG, at + 8) * unit;
            boolean hasData = (flags & (DISCARD | MARK)) == 0;
            String mark = (flags & MARK) == 0
                    ? ""
                    : new String(log.asSlice(at + HEAD, log.get(LONG, at + 24)).toArray(ValueLayout.JAVA_BYTE),
                            StandardCharsets.US_ASCII);
            MemorySegment data = log.asSlice(at + unit, hasData ? length : 0);
            entries.add(new Entry(log.get(LONG, at) * unit, length, flags, data, mark));
            at += unit + ((flags & DISCARD) != 0 ? 0 : length);
        }
        return new WriteLog(unit, entries);
    }
}
