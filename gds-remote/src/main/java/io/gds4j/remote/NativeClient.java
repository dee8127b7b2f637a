package io.gds4j.remote;

import io.gds4j.internal.http.HttpClients;
import io.gds4j.internal.http.NativeHttp;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One connection of a library of the system, and the thread that uses it. Both begin with a request, and end some seconds after the
 * last one. What only the JVM's TLS can do is left to its client.
 */
final class NativeClient implements Client {
    private static final String SETTING = "gds4j.http";
    private static final String VARIABLE = "GDS4J_HTTP";
    private static final String ANY = "any";
    static final long IDLE_SECONDS = 5;
    private static final String PROXY_AUTHORIZATION = "Proxy-Authorization";

    /** The library, found once; empty if this system has none that fits. */
    private static final class Library {
        private static final Optional<NativeHttp> ANY =
                ServiceLoader.load(NativeHttp.class, NativeClient.class.getClassLoader()).findFirst();
        static final String PROBLEM =
                ANY.map(library -> library.problem().orElse("")).orElse("gds-native is not there");
        static final Optional<NativeHttp> FOUND = ANY.filter(library -> PROBLEM.isEmpty());

        static {
            if (!PROBLEM.isEmpty()) {
                System.getLogger("io.gds4j.remote")
                        .log(System.Logger.Level.DEBUG, "HTTP by the client of the JDK: {0}", PROBLEM);
            }
        }
    }

    private final NativeHttp library;
    private final String name;
    private final ClientPool pool;
    private final SharedClient other;
    private final ThreadPoolExecutor thread;

    private NativeClient(NativeHttp library, ClientPool pool, SharedClient other) {
        this.library = library;
        name = library.version().replaceFirst(" .*", "").replace('/', ' ');
        this.pool = pool;
        this.other = other;
        thread = new ThreadPoolExecutor(
                1, 1, IDLE_SECONDS, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), this::thread);
        thread.allowCoreThreadTimeOut(true);
    }

    /**
     * Returns a client of a library; empty if there is none, the program has its own TLS, or wants the client of the JDK.
     *
     * @param other sends what the library cannot
     */
    static Optional<Client> of(ClientPool pool, SharedClient other) {
        return pool.options().tls().isPresent() ? Optional.empty()
                : library().map(library -> new NativeClient(library, pool, other));
    }

    /** Returns a thread, which keeps this client and so its pool. */
    private Thread thread(Runnable work) {
        return new WireThread(work);
    }

    /** Returns whether {@link #of} returns a client. */
    static boolean isUsable(HttpOptions options) {
        return options.tls().isEmpty() && library().isPresent();
    }

    /** Returns whether the setting or the variable forbids the library. An unknown value does, too. */
    private static boolean isForbidden() {
        return Stream.of(System.getProperty(SETTING), System.getenv(VARIABLE))
                .anyMatch(value -> value != null && !value.isEmpty() && !value.equalsIgnoreCase(ANY));
    }

    /** Returns the client that sends requests with these options, and its policy of TLS. */
    static String describe(HttpOptions options) {
        String why = options.tls().isPresent() ? "HttpOptions.withTls is set"
                : isForbidden() ? "-D%s or %s forbids others".formatted(SETTING, VARIABLE)
                        : Library.PROBLEM;
        if (!why.isEmpty()) {
            return "the JDK's client: " + why;
        }
        String version = Library.FOUND.orElseThrow().version().replaceFirst("(OpenSSL/\\S+).*", "$1");
        return version + options.tlsPolicy()
                .map(tls -> ", TLS %s to %s by the JVM's policy, %s cipher suites, certificates by %s".formatted(
                        JvmTls.name(tls.least()), JvmTls.name(tls.most()),
                        tls.suites().size() + tls.suites13().size(),
                        options.certificates().map(Path::toString).orElse("the JVM")))
                .orElseGet(() -> "; https by the JDK's client: "
                        + options.trust().flatMap(PemTrust::problem).orElseGet(JvmTls::obstacle));
    }

    private static Optional<NativeHttp> library() {
        return isForbidden() ? Optional.empty() : Library.FOUND;
    }

    /** Returns the SHA-256 of native memory by the library; empty if there is none. */
    static Optional<byte[]> sha256(MemorySegment bytes) {
        return library().flatMap(library -> library.sha256(bytes));
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> exchange(
            HttpRequest request, Place place, HttpResponse.BodyHandler<T> handler) {
        boolean isTls = request.uri().getScheme().equalsIgnoreCase("https");
        Optional<NativeHttp.Tls> tls = isTls ? pool.options().tlsPolicy() : Optional.empty();
        if (isTls && tls.isEmpty()) {
            return other.exchange(request, place, handler);
        }
        HttpClients.uses(name);
        NativeExchange<T> exchange = new NativeExchange<>(request, handler);
        thread.execute(() -> {
            if (!exchange.isAbandoned() && Thread.currentThread() instanceof WireThread here) {
                exchange.run(() -> here.wire(library), () -> sent(request, place, tls));
            }
        });
        return exchange.future();
    }

    private NativeHttp.Request sent(HttpRequest request, Place place, Optional<NativeHttp.Tls> tls) throws IOException {
        URI uri = request.uri();
        Map<String, List<String>> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        request.headers().map().forEach((name, values) -> headers.put(name, new ArrayList<>(values)));
        Map<String, List<String>> ofProxy = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        if (tls.isPresent() && headers.containsKey(PROXY_AUTHORIZATION)) {
            ofProxy.put(PROXY_AUTHORIZATION, headers.remove(PROXY_AUTHORIZATION));
        }
        // A repetition would hide what the first attempt of these did; the other requests of S3 may be repeated.
        boolean isOnce = request.method().equals("POST") || headers.containsKey(S3Target.MARK)
                || headers.containsKey(AzureTarget.MARK);
        HttpOptions options = pool.options();
        return new NativeHttp.Request(
                request.method(), uri, headers, Optional.empty(), tls, place.addresses(options),
                options.connectTimeout(), options.proxyOf(uri), ofProxy, isOnce);
    }

    /** The thread of a connection. */
    private static final class WireThread extends Thread {
        private NativeHttp.@Nullable Wire wire;

        WireThread(Runnable work) {
            super(null, work, "gds4j-http", 0, false);
            setDaemon(true);
        }

        NativeHttp.Wire wire(NativeHttp library) {
            NativeHttp.Wire open = wire;
            if (open == null) {
                open = library.open();
                wire = open;
            }
            return open;
        }

        @Override
        public void run() {
            try {
                super.run();
            } finally {
                NativeHttp.Wire open = wire;
                if (open != null) {
                    open.close();
                }
            }
        }
    }
}
