package io.gds4j.loader;

import io.gds4j.loader.parallel.StridedCopy;

/** Counts bytes of rows. */
final class PieceRows {
    private PieceRows() {
    }

    /** Returns how many bytes of the rows are within a range of the file. */
    static long bytesWithin(StridedCopy copy, long fileOffset, long length) {
        return bytesBefore(copy, fileOffset + length) - bytesBefore(copy, fileOffset);
    }

    /** Returns how many bytes of the rows precede an offset of the file. */
    private static long bytesBefore(StridedCopy copy, long offset) {
        if (offset <= copy.fileOffset()) {
            return 0;
        }
        if (offset >= copy.fileEnd()) {
            return copy.bytes();
        }
        long within = offset - copy.fileOffset();
        long rows = copy.rows() == 1 ? 0 : within / copy.filePitch();
        return rows * copy.width() + Math.min(copy.width(), within - rows * copy.filePitch());
    }
}
