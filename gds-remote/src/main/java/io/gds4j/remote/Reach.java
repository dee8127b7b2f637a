package io.gds4j.remote;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** From where an address can be reached: a redirect must not make a client ask what only its own network can ask. */
enum Reach {
    /** An address of the link, or the address of a cloud's metadata service, which gives credentials to any client. */
    LINK,
    /** An address of this machine or of a private network. */
    INNER,
    /** Any other address. */
    PUBLIC;

    /** Metadata services that are not at a link-local address: Alibaba Cloud, Google Cloud and Azure. */
    private static final List<InetAddress> METADATA =
            Stream.of("100.100.100.200", "fd20:ce::254", "168.63.129.16").map(InetAddress::ofLiteral).toList();
    /** A block in which AWS has all services of the instance. */
    private static final byte[] AWS = {(byte) 0xfd, 0, 0x0e, (byte) 0xc2};
    private static final byte[] NAT64 = {0, 0x64, (byte) 0xff, (byte) 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};
    private static final byte[] LOCAL_NAT64 = {0, 0x64, (byte) 0xff, (byte) 0x9b, 0, 1};

    /** Returns the addresses of a host; none if it is unknown. The JVM keeps them for some seconds, so another call returns the same. */
    static List<InetAddress> known(String host) {
        try {
            return List.of(InetAddress.getAllByName(host));
        } catch (UnknownHostException e) {
            return List.of();
        }
    }

    /** Returns the innermost reach of addresses; {@link #PUBLIC} if there are none. */
    static Reach innermost(List<InetAddress> addresses) {
        return addresses.stream().map(Reach::of).min(Comparator.naturalOrder()).orElse(PUBLIC);
    }

    /** Returns the outermost reach of addresses; {@link #PUBLIC} if there are none. */
    static Reach outermost(List<InetAddress> addresses) {
        return addresses.stream().map(Reach::of).max(Comparator.naturalOrder()).orElse(PUBLIC);
    }

    /** Returns whether an address of a host is a loopback address, or that of a service which only the machine reaches. */
    static boolean isOfTheMachine(String host) {
        return known(host).stream().anyMatch(address -> address.isLoopbackAddress() || of(address) == LINK);
    }

    private static Reach of(InetAddress found) {
        InetAddress address = unwrapped(found);
        byte[] bytes = address.getAddress();
        if (address.isLinkLocalAddress() || isMetadata(address)) {
            return LINK;
        }
        boolean inner = address.isLoopbackAddress()
                || address.isAnyLocalAddress()
                || address.isSiteLocalAddress()
                || address.isMulticastAddress()
                || (address instanceof Inet6Address ? isInner6(bytes) : isInner4(bytes));
        return inner ? INNER : PUBLIC;
    }

    private static boolean isMetadata(InetAddress address) {
        if (address instanceof Inet6Address && starts(address.getAddress(), AWS)) {
            return true;
        }
        return METADATA.contains(address);
    }

    /** Returns the IPv4 address within an address of NAT64, 6to4 or the old compatible form. The JDK unwraps mapped ones. */
    private static InetAddress unwrapped(InetAddress address) {
        byte[] bytes = address.getAddress();
        if (!(address instanceof Inet6Address six)) {
            return address;
        }
        if (starts(bytes, NAT64) || six.isIPv4CompatibleAddress() && !six.isLoopbackAddress()
                && !six.isAnyLocalAddress()) {
            return four(bytes, 12);
        }
        return bytes[0] == 0x20 && bytes[1] == 2 ? four(bytes, 2) : address;
    }

    private static InetAddress four(byte[] bytes, int at) {
        try {
            return InetAddress.getByAddress(Arrays.copyOfRange(bytes, at, at + 4));
        } catch (UnknownHostException e) {
            throw new AssertionError(e); // four bytes are an address
        }
    }

    private static boolean starts(byte[] bytes, byte[] prefix) {
        return Arrays.equals(bytes, 0, prefix.length, prefix, 0, prefix.length);
    }

    /** Unique-local addresses, and NAT64 of a network's own prefix. */
    private static boolean isInner6(byte[] bytes) {
        return (bytes[0] & 0xfe) == 0xfc || starts(bytes, LOCAL_NAT64);
    }

    /** This network, the providers' shared addresses, special and reserved ones. */
    private static boolean isInner4(byte[] bytes) {
        int first = bytes[0] & 0xff;
        int second = bytes[1] & 0xff;
        return first == 0
                || first == 100 && second >= 64 && second < 128
                || first == 192 && second == 0 && bytes[2] == 0
                || first == 198 && (second == 18 || second == 19)
                || first >= 240;
    }
}
