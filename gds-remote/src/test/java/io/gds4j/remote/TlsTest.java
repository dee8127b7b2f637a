package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import io.gds4j.error.CuFileException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A server behind TLS: what the two sides do not agree upon is asked for once, because a repetition changes nothing. */
@Timeout(60)
class TlsTest {
    private static final char[] PASSWORD = "changeit".toCharArray();
    private static final HttpOptions OPTIONS = HttpOptions.DEFAULTS
            .withPatience(Duration.ofSeconds(20), 3, Duration.ofMillis(1));
    private static final byte[] BYTES = RangeServer.random(100_000);

    @TempDir
    static Path folder;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final AtomicInteger connections = new AtomicInteger();
    private volatile boolean wantsCertificates;
    private SSLContext context;
    private HttpsServer server;
    private URI uri;

    @BeforeEach
    void start() throws Exception {
        context = context(folder);
        server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(context) {
            @Override
            public void configure(HttpsParameters parameters) {
                connections.incrementAndGet();
                SSLParameters tls = context.getDefaultSSLParameters();
                // Version 1.2 refuses a client during the handshake; 1.3 does so later, at times by a reset.
                tls.setProtocols(new String[]{"TLSv1.2"});
                tls.setNeedClientAuth(wantsCertificates);
                parameters.setSSLParameters(tls);
            }
        });
        server.setExecutor(threads);
        server.createContext("/", TlsTest::answer);
        server.start();
        uri = URI.create("https://127.0.0.1:%s/object".formatted(server.getAddress().getPort()));
    }

    @AfterEach
    void stop() {
        server.stop(0);
        threads.shutdownNow();
    }

    private static void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            int[] range = RangeServer.range(exchange, BYTES.length);
            exchange.getResponseHeaders().set(
                    "Content-Range", "bytes %s-%s/%s".formatted(range[0], range[1], BYTES.length));
            exchange.sendResponseHeaders(206, range[1] - range[0] + 1);
            exchange.getResponseBody().write(BYTES, range[0], range[1] - range[0] + 1);
        }
    }

    /** Adds a pair of keys to a store, which it makes if there is none. */
    static void addPair(Path store, String password, String alias, String name, List<String> more) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-J-XX:TieredStopAtLevel=1",
                "-J-XX:+UseSerialGC", "-genkeypair", "-alias", alias, "-keyalg", "EC", "-dname", name, "-storetype",
                "PKCS12", "-storepass", password, "-keystore", store.toString()));
        command.addAll(more);
        Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
        String printed = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(keytool.waitFor()).as(printed).isZero();
    }

    /** Returns a context of a server on loopback and of clients that trust it. Keeps its keys in this folder. */
    static SSLContext context(Path folder) throws Exception {
        Path file = folder.resolve("keys");
        if (!Files.exists(file)) {
            addPair(file, new String(PASSWORD), "key", "CN=localhost",
                    List.of("-ext", "san=ip:127.0.0.1,dns:localhost"));
        }
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            keys.load(in, PASSWORD);
        }
        KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(keys, PASSWORD);
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, PASSWORD);
        trusted.setCertificateEntry("key", keys.getCertificate("key"));
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }

    @Test
    void objectOfATrustedServerIsRead() throws Exception {
        wantsCertificates = true;
        assertThat(Files.readAllBytes(HttpFiles.path(uri, OPTIONS.withTls(context)))).isEqualTo(BYTES);
    }

    @Test
    void certificateThatIsNotTrustedIsAskedForOnce() {
        assertThatThrownBy(() -> HttpSource.open(uri, OPTIONS)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("the server's certificate is refused")
                .hasMessageContaining("HttpOptions.withTls").hasMessageNotContaining("\n");
        assertThat(connections).hasValue(1);
    }

    @Test
    void serverThatRefusesTheClientIsAskedOnce() throws Exception {
        try (ServerSocket refusing = new ServerSocket(0, 0, InetAddress.getLoopbackAddress())) {
            threads.submit(() -> refuseAll(refusing));
            URI refused = URI.create("https://127.0.0.1:%s/object".formatted(refusing.getLocalPort()));
            assertThatThrownBy(() -> HttpSource.open(refused, OPTIONS)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("fatal alert").hasMessageNotContaining("attempts");
        }
        assertThat(connections).hasValue(1);
    }

    @Test
    void plainRequestToAPortOfTlsHintsAtHttps() throws Exception {
        try (ServerSocket resetting = new ServerSocket(0, 0, InetAddress.getLoopbackAddress())) {
            threads.submit(() -> resetAll(resetting));
            URI plain = URI.create("http://127.0.0.1:%s/object".formatted(resetting.getLocalPort()));
            assertThatThrownBy(() -> HttpSource.open(plain, OPTIONS)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("(3 attempts): perhaps this port wants https");
        }
    }

    private Void resetAll(ServerSocket server) throws IOException {
        while (true) {
            try (Socket client = server.accept()) {
                client.getInputStream().read();
                client.setSoLinger(true, 0);
            }
        }
    }

    /** The client of the JDK has no body of such an answer, which was a NullPointerException. */
    @Tag("slow")
    @Test
    void proxyOfATunnelThatWantsCredentialsIsAskedOnce() throws Exception {
        try (ServerSocket proxy = new ServerSocket(0, 0, InetAddress.getLoopbackAddress())) {
            threads.submit(() -> refuseTunnels(proxy));
            HttpOptions proxied = OPTIONS.withHeader("Proxy-Authorization", "Basic hush").withProxy(ProxySelector.of(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), proxy.getLocalPort())));
            assertThatThrownBy(() -> HttpSource.open(URI.create("https://store.invalid/x"), proxied))
                    .isInstanceOf(CuFileException.class).hasMessageContaining("407")
                    .hasMessageContaining("the proxy wants credentials").hasMessageNotContaining("attempts")
                    .hasMessageNotContaining("hush");
        }
        assertThat(connections).hasValue(1);
    }

    private Void refuseTunnels(ServerSocket proxy) throws IOException {
        while (true) {
            try (Socket client = proxy.accept()) {
                connections.incrementAndGet();
                client.getInputStream().read(new byte[8192]);
                client.getOutputStream().write(("HTTP/1.1 407 no\r\nProxy-Authenticate: Basic realm=x\r\n"
                        + "Content-Length: 0\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
            }
        }
    }

    /** Sends each client the alert handshake_failure. The JDK's server may reset the connection before a client has read it. */
    private Void refuseAll(ServerSocket server) throws IOException {
        while (true) {
            try (Socket client = server.accept()) {
                connections.incrementAndGet();
                client.getInputStream().read();
                client.getOutputStream().write(new byte[]{21, 3, 3, 0, 2, 2, 40});
                client.shutdownOutput();
                client.getInputStream().transferTo(OutputStream.nullOutputStream());
            }
        }
    }
}
