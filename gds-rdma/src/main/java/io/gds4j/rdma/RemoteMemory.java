package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.nio.ByteBuffer;

/**
 * Memory of a peer: what a peer says of a region or a window, so that others may reach it. Nothing here checks that the key is
 * alive; the peer's device does, at each access.
 *
 * @param address first byte, as the peer names it
 * @param length bytes
 * @param key the remote key
 *
 * @since 0.1
 */
@Experimental
public record RemoteMemory(long address, long length, int key) {

    /** Bytes of {@link #encode}. */
    public static final int ENCODED_BYTES = 20;

    /**
     * Checks the length.
     *
     * @throws CuFileException INVALID_VALUE for a negative length
     */
    public RemoteMemory {
        if (length < 0) {
            throw RdmaFailure.of(CuFileError.INVALID_VALUE, "RemoteMemory", Errno.EINVAL, "negative length " + length);
        }
    }

    /**
     * A part of it.
     *
     * @param offset first byte, from the first byte of this
     * @param size bytes
     * @return the part, with the same key
     * @throws CuFileException INVALID_MAPPING_RANGE if it is not inside
     */
    public RemoteMemory slice(long offset, long size) {
        RdmaFailure.requireInside("RemoteMemory.slice", offset, size, length, "");
        return new RemoteMemory(address + offset, size, key);
    }

    /** {@return it in {@value #ENCODED_BYTES} bytes, for a message to the peer} */
    public byte[] encode() {
        return ByteBuffer.allocate(ENCODED_BYTES).putLong(address).putLong(length).putInt(key).array();
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @param bytes {@value #ENCODED_BYTES} bytes
     * @return the memory
     * @throws CuFileException INVALID_VALUE for another number of bytes or a negative length
     */
    public static RemoteMemory decode(byte[] bytes) {
        if (bytes.length != ENCODED_BYTES) {
            throw RdmaFailure.of(
                    CuFileError.INVALID_VALUE, "RemoteMemory.decode", Errno.EINVAL,
                    "%s bytes, expected %s".formatted(bytes.length, ENCODED_BYTES));
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new RemoteMemory(buffer.getLong(), buffer.getLong(), buffer.getInt());
    }
}
