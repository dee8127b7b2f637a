package io.gds4j.rdma;

import io.gds4j.Experimental;
import java.nio.ByteBuffer;

/**
 * The address of a port (GID): 16 bytes, on Ethernet an IPv6 address or an IPv4 address in one.
 *
 * @param high the first 8 bytes
 * @param low the last 8 bytes
 *
 * @since 0.1
 */
@Experimental
public record Gid(long high, long low) {
    private static final int BYTES = 16;

    static Gid query(DomainHandle domain, int port, int index) {
        byte[] answer = new byte[BYTES];
        int result = domain.verbs().queryGid(domain.context(), port, index, answer);
        if (result < 0) {
            throw RdmaFailure.of(
                    "ibv_query_gid", -result, "%s has no GID %s at port %s".formatted(domain.device(), index, port));
        }
        return of(answer);
    }

    /**
     * Makes an address.
     *
     * @param bytes 16 bytes
     * @return the address
     */
    public static Gid of(byte[] bytes) {
        if (bytes.length != BYTES) {
            throw RdmaFailure.invalid("Gid.of", "%s bytes, expected %s".formatted(bytes.length, BYTES));
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new Gid(buffer.getLong(), buffer.getLong());
    }

    /** {@return the 16 bytes} */
    public byte[] bytes() {
        return ByteBuffer.allocate(BYTES).putLong(high).putLong(low).array();
    }

    /** {@return whether the index is free: all bytes are zero} */
    public boolean isEmpty() {
        return high == 0 && low == 0;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        ByteBuffer buffer = ByteBuffer.wrap(bytes());
        while (buffer.hasRemaining()) {
            text.append(text.isEmpty() ? "" : ":").append("%04x".formatted(buffer.getShort() & 0xffff));
        }
        return text.toString();
    }
}
