package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.ffi.verbs.PortAttributes;
import org.jspecify.annotations.Nullable;

/**
 * A port of an RDMA device.
 *
 * @since 0.1
 */
@Experimental
public final class RdmaPort {
    private static final int MIN_MTU_SHIFT = 7;
    private static final int MAX_PORTS = 255;

    private final Parts parts;

    RdmaPort(int number, boolean active, boolean ethernet, int mtu, int gids, int lid) {
        parts = new Parts(number, active, ethernet, mtu, gids, lid);
    }

    /** {@return its number, from 1} */
    public int number() {
        return parts.number;
    }

    /** {@return whether it has a link} */
    public boolean active() {
        return parts.active;
    }

    /** {@return whether its link is Ethernet (RoCE), not InfiniBand} */
    public boolean ethernet() {
        return parts.ethernet;
    }

    /** {@return bytes of the largest packet's data} */
    public int mtu() {
        return parts.mtu;
    }

    /** {@return number of addresses} */
    public int gids() {
        return parts.gids;
    }

    /** {@return local identifier; 0 on Ethernet} */
    public int lid() {
        return parts.lid;
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
                number, answer.state() == PortAttributes.ACTIVE, answer.linkLayer() == PortAttributes.ETHERNET,
                1 << MIN_MTU_SHIFT + answer.activeMtu(), answer.gids(), answer.lid());
    }

    /** Returns {@code enum ibv_mtu} of a size in bytes. */
    static int mtuCode(int bytes) {
        return Integer.numberOfTrailingZeros(bytes) - MIN_MTU_SHIFT;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof RdmaPort that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "RdmaPort");
    }

    private record Parts(int number, boolean active, boolean ethernet, int mtu, int gids, int lid) {
    }
}
