package io.gds4j.dataset.source;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Reads headers that are spread over a file in its order: many at a time where they are near each other, else each alone. */
final class HeaderScan {
    private static final int WINDOW = 64 << 10;
    /** Bytes of a header read alone: what follows short data comes with it. */
    private static final int ALONE = 4 << 10;
    /** Longest gap that is read rather than jumped over. */
    private static final int NEAR = 16 << 10;

    private final HeaderFile file;
    private final ByteBuffer window = ByteBuffer.allocate(WINDOW).order(ByteOrder.LITTLE_ENDIAN);
    private long start;

    HeaderScan(HeaderFile file) {
        this.file = file;
        window.limit(0);
    }

    /**
     * Returns bytes, little-endian, until the next call.
     *
     * @param what name of the part, for the message of a file that is too short
     */
    ByteBuffer at(long offset, int length, String what) {
        if (length > WINDOW || offset > file.size() - length) {
            return file.read(offset, length, what);
        }
        long end = start + window.limit();
        if (offset < start || offset + length > end) {
            boolean near = offset >= start && offset - end <= NEAR;
            window.clear();
            window.limit((int) Math.min(file.size() - offset, near ? WINDOW : Math.max(length, ALONE)));
            file.read(window, offset);
            start = offset;
        }
        return window.slice((int) (offset - start), length).order(ByteOrder.LITTLE_ENDIAN);
    }
}
