package io.gds4j.rdma;

import io.gds4j.Experimental;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * One end of a connection: what the other end must know of it.
 *
 * @param type the type of the queue pair
 * @param queuePair its number
 * @param firstPacket number of its first packet, 24 bits
 * @param lid local identifier of its port, 16 bits; 0 on Ethernet
 * @param mtu bytes of the largest packet's data
 * @param gid address of its port
 *
 * @since 0.1
 */
@Experimental
public record RdmaPeer(QueuePairType type, int queuePair, int firstPacket, int lid, int mtu, Gid gid) {

    private static final int MAGIC = 0x67647331;
    private static final int BYTES = 4 + 5 * 4 + 16;
    private static final int MAX_MTU = 4096;
    private static final int MIN_MTU = 256;
    private static final int BITS_24 = 0xffffff;
    private static final int BITS_16 = 0xffff;

    /**
     * Checks the numbers.
     *
     * @throws io.gds4j.error.CuFileException INVALID_VALUE if a number is outside of its range
     */
    public RdmaPeer {
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(gid, "gid");
        if (Integer.bitCount(mtu) != 1 || mtu < MIN_MTU || mtu > MAX_MTU) {
            throw RdmaFailure.invalid("RdmaPeer", "an MTU of %s bytes: 256, 512, 1024, 2048 or 4096".formatted(mtu));
        }
        if (queuePair < 0 || queuePair > BITS_24 || firstPacket < 0 || firstPacket > BITS_24) {
            throw RdmaFailure.invalid(
                    "RdmaPeer", "queue pair %s, packet %s: at most 24 bits each".formatted(queuePair, firstPacket));
        }
        if (lid < 0 || lid > BITS_16) {
            throw RdmaFailure.invalid("RdmaPeer", "local identifier %s: at most 16 bits".formatted(lid));
        }
    }

    byte[] encode() {
        return ByteBuffer.allocate(BYTES).putInt(MAGIC).putInt(type.ordinal()).putInt(queuePair).putInt(firstPacket)
                .putInt(lid).putInt(mtu).put(gid.bytes()).array();
    }

    static RdmaPeer decode(byte[] message) {
        ByteBuffer buffer = ByteBuffer.wrap(message);
        if (message.length != BYTES || buffer.getInt() != MAGIC) {
            throw RdmaFailure.invalid(
                    "QueuePair.connect", "the peer's %s bytes do not describe a queue pair".formatted(message.length));
        }
        int type = buffer.getInt();
        QueuePairType[] types = QueuePairType.values();
        if (type < 0 || type >= types.length) {
            throw RdmaFailure.invalid("QueuePair.connect", "the peer has a queue pair of type " + type);
        }
        int number = buffer.getInt();
        int firstPacket = buffer.getInt();
        int lid = buffer.getInt();
        int mtu = buffer.getInt();
        return new RdmaPeer(types[type], number, firstPacket, lid, mtu, new Gid(buffer.getLong(), buffer.getLong()));
    }
}
