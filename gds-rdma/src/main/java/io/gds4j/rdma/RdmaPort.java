package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.ffi.verbs.PortAttributes;

/**
 * A port of an RDMA device.
 *
 * @param number its number, from 1
 * @param active whether it has a link
 * @param linkLayer what carries its packets
 * @param mtu bytes of the largest packet's data
 * @param gids number of addresses
 * @param lid local identifier; 0 on Ethernet
 * @since 0.1
 */
@Experimental
public record RdmaPort(int number, boolean active, LinkLayer linkLayer, int mtu, int gids, int lid) {

    private static final int MIN_MTU_SHIFT = 7;

    private static final int MAX_PORTS = 255;

    /** What carries packets. */
    public enum LinkLayer {
        /** InfiniBand. */
        INFINIBAND,
        /** Ethernet, with RoCE. */
        ETHERNET
    }

    static RdmaPort query(DomainHandle domain, int number) {
        if (number < 1 || number > MAX_PORTS) {
            throw RdmaFailure.invalid("ibv_query_port", "%s has no port %s".formatted(domain.device(), number));
        }
        PortAttributes answer = new PortAttributes();
        int result = domain.verbs().queryPort(domain.context(), number, answer);
        if (result < 0) {
            throw RdmaFailure.of("ibv_query_port", -result, "%s has no port %s".formatted(domain.device(), number));
        }
        return new RdmaPort(
                number, answer.state() == PortAttributes.ACTIVE,
                answer.linkLayer() == PortAttributes.ETHERNET ? LinkLayer.ETHERNET : LinkLayer.INFINIBAND,
                1 << MIN_MTU_SHIFT + answer.activeMtu(), answer.gids(), answer.lid());
    }

    /** Returns {@code enum ibv_mtu} of a size in bytes. */
    static int mtuCode(int bytes) {
        return Integer.numberOfTrailingZeros(bytes) - MIN_MTU_SHIFT;
    }
}
