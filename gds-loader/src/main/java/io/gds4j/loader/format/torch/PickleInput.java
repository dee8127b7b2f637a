package io.gds4j.loader.format.torch;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.FileHead;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * The bytes of a pickle, read in order through one buffer. Skipped bytes are not read: a pickle can hold arrays of any size beside
 * its tensors. The other bytes are bounded.
 */
final class PickleInput {
    /** Most bytes of a pickle that are read; the limit of safetensors headers. */
    static final long MAX_READ = 100_000_000;
    private static final int BUFFER = 64 << 10;

    private final FileHead file;
    private final Path path;
    /** Offset of the pickle in the file. */
    private final long origin;
    private final long end;
    /** An array, because the first pickle of a process is read by interpreted bytecode: a call for each byte, not eight. */
    private final byte[] buffer;
    private int at;
    private int limit;
    /** Offset in the file behind the buffer's last byte. */
    private long next;
    private long skipped;
    /** Offset in the file of the opcode that is being executed. */
    private long opcodeAt;

    PickleInput(FileHead file, Path path, long origin, long bytes) {
        this.file = file;
        this.path = path;
        this.origin = origin;
        this.end = origin + bytes;
        this.next = origin;
        this.opcodeAt = origin;
        this.buffer = new byte[(int) Math.min(BUFFER, bytes)];
    }

    /** Returns the bytes from here to the end of the pickle. */
    long remaining() {
        return end - next + limit - at;
    }

    /** Returns the number of bytes that were read so far; skipped bytes do not count. */
    long bytesRead() {
        return end - origin - remaining() - skipped;
    }

    /** Returns the offset in the file of the current opcode. */
    long opcodeAt() {
        return opcodeAt;
    }

    int opcode() {
        opcodeAt = next - limit + at;
        return u8();
    }

    int u8() {
        if (at == limit) {
            need(Byte.BYTES);
        }
        return buffer[at++] & 0xFF;
    }

    int u16() {
        need(Short.BYTES);
        return u8() | u8() << 8;
    }

    int s32() {
        need(Integer.BYTES);
        return u8() | u8() << 8 | u8() << 16 | u8() << 24;
    }

    long u32() {
        return Integer.toUnsignedLong(s32());
    }

    /** Returns 64 bits; negative if the highest one is set. */
    long u64() {
        need(Long.BYTES);
        return u32() | u32() << Integer.SIZE;
    }

    /** Returns a length, which must be within the pickle. */
    long length(long announced) {
        if (announced < 0 || announced > remaining()) {
            throw broken("%s bytes are announced, but %s follow"
                    .formatted(Long.toUnsignedString(announced), remaining()));
        }
        return announced;
    }

    /** Returns the next bytes. */
    ByteBuffer bytes(int count) {
        require(count);
        if (count <= buffer.length) {
            need(count);
            ByteBuffer slice = ByteBuffer.wrap(buffer, at, count).slice();
            at += count;
            return slice;
        }
        checkLimit(count);
        ByteBuffer all = file.read(next - limit + at, count);
        forget(count);
        return all;
    }

    void skip(long count) {
        require(count);
        if (count <= limit - at) {
            at += (int) count;
            return;
        }
        skipped += count;
        forget(count);
    }

    /** Goes on behind bytes that end behind the buffer. */
    private void forget(long count) {
        next += count - (limit - at);
        at = 0;
        limit = 0;
    }

    /** Makes bytes available in the buffer, at most its capacity. */
    private void need(int count) {
        if (limit - at >= count) {
            return;
        }
        require(count);
        checkLimit(count);
        next -= limit - at;
        at = 0;
        limit = 0;
        int length = (int) Math.min(buffer.length, end - next);
        file.read(next, length).get(buffer, 0, length);
        limit = length;
        next += length;
    }

    private void require(long count) {
        if (remaining() < count) {
            throw broken(
                    "the pickle ends early: %s more bytes are needed, %s follow".formatted(count, remaining()));
        }
    }

    private void checkLimit(int count) {
        if (bytesRead() + count > MAX_READ) {
            throw CheckpointException.of(
                    TorchRules.PICKLE_LIMIT,
                    path,
                    opcodeAt,
                    "the pickle has %s bytes; without long texts and arrays at most %s are allowed"
                            .formatted(end - origin, MAX_READ));
        }
    }

    CheckpointException limit(String detail) {
        return CheckpointException.of(TorchRules.PICKLE_LIMIT, path, opcodeAt, detail);
    }

    CheckpointException broken(String detail) {
        return CheckpointException.of(TorchRules.PICKLE_STRUCTURE, path, opcodeAt, detail);
    }
}
