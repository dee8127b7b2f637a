package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** URLs: how messages show them, and which redirects are followed. */
final class ObjectName {
    private static final Pattern NUMBER = Pattern.compile("[0-9]+|0[xX][0-9a-fA-F]*|0[bB][01]+");
    private static final Pattern PLAIN_IPV4 = Pattern.compile("(?:(?:0|[1-9][0-9]{0,2})\\.){3}(?:0|[1-9][0-9]{0,2})");
    private static final HexFormat HEX = HexFormat.of().withUpperCase();

    private ObjectName() {
    }

    /** Returns a URL without user, password and query, which may be credentials. */
    static String shown(URI uri) {
        String port = uri.getPort() < 0 ? "" : ":" + uri.getPort();
        String path = uri.getRawPath() == null ? "" : uri.getRawPath();
        String host = uri.getHost() != null ? uri.getHost() : named(uri.getRawAuthority());
        return uri.getScheme() + "://" + host + port + path + (uri.getRawQuery() == null ? "" : "?...");
    }

    /** Returns a name that is none of a host, such as that of a bucket with an underscore; empty for other text. */
    private static String named(@Nullable String authority) {
        return authority != null && authority.matches("[A-Za-z0-9._-]+") ? authority : "";
    }

    /** Returns a text as it may stand in a path: all but letters, digits, {@code - . _ ~ /} escaped, as signatures want it. */
    static String escaped(String text) {
        return escaped(text, "-._~/");
    }

    /** Returns a text as RFC 3986 lets it stand in a path. */
    static String inPath(String text) {
        return escaped(text, "-._~/!$&'()*+,;=:@");
    }

    private static String escaped(String text, String plain) {
        StringBuilder out = new StringBuilder();
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            char c = (char) (b & 0xff);
            if (c < 0x80 && Character.isLetterOrDigit(c) || plain.indexOf(c) >= 0) {
                out.append(c);
            } else {
                escape(out, c);
            }
        }
        return out.toString();
    }

    private static void escape(StringBuilder out, char c) {
        out.append('%').append(HEX.toHexDigits((byte) c));
    }

    /** Returns a text without its escapes; empty if they are not UTF-8. */
    static Optional<String> unescaped(String escaped) {
        byte[] from = escaped.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int i = 0; i < from.length; i++) {
            boolean isEscape = from[i] == '%' && i + 2 < from.length;
            out.write(isEscape ? HexFormat.fromHexDigits(new String(from, i + 1, 2, StandardCharsets.US_ASCII))
                    : from[i]);
            i += isEscape ? 2 : 0;
        }
        try {
            return Optional
                    .of(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(out.toByteArray())).toString());
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }

    /**
     * Returns the names of an object in a URL, in one spelling: every other is the same object.
     *
     * @param word what the store calls them
     * @param refused makes the failure: a query, a fragment, a name that is empty or not UTF-8
     */
    static String plain(URI uri, String escaped, String word, Function<String, CuFileException> refused) {
        if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
            throw refused.apply("; in a " + word + ", ? is %3F and # is %23");
        }
        return escaped(unescaped(escaped).filter(text -> !text.contains("//")).orElseThrow(
                () -> refused.apply("; a " + word + " is UTF-8 and has no empty names")));
    }

    /** Returns a name without escapes; with them if it would be another name without. */
    static String name(String escaped) {
        return unescaped(escaped).filter(name -> name.indexOf('/') < 0).orElse(escaped);
    }

    /**
     * Returns a URL without fragment whose letters outside ASCII are escaped as they are: the client of the JDK would compose them,
     * and so ask for another object.
     */
    static URI ascii(URI uri) {
        String text = uri.toString();
        int fragment = text.indexOf('#');
        return reference(fragment < 0 ? text : text.substring(0, fragment));
    }

    /** Returns a URL, or part of one, that may have spaces and letters outside ASCII, which servers send. */
    static URI reference(String text) {
        StringBuilder out = new StringBuilder();
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            char c = (char) (b & 0xff);
            if (c < 0x80 && "\"<> \\^`{|}".indexOf(c) < 0) {
                out.append(c);
            } else {
                escape(out, c);
            }
        }
        return URI.create(out.toString());
    }

    /**
     * Returns the URL that a reference of a server means, by RFC 3986 5.2. {@link URI#resolve} does it by an older one: it drops the last
     * name before a query, and keeps dots that lead out of the root.
     *
     * @throws IllegalArgumentException if the text is no reference
     */
    static URI resolved(URI base, String text) {
        URI to = reference(text);
        if (to.isAbsolute()) {
            return to.isOpaque() ? to : joined(to.getScheme(), to.getRawAuthority(), undotted(to.getRawPath()), to);
        }
        if (to.getRawAuthority() != null) {
            return joined(base.getScheme(), to.getRawAuthority(), undotted(to.getRawPath()), to);
        }
        String path = to.getRawPath();
        String whole = path.startsWith("/") ? path : base.getRawPath();
        if (!path.isEmpty() && !path.startsWith("/")) {
            whole = whole.isEmpty() ? "/" + path : whole.substring(0, whole.lastIndexOf('/') + 1) + path;
        }
        return joined(
                base.getScheme(), base.getRawAuthority(), path.isEmpty() ? whole : undotted(whole),
                path.isEmpty() && to.getRawQuery() == null ? base : to);
    }

    /** Returns a URL without fragment, with the query of another. */
    private static URI joined(String scheme, @Nullable String authority, String path, URI query) {
        return URI.create("%s:%s%s%s".formatted(
                scheme, authority == null ? "" : "//" + authority, path,
                query.getRawQuery() == null ? "" : "?" + query.getRawQuery()));
    }

    /** Returns a path without {@code .} and {@code ..}, which stay in names of several dots. */
    private static String undotted(String path) {
        if (!path.startsWith("/")) {
            return path;
        }
        List<String> names = new ArrayList<>();
        String[] all = path.substring(1).split("/", -1);
        for (int i = 0; i < all.length; i++) {
            boolean up = all[i].equals("..");
            if (up && !names.isEmpty()) {
                names.removeLast();
            }
            if (!up && !all[i].equals(".")) {
                names.add(all[i]);
            } else if (i == all.length - 1) {
                names.add(""); // a folder
            }
        }
        return "/" + String.join("/", names);
    }

    /** Returns why a URL is not one of an HTTP server. */
    static String notHttp(URI uri) {
        String authority = uri.getRawAuthority() == null ? "" : uri.getRawAuthority();
        String host = authority.substring(authority.lastIndexOf('@') + 1);
        boolean badHost = host.matches("[A-Za-z0-9._:-]{1,255}");
        return badHost
                ? "the host %s is neither a name (letters, digits, - and .) nor an address such as 192.0.2.1".formatted(
                        host)
                : "not an http or https URL: " + shown(uri);
    }

    static boolean isHttp(URI uri) {
        String scheme = uri.getScheme();
        return uri.getHost() != null && scheme != null && isPlain(uri.getHost())
                && (scheme.equalsIgnoreCase("http") || scheme.equalsIgnoreCase("https"));
    }

    /** Returns the URL of a server, without a slash at its end; empty if it is none, or has a user or a query. */
    static Optional<URI> server(URI url) {
        return isHttp(url) && url.getRawUserInfo() == null && url.getRawQuery() == null && url.getRawFragment() == null
                ? Optional.of(URI.create(url.toString().replaceFirst("/+$", "")))
                : Optional.empty();
    }

    /** Returns what the names of all objects in a folder begin with. */
    static String prefix(List<String> folder) {
        return folder.isEmpty() ? "" : unescaped(String.join("/", folder)).orElseThrow() + "/";
    }

    /** Returns whether all parsers read a host alike: some take 0177.0.0.1, 0x7f000001 and 2130706433 for addresses. */
    private static boolean isPlain(String host) {
        boolean isIpv6 = host.startsWith("[");
        String name = isIpv6 ? host.substring(host.lastIndexOf(':') + 1, host.length() - 1)
                : host.endsWith(".") ? host.substring(0, host.length() - 1) : host;
        String last = name.substring(name.lastIndexOf('.') + 1);
        boolean isName = isIpv6 ? name.indexOf('.') < 0 && host.indexOf('%') < 0 : !NUMBER.matcher(last).matches();
        return isName || PLAIN_IPV4.matcher(isIpv6 ? name : host).matches();
    }

    static boolean isSameOrigin(URI one, URI other) {
        return one.getScheme().equalsIgnoreCase(other.getScheme())
                && one.getHost().equalsIgnoreCase(other.getHost())
                && port(one) == port(other);
    }

    /** Returns what two URLs of the same server have in common. */
    static String origin(URI uri) {
        return "%s://%s:%s".formatted(uri.getScheme(), uri.getHost(), port(uri)).toLowerCase(Locale.ROOT);
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

    /** Returns why a redirect is not followed, whatever the addresses of its place are; empty if it is. */
    static String refusal(URI from, URI to, HttpOptions options) {
        if (!isHttp(to)) {
            return "its redirect is not followed: " + notHttp(to);
        }
        if (!options.redirectTargets().contains(HttpOptions.RedirectTarget.OTHER_SCHEME)
                && !from.getScheme().equalsIgnoreCase(to.getScheme())) {
            return "it redirects from %s to %s; HttpOptions.withRedirects can allow that"
                    .formatted(from.getScheme(), shown(to));
        }
        return "";
    }
}
