package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.http.NativeHttp;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpRequest;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Settings of HTTP sources. Immutable; each {@code with} method returns a copy.
 *
 * @since 0.1
 */
public final class HttpOptions {
    /** Parts of 4 to 16 MiB, 16 to 64 connections, 60 s without progress, 6 attempts, 5 redirects; refuses servers without ranges. */
    public static final HttpOptions DEFAULTS = new HttpOptions(new Values());

    /** The values, which do not change once these options have them. */
    private final Values values;

    /** What a {@code with} method changes before it makes options of it. */
    private static final class Values implements Cloneable {
        private Map<String, String> headers = Map.of();
        private int partBytes = 4 << 20;
        private int connections;
        private Duration connectTimeout = Duration.ofSeconds(10);
        private Duration stallTimeout = Duration.ofSeconds(60);
        private int attempts = 6;
        private Duration backoff = Duration.ofMillis(250);
        private int redirects = 5;
        private Set<RedirectTarget> redirectTargets = Set.of();
        private long sequential;
        private Optional<ProxySelector> proxy = Optional.empty();
        private Optional<SSLContext> tls = Optional.empty();
        private Optional<PemTrust> trust = Optional.empty();
        private Optional<RemoteCache> cache = Optional.empty();

        @Override
        protected Values clone() {
            try {
                return (Values) super.clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }

        List<Object> all() {
            return List.of(
                    headers, partBytes, connections, connectTimeout, stallTimeout, attempts, backoff, redirects,
                    redirectTargets, sequential, proxy, tls, trust, cache);
        }
    }

    private HttpOptions(Values values) {
        values.headers.forEach(HttpOptions::checkHeader);
        check("partBytes", values.partBytes, 64 << 10, 1 << 30);
        check("connections", values.connections, 0, 1024);
        check("attempts", values.attempts, 1, 100);
        check("redirects", values.redirects, 0, 20);
        check("sequential", values.sequential, 0, Long.MAX_VALUE);
        check("connectTimeout in milliseconds", millis(values.connectTimeout), 1, Integer.MAX_VALUE);
        check("stallTimeout in milliseconds", millis(values.stallTimeout), 1, Integer.MAX_VALUE);
        check("backoff in milliseconds", millis(values.backoff), 0, Integer.MAX_VALUE);
        this.values = values;
    }

    private HttpOptions with(Consumer<Values> change) {
        Values changed = values.clone();
        change.accept(changed);
        return new HttpOptions(changed);
    }

    /**
     * {@return headers that every request sends, such as {@code Authorization}; never in messages, and not sent to another host
     * after a redirect}
     */
    public Map<String, String> headers() {
        return values.headers;
    }

    /**
     * {@return bytes of a request, 64 KiB to 1 GiB; larger reads become several requests at the same time, and those of long reads
     * have up to 4 times as many bytes. With 32 or 64 connections those of short reads may have half or a quarter as many}
     */
    public int partBytes() {
        return values.partBytes;
    }

    /**
     * {@return requests at the same time, and so connections, 1 to 1024; 0, the default, for 16, and for 32 or 64 once reads
     * have become clearly faster by them. Each connection has a thread and a buffer of 256 KiB while it is used}
     */
    public int connections() {
        return values.connections;
    }

    /** {@return time to connect, more than 0} */
    public Duration connectTimeout() {
        return values.connectTimeout;
    }

    /**
     * {@return time after which a request fails without real progress, which is 64 KiB, sent or received, or the rest of it; more
     * than 0}
     */
    public Duration stallTimeout() {
        return values.stallTimeout;
    }

    /** {@return attempts of a request without real progress, 1 to 100} */
    public int attempts() {
        return values.attempts;
    }

    /** {@return pause after the first failed attempt, 0 or more; doubles with each further one up to 16 times} */
    public Duration backoff() {
        return values.backoff;
    }

    /** {@return redirects to follow, 0 to 20} */
    public int redirects() {
        return values.redirects;
    }

    /** {@return where redirects may lead though it is less safe; empty by default} */
    public Set<RedirectTarget> redirectTargets() {
        return values.redirectTargets;
    }

    /** Where a redirect may lead only if the program allows it. */
    public enum RedirectTarget {
        /** To a URL of another scheme, from https to http, for example. */
        OTHER_SCHEME,
        /** To a link-local address, such as a cloud's metadata service, and from a public address to a private, unique-local or loopback one. */
        INNER_ADDRESS
    }

    /**
     * {@return largest object of a server without ranges, which is read once from its beginning, into a temporary file; 0 refuses
     * such servers}
     */
    public long sequential() {
        return values.sequential;
    }

    /** {@return what chooses a proxy; empty for that of the JVM} */
    public Optional<ProxySelector> proxy() {
        return values.proxy;
    }

    /** {@return certificates and keys; empty for those of the JVM, which checks servers} */
    public Optional<SSLContext> tls() {
        return values.tls;
    }

    /** {@return PEM file of the certificates to trust; empty for those of {@link #tls} or the JVM} */
    public Optional<Path> certificates() {
        return values.trust.map(PemTrust::file);
    }

    Optional<PemTrust> trust() {
        return values.trust;
    }

    /** Returns the policy of TLS; empty if only the JVM's own TLS obeys it. */
    Optional<NativeHttp.Tls> tlsPolicy() {
        return values.trust.map(PemTrust::policy).orElseGet(JvmTls::policy);
    }

    /** Returns why the settings of TLS let no server be trusted; empty if they do, or the program has its own. */
    Optional<String> tlsProblem() {
        return values.tls.isPresent() || values.trust.isPresent()
                ? values.trust.flatMap(PemTrust::problem)
                : JvmTls.problem();
    }

    /** {@return the local folder that keeps parts of objects; empty for none} */
    public Optional<RemoteCache> cache() {
        return values.cache;
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
        more.putAll(values.headers);
        more.put(name, value);
        return with(changed -> changed.headers = Collections.unmodifiableMap(more));
    }

    /**
     * Returns a copy with another size and number of requests.
     *
     * @param bytes as {@link #partBytes}
     * @param inFlight as {@link #connections}
     * @return the copy
     */
    public HttpOptions withRequests(int bytes, int inFlight) {
        return with(changed -> {
            changed.partBytes = bytes;
            changed.connections = inFlight;
        });
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
        return with(changed -> {
            changed.stallTimeout = stall;
            changed.attempts = most;
            changed.backoff = pause;
        });
    }

    /**
     * Returns a copy with other rules for redirects.
     *
     * @param most as {@link #redirects}
     * @param allowed as {@link #redirectTargets}
     * @return the copy
     */
    public HttpOptions withRedirects(int most, RedirectTarget... allowed) {
        Set<RedirectTarget> targets = Set.copyOf(List.of(allowed));
        return with(changed -> {
            changed.redirects = most;
            changed.redirectTargets = targets;
        });
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
        return with(changed -> changed.sequential = mostBytes);
    }

    /**
     * Returns a copy with a proxy.
     *
     * @param selector chooses the proxy of a URL
     * @return the copy
     */
    public HttpOptions withProxy(ProxySelector selector) {
        Optional<ProxySelector> chosen = Optional.of(selector);
        return with(changed -> changed.proxy = chosen);
    }

    /**
     * Returns a copy that trusts the certificates of a file, and not those of the JVM or of {@link #withTls}. The file is read now. If that fails,
     * each request by https fails with the reason.
     *
     * @param pem certificates of servers or their authorities in PEM, one or more
     * @return the copy
     */
    public HttpOptions withCertificates(Path pem) {
        Optional<PemTrust> read = Optional.of(new PemTrust(pem));
        return with(changed -> {
            changed.trust = read;
            changed.tls = Optional.empty();
        });
    }

    /**
     * Returns a copy with other certificates, in place of those of {@link #withCertificates}.
     *
     * @param context certificates to trust, and keys of the client
     * @return the copy
     */
    public HttpOptions withTls(SSLContext context) {
        Optional<SSLContext> chosen = Optional.of(context);
        return with(changed -> {
            changed.tls = chosen;
            changed.trust = Optional.empty();
        });
    }

    /**
     * Returns a copy that keeps parts of objects in a local folder. Paths use it; {@link HttpSource#open} does not.
     *
     * @param folder as {@link #cache}
     * @return the copy
     */
    public HttpOptions withCache(RemoteCache folder) {
        Optional<RemoteCache> chosen = Optional.of(folder);
        return with(changed -> changed.cache = chosen);
    }

    /** Returns a copy with certificates and headers of other options where these have none. */
    HttpOptions or(HttpOptions others) {
        boolean hasOwn = values.tls.isPresent() || values.trust.isPresent();
        Map<String, String> more = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        more.putAll(others.headers());
        more.putAll(values.headers);
        return with(changed -> {
            changed.trust = hasOwn ? values.trust : others.trust();
            changed.headers = Collections.unmodifiableMap(more);
        });
    }

    /** Returns the proxy of a URL: the first one that the program's selector names, or the JVM's. */
    Optional<InetSocketAddress> proxyOf(URI uri) {
        return values.proxy.or(() -> Optional.ofNullable(ProxySelector.getDefault()))
                .flatMap(selector -> selector.select(uri).stream().findFirst())
                .filter(first -> first.type() == Proxy.Type.HTTP)
                .map(first -> (InetSocketAddress) first.address());
    }

    /** Equal options share connections; those of proxies and TLS are equal if they are the same objects. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof HttpOptions that && values.all().equals(that.values.all());
    }

    @Override
    public int hashCode() {
        return values.all().hashCode();
    }

    /** Returns a text without the values of headers, which may be credentials. */
    @Override
    public String toString() {
        return "HttpOptions[headers=%s, partBytes=%s, connections=%s, stallTimeout=%s, attempts=%s]"
                .formatted(values.headers.keySet(), values.partBytes, values.connections, values.stallTimeout,
                        values.attempts);
    }
}
