package io.gds4j.remote;

import java.io.IOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.List;

/**
 * Where requests go: a URL of the program, or the place of a redirect, which must not make a client ask what only its own network can
 * ask. The addresses that a client connects to are those that were looked at. Thread-safe.
 */
final class Place {
    private final URI uri;
    private final Reach least;

    /** Whether an address was public when it was asked, which stays so: its owner may change the name's addresses. */
    private volatile boolean isPublic;

    private Place(URI uri, Reach least) {
        this.uri = uri;
        this.least = least;
    }

    /** A redirect that must not be followed: another attempt would change nothing. */
    static final class Refused extends IOException {
        private static final long serialVersionUID = 1L;

        Refused(String why) {
            super(why);
        }
    }

    /** Returns a place that the program names: it may be anywhere. */
    static Place of(URI uri) {
        return new Place(uri, Reach.LINK);
    }

    URI uri() {
        return uri;
    }

    /** Returns the place that a redirect of this one leads to. */
    Place redirected(URI to, HttpOptions options) {
        if (options.redirectTargets().contains(HttpOptions.RedirectTarget.INNER_ADDRESS)) {
            return new Place(to, Reach.LINK);
        }
        boolean fromPublic = isPublic
                || options.proxyOf(uri).isPresent() && Reach.outermost(Reach.known(uri.getHost())) == Reach.PUBLIC;
        return new Place(to, fromPublic ? Reach.PUBLIC : Reach.INNER);
    }

    /**
     * Returns the addresses to connect to. Behind a proxy there may be none, because the proxy connects and may know other hosts.
     *
     * @throws UnknownHostException if there is no proxy, and no address
     * @throws Refused if an address is one that a redirect must not lead to
     */
    List<InetAddress> addresses(HttpOptions options) throws IOException {
        boolean proxied = options.proxyOf(uri).isPresent();
        if (proxied && least == Reach.LINK) {
            return List.of();
        }
        List<InetAddress> addresses = Reach.known(uri.getHost());
        if (addresses.isEmpty() && !proxied) {
            throw new UnknownHostException(uri.getHost());
        }
        Reach innermost = Reach.innermost(addresses);
        if (innermost.compareTo(least) < 0) {
            throw new Refused("it redirects %s, %s; HttpOptions.withRedirects can allow that".formatted(
                    innermost == Reach.LINK ? "to a link-local address or a metadata service"
                            : "from a public to an inner address",
                    ObjectName.shown(uri)));
        }
        if (Reach.outermost(addresses) == Reach.PUBLIC) {
            isPublic = true; // without a look at it: another part of the same read may set it now
        }
        return addresses;
    }
}
