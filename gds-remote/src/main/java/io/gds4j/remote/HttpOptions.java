package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Settings of HTTP sources. Immutable; each {@code with} method returns a copy.
 *
 * @since 0.1
 */
public final class HttpOptions {
    /** Parts of 4 to 16 MiB, 16 to 64 connections, 60 s without progress, 6 attempts, 5 redirects; refuses servers without ranges. */
    public static final HttpOptions DEFAULTS = new HttpOptions(
            Map.of(), 4 << 20, 0, Duration.ofSeconds(10), Duration.ofSeconds(60), 6, Duration.ofMillis(250), 5, false,
            false, 0, Optional.empty(), Optional.empty(), Optional.empty());

    private final Map<String, String> headers;
    private final int partBytes;
    private final int connections;
    private final Duration connectTimeout;
    private final Duration stallTimeout;
    private final int attempts;
    private final Duration backoff;
    private final int redirects;
    private final boolean schemeChange;
    private final boolean linkLocal;
    private final long sequential;
    private final Optional<ProxySelector> proxy;
    private final Optional<SSLContext> tls;
    private final Optional<RemoteCache> cache;

    /**
     * Checks the ranges.
     *
     * @param headers as {@link #headers}
     * @param partBytes as {@link #partBytes}
     * @param connections as {@link #connections}
     * @param connectTimeout as {@link #connectTimeout}
     * @param stallTimeout as {@link #stallTimeout}
     * @param attempts as {@link #attempts}
     * @param backoff as {@link #backoff}
     * @param redirects as {@link #redirects}
     * @param schemeChange as {@link #schemeChange}
     * @param linkLocal as {@link #linkLocal}
     * @param sequential as {@link #sequential}
     * @param proxy as {@link #proxy}
     * @param tls as {@link #tls}
     * @param cache as {@link #cache}
     */
    public HttpOptions(
            Map<String, String> headers,
            int partBytes,
            int connections,
            Duration connectTimeout,
            Duration stallTimeout,
            int attempts,
            Duration backoff,
            int redirects,
            boolean schemeChange,
            boolean linkLocal,
            long sequential,
            Optional<ProxySelector> proxy,
            Optional<SSLContext> tls,
            Optional<RemoteCache> cache) {
        Map<String, String> sorted = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        sorted.putAll(headers);
        headers = Collections.unmodifiableMap(sorted);
        headers.forEach(HttpOptions::checkHeader);
        check("partBytes", partBytes, 64 << 10, 1 << 30);
        check("connections", connections, 0, 1024);
        check("attempts", attempts, 1, 100);
        check("redirects", redirects, 0, 20);
        check("sequential", sequential, 0, Long.MAX_VALUE);
        check("connectTimeout in milliseconds", millis(connectTimeout), 1, Integer.MAX_VALUE);
        check("stallTimeout in milliseconds", millis(stallTimeout), 1, Integer.MAX_VALUE);
        check("backoff in milliseconds", millis(backoff), 0, Integer.MAX_VALUE);
        Objects.requireNonNull(proxy, "proxy");
        Objects.requireNonNull(tls, "tls");
        Objects.requireNonNull(cache, "cache");
        this.headers = headers;
        this.partBytes = partBytes;
        this.connections = connections;
        this.connectTimeout = connectTimeout;
        this.stallTimeout = stallTimeout;
        this.attempts = attempts;
        this.backoff = backoff;
        this.redirects = redirects;
        this.schemeChange = schemeChange;
        this.linkLocal = linkLocal;
        this.sequential = sequential;
        this.proxy = proxy;
        this.tls = tls;
        this.cache = cache;
    }

    /**
     * {@return headers that every request sends, such as {@code Authorization}; never in messages, and not sent to another host
     * after a redirect}
     */
    public Map<String, String> headers() {
        return headers;
    }

    /**
     * {@return bytes of a request, 64 KiB to 1 GiB; larger reads become several requests at the same time, and those of long reads
     * have up to 4 times as many bytes. With 32 or 64 connections those of short reads may have half or a quarter as many}
     */
    public int partBytes() {
        return partBytes;
    }

    /**
     * {@return requests at the same time, and so connections, 1 to 1024; 0, the default, for 16, and for 32 or 64 once reads
     * have become clearly faster by them. Each connection has a thread and a buffer of 256 KiB while it is used}
     */
    public int connections() {
        return connections;
    }

    /** {@return time to connect, more than 0} */
    public Duration connectTimeout() {
        return connectTimeout;
    }

    /**
     * {@return time after which a request fails without real progress, which is 64 KiB, sent or received, or the rest of it; more
     * than 0}
     */
    public Duration stallTimeout() {
        return stallTimeout;
    }

    /** {@return attempts of a request without real progress, 1 to 100} */
    public int attempts() {
        return attempts;
    }

    /** {@return pause after the first failed attempt, 0 or more; doubles with each further one up to 16 times} */
    public Duration backoff() {
        return backoff;
    }

    /** {@return redirects to follow, 0 to 20} */
    public int redirects() {
        return redirects;
    }

    /** {@return whether a redirect may change the scheme, from https to http, for example} */
    public boolean schemeChange() {
        return schemeChange;
    }

    /**
     * {@return whether a redirect may lead to a link-local address, such as a cloud's metadata service, and from a public address to
     * a private, unique-local or loopback one}
     */
    public boolean linkLocal() {
        return linkLocal;
    }

    /**
     * {@return largest object of a server without ranges, which is read once from its beginning, into a temporary file; 0 refuses
     * such servers}
     */
    public long sequential() {
        return sequential;
    }

    /** {@return what chooses a proxy; empty for that of the JVM} */
    public Optional<ProxySelector> proxy() {
        return proxy;
    }

    /** {@return certificates and keys; empty for those of the JVM, which checks servers} */
    public Optional<SSLContext> tls() {
        return tls;
    }

    /** {@return the local folder that keeps parts of objects; empty for none} */
    public Optional<RemoteCache> cache() {
        return cache;
    }

    private static long millis(Duration time) {
        return Math.clamp(time.getSeconds(), -1, Integer.MAX_VALUE) * 1000L + time.getNano() / 1_000_000;
    }

    /** The client's own exception shows the value. */
    private static void checkHeader(String name, String value) {
        try {
            HttpRequest.newBuilder().setHeader(name, value);
        } catch (IllegalArgumentException e) {
            throw CuFileException.invalid("HttpOptions",
                    "the header %s is not allowed, or its value has line breaks or other control characters".formatted(
                            name.replaceAll("[^A-Za-z0-9-]", "?")));
        }
    }

    private static void check(String name, long value, long least, long most) {
        if (value < least || value > most) {
            throw CuFileException.invalid(
                    "HttpOptions", "%s is %s, allowed: %s to %s".formatted(name, value, least, most));
        }
    }

    /**
     * Returns a copy with a header.
     *
     * @param name name of the header
     * @param value its value
     * @return the copy
     */
    public HttpOptions withHeader(String name, String value) {
        Map<String, String> more = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        more.putAll(headers);
        more.put(name, value);
        return new HttpOptions(
                more, partBytes, connections, connectTimeout, stallTimeout, attempts, backoff, redirects, schemeChange,
                linkLocal, sequential, proxy, tls, cache);
    }

    /**
     * Returns a copy with another size and number of requests.
     *
     * @param bytes as {@link #partBytes}
     * @param inFlight as {@link #connections}
     * @return the copy
     */
    public HttpOptions withRequests(int bytes, int inFlight) {
        return new HttpOptions(
                headers, bytes, inFlight, connectTimeout, stallTimeout, attempts, backoff, redirects, schemeChange,
                linkLocal, sequential, proxy, tls, cache);
    }

    /**
     * Returns a copy with other limits of patience.
     *
     * @param stall as {@link #stallTimeout}
     * @param most as {@link #attempts}
     * @param pause as {@link #backoff}
     * @return the copy
     */
    public HttpOptions withPatience(Duration stall, int most, Duration pause) {
        return new HttpOptions(
                headers, partBytes, connections, connectTimeout, stall, most, pause, redirects, schemeChange,
                linkLocal, sequential, proxy, tls, cache);
    }

    /**
     * Returns a copy with other rules for redirects.
     *
     * @param most as {@link #redirects}
     * @param toOtherScheme as {@link #schemeChange}
     * @param toLinkLocal as {@link #linkLocal}
     * @return the copy
     */
    public HttpOptions withRedirects(int most, boolean toOtherScheme, boolean toLinkLocal) {
        return new HttpOptions(
                headers, partBytes, connections, connectTimeout, stallTimeout, attempts, backoff, most, toOtherScheme,
                toLinkLocal, sequential, proxy, tls, cache);
    }

    /**
     * Returns a copy that also accepts servers without ranges, or refuses them. It reads their objects of any size that fits into
     * the folder of temporary files.
     *
     * @param allowed whether to read them
     * @return the copy
     */
    public HttpOptions withSequential(boolean allowed) {
        return withSequential(allowed ? Long.MAX_VALUE : 0);
    }

    /**
     * Returns a copy that reads objects of servers without ranges up to a size.
     *
     * @param mostBytes as {@link #sequential}
     * @return the copy
     */
    public HttpOptions withSequential(long mostBytes) {
        return new HttpOptions(
                headers, partBytes, connections, connectTimeout, stallTimeout, attempts, backoff, redirects,
                schemeChange, linkLocal, mostBytes, proxy, tls, cache);
    }

    /**
     * Returns a copy with a proxy.
     *
     * @param selector chooses the proxy of a URL
     * @return the copy
     */
    public HttpOptions withProxy(ProxySelector selector) {
        return new HttpOptions(
                headers, partBytes, connections, connectTimeout, stallTimeout, attempts, backoff, redirects,
                schemeChange, linkLocal, sequential, Optional.of(selector), tls, cache);
    }

    /**
     * Returns a copy with other certificates.
     *
     * @param context certificates to trust, and keys of the client
     * @return the copy
     */
    public HttpOptions withTls(SSLContext context) {
        return new HttpOptions(
                headers, partBytes, connections, connectTimeout, stallTimeout, attempts, backoff, redirects,
                schemeChange, linkLocal, sequential, proxy, Optional.of(context), cache);
    }

    /**
     * Returns a copy that keeps parts of objects in a local folder. Paths use it; {@link HttpSource#open} does not.
     *
     * @param folder as {@link #cache}
     * @return the copy
     */
    public HttpOptions withCache(RemoteCache folder) {
        return new HttpOptions(
                headers, partBytes, connections, connectTimeout, stallTimeout, attempts, backoff, redirects,
                schemeChange, linkLocal, sequential, proxy, tls, Optional.of(folder));
    }

    /** Returns the proxy of a URL: the first one that the program's selector names, or the JVM's. */
    Optional<InetSocketAddress> proxyOf(URI uri) {
        return proxy.or(() -> Optional.ofNullable(ProxySelector.getDefault()))
                .flatMap(selector -> selector.select(uri).stream().findFirst())
                .filter(first -> first.type() == Proxy.Type.HTTP)
                .map(first -> (InetSocketAddress) first.address());
    }

    private List<Object> all() {
        return List.of(
                headers, partBytes, connections, connectTimeout, stallTimeout, attempts, backoff, redirects,
                schemeChange, linkLocal, sequential, proxy, tls, cache);
    }

    /** Equal options share connections; those of proxies and TLS are equal if they are the same objects. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof HttpOptions that && all().equals(that.all());
    }

    @Override
    public int hashCode() {
        return all().hashCode();
    }

    /** Returns a text without the values of headers, which may be credentials. */
    @Override
    public String toString() {
        return "HttpOptions[headers=%s, partBytes=%s, connections=%s, stallTimeout=%s, attempts=%s]"
                .formatted(headers.keySet(), partBytes, connections, stallTimeout, attempts);
    }
}
