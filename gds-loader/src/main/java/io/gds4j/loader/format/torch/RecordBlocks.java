package io.gds4j.loader.format.torch;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Headers within a file, read by blocks. The end of a record and the begin of the next one are in one block, so that a record like
 * an earlier one costs one read. A block has several short records, such as those of vectors. Not thread-safe.
 */
final class RecordBlocks {
    /** Bytes of a block; what torch.save writes around the bytes of a tensor is shorter. */
    private static final int BLOCK = 4096;
    private static final int LONG_BLOCK = 4 * BLOCK;
    private static final int MAX_BLOCKS = 8;

    private record Block(long offset, ByteBuffer bytes) {
        boolean has(long at, int length) {
            return at >= offset && at + length <= offset + bytes.limit();
        }
    }

    private final FormatInput file;
    /** The last blocks, the newest one first. */
    private final Deque<Block> blocks = new ArrayDeque<>();

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
                return RecordBlocks.this.read(offset + at, count, length < LONG_BLOCK / 2 ? LONG_BLOCK : BLOCK);
            }
        };
    }

    /** @param most bytes of a block, if one must be read */
    private ByteBuffer read(long offset, int length, int most) {
        if (length > BLOCK) {
            return file.read(offset, length);
        }
        Block block = block(offset, length, most);
        // a copy: a slice would keep the block
        return ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN)
                .put(0, block.bytes, (int) (offset - block.offset), length);
    }

    private Block block(long offset, int length, int most) {
        for (Block known : blocks) {
            if (known.has(offset, length)) {
                return known;
            }
        }
        ByteBuffer bytes = blocks.size() < MAX_BLOCKS ? ByteBuffer.allocate(LONG_BLOCK) : blocks.removeLast().bytes;
        file.read(offset, bytes.clear().limit((int) Math.min(most, file.size() - offset)));
        Block block = new Block(offset, bytes.flip());
        blocks.addFirst(block);
        return block;
    }
}
