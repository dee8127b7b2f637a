package io.gds4j.remote;

import java.net.URI;

/** URLs: how messages show them, and which redirects are followed. */
final class ObjectName {
    private ObjectName() {
    }

    /** Returns a URL without user, password and query, which may be credentials. */
    static String shown(URI uri) {
        String port = uri.getPort() < 0 ? "" : ":" + uri.getPort();
        String path = uri.getRawPath() == null ? "" : uri.getRawPath();
        String host = uri.getHost() == null ? "" : uri.getHost();
        return uri.getScheme() + "://" + host + port + path + (uri.getRawQuery() == null ? "" : "?...");
    }

    static boolean isHttp(URI uri) {
        String scheme = uri.getScheme();
        return uri.getHost() != null && scheme != null
                && (scheme.equalsIgnoreCase("http") || scheme.equalsIgnoreCase("https"));
    }

    static boolean isSameOrigin(URI one, URI other) {
        return one.getScheme().equalsIgnoreCase(other.getScheme())
                && one.getHost().equalsIgnoreCase(other.getHost())
                && port(one) == port(other);
    }

    /** Returns the header {@code Host} that the client sends: the port only if it is not that of the scheme. */
    static String host(URI uri) {
        return uri.getHost() + (port(uri) == usualPort(uri) ? "" : ":" + uri.getPort());
    }

    private static int port(URI uri) {
        return uri.getPort() >= 0 ? uri.getPort() : usualPort(uri);
    }

    private static int usualPort(URI uri) {
        return uri.getScheme().equalsIgnoreCase("https") ? 443 : 80;
    }

    /** Returns why a redirect is not followed; empty if it is. */
    static String refusal(URI from, URI to, HttpOptions options) {
        if (!isHttp(to)) {
            return "it redirects to something that is not http or https";
        }
        if (!options.schemeChange() && !from.getScheme().equalsIgnoreCase(to.getScheme())) {
            return "it redirects from %s to %s; HttpOptions.withRedirects can allow that"
                    .formatted(from.getScheme(), shown(to));
        }
        if (!options.linkLocal()) {
            Reach reach = Reach.ofTarget(to.getHost());
            if (reach == Reach.LINK) {
                return "it redirects to a link-local address or a metadata service, %s; HttpOptions.withRedirects can allow that"
                        .formatted(shown(to));
            }
            if (reach == Reach.INNER && Reach.ofOrigin(from.getHost()) == Reach.PUBLIC) {
                return "it redirects from a public to an inner address, %s; HttpOptions.withRedirects can allow that"
                        .formatted(shown(to));
            }
        }
        return "";
    }
}
