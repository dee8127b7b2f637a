package io.gds4j.rdma;

import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * The header of a message between the two ends of a transfer.
 *
 * @param kind what it says
 * @param value DATA: offset of the bytes in the transfer; END and DONE: bytes of the whole transfer
 * @param length DATA: bytes that follow
 * @param text ERROR: what failed
 */
record TransferMessage(Kind kind, long value, int length, String text) {
    enum Kind {
        /** The sender: bytes follow. */
        DATA,
        /** The sender: all bytes were sent. */
        END,
        /** The receiver: one more slab is free. */
        CREDIT,
        /** The receiver: all bytes are where they belong. */
        DONE,
        /** Either: the transfer has failed there. */
        ERROR
    }

    static final int BYTES = 256;
    private static final int MAGIC = 0x67647432;
    private static final int FIXED_BYTES = 24;
    private static final Kind[] KINDS = Kind.values();

    static TransferMessage of(Kind kind, long value, int length) {
        return new TransferMessage(kind, value, length, "");
    }

    static TransferMessage error(String text) {
        return new TransferMessage(Kind.ERROR, 0, 0, text);
    }

    void write(ByteBuffer buffer) {
        byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(encoded.length, BYTES - FIXED_BYTES);
        buffer.putInt(MAGIC).putInt(kind.ordinal()).putLong(value).putInt(this.length).putInt(length);
        buffer.put(encoded, 0, length);
    }

    /** @param received bytes of the whole message */
    static TransferMessage read(ByteBuffer buffer, int received) {
        int magic = buffer.getInt();
        int kind = buffer.getInt();
        long value = buffer.getLong();
        int length = buffer.getInt();
        int textLength = buffer.getInt();
        boolean valid = received >= BYTES && magic == MAGIC && kind >= 0 && kind < KINDS.length && value >= 0
                && length == received - BYTES && textLength >= 0 && textLength <= BYTES - FIXED_BYTES;
        if (!valid) {
            throw RdmaFailure.of(
                    CuFileError.IO_ERROR, "RdmaTransfer", Errno.EIO,
                    "a message of %s bytes that no RdmaTransfer sends".formatted(received));
        }
        byte[] encoded = new byte[textLength];
        buffer.get(encoded);
        return new TransferMessage(KINDS[kind], value, length, new String(encoded, StandardCharsets.UTF_8));
    }
}
