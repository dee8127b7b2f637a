package io.gds4j.loader.format.torch;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Headers within a file, read by blocks. The end of a record and the begin of the next one are in one block, or in neighbours: a
 * record costs two or three reads. Not thread-safe.
 */
final class RecordBlocks {
    /** Bytes of a block; what torch.save writes around the bytes of a tensor is shorter. */
    private static final int BLOCK = 4096;
    private static final int MAX_BLOCKS = 8;

    private final FormatInput file;
    private final Map<Long, ByteBuffer> blocks = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, ByteBuffer> eldest) {
            return size() > MAX_BLOCKS;
        }
    };

    RecordBlocks(FormatInput file) {
        this.file = file;
    }

    /** Returns a range of the file as a file of its own. */
    FileHead record(long offset, long length) {
        return new FileHead() {
            @Override
            public long size() {
                return length;
            }

            @Override
            public ByteBuffer first() {
                return read(0, (int) Math.min(FIRST_BYTES, length));
            }

            @Override
            public ByteBuffer read(long at, int count) {
                if (at < 0 || count < 0 || at > length - count) {
                    throw CuFileException.invalid("RecordBlocks",
                            "%s bytes at %s are not within a record of %s bytes".formatted(count, at, length));
                }
                return RecordBlocks.this.read(offset + at, count);
            }
        };
    }

    private ByteBuffer read(long offset, int length) {
        if (length > BLOCK) {
            return file.read(offset, length);
        }
        ByteBuffer read = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        while (read.hasRemaining()) {
            long at = offset + read.position();
            ByteBuffer block = block(at / BLOCK);
            int within = (int) (at % BLOCK);
            int part = Math.min(read.remaining(), block.limit() - within);
            read.put(read.position(), block, within, part).position(read.position() + part);
        }
        return read.flip();
    }

    private ByteBuffer block(long number) {
        ByteBuffer known = blocks.get(number);
        if (known == null) {
            known = file.read(number * BLOCK, (int) Math.min(BLOCK, file.size() - number * BLOCK));
            blocks.put(number, known);
        }
        return known;
    }
}
