package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.gds4j.error.CuFileException;
import io.gds4j.source.Cancellation;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers are trusted as the JVM's truststore says, whichever client asks them. A truststore is that of a process, so each asks in one. */
@Tag("slow")
@Timeout(300)
class TrustStoreTest {
    private static final String PASSWORD = "changeit";
    private static final byte[] BYTES = RangeServer.random(300_000);

    @TempDir
    static Path folder;

    private static final List<HttpsServer> SERVERS = new ArrayList<>();

    @BeforeAll
    static void start() throws Exception {
        pair("authority", List.of("-ext", "bc:c", "-validity", "20"));
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("authority", keys().getCertificate("authority"));
        try (OutputStream out = Files.newOutputStream(folder.resolve("trusted"))) {
            trusted.store(out, PASSWORD.toCharArray());
        }
        List<String> signed = List.of("-signer", "authority", "-validity", "2");
        serve("right", "san=dns:localhost,ip:127.0.0.1", signed);
        serve("expired", "san=dns:localhost,ip:127.0.0.1",
                List.of("-signer", "authority", "-startdate", "-10d", "-validity", "2"));
        serve("other", "san=dns:elsewhere.example", signed);
        serve("itself", "san=dns:localhost,ip:127.0.0.1", List.of("-validity", "2"));
    }

    @AfterAll
    static void stop() {
        SERVERS.forEach(server -> server.stop(0));
    }

    private static void pair(String name, List<String> more) throws Exception {
        TlsTest.addPair(folder.resolve("keys"), PASSWORD, name, "CN=" + name, more);
    }

    private static KeyStore keys() throws Exception {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(folder.resolve("keys"))) {
            keys.load(in, PASSWORD.toCharArray());
        }
        return keys;
    }

    private static void serve(String name, String names, List<String> more) throws Exception {
        List<String> arguments = new ArrayList<>(List.of("-ext", names));
        arguments.addAll(more);
        pair(name, arguments);
        KeyStore one = KeyStore.getInstance("PKCS12");
        one.load(null, null);
        one.setKeyEntry(name, keys().getKey(name, PASSWORD.toCharArray()), PASSWORD.toCharArray(),
                keys().getCertificateChain(name));
        KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(one, PASSWORD.toCharArray());
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own.getKeyManagers(), null, null);
        HttpsServer server = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(context));
        server.createContext("/", exchange -> {
            try (exchange) {
                int[] range = RangeServer.range(exchange, BYTES.length);
                exchange.getResponseHeaders().set(
                        "Content-Range", "bytes %s-%s/%s".formatted(range[0], range[1], BYTES.length));
                exchange.sendResponseHeaders(206, range[1] - range[0] + 1);
                exchange.getResponseBody().write(BYTES, range[0], range[1] - range[0] + 1);
            }
        });
        server.start();
        SERVERS.add(server);
    }

    @ParameterizedTest
    @ValueSource(strings = {"any", "jdk"})
    void onlyServersThatTheTruststoreNamesAreRead(String client) throws Exception {
        List<String> lines = read(SERVERS, "-Dgds4j.http=" + client,
                "-Djavax.net.ssl.trustStore=" + folder.resolve("trusted"),
                "-Djavax.net.ssl.trustStorePassword=" + PASSWORD);
        assertThat(lines).hasSize(4);
        assertThat(lines.getFirst()).isEqualTo("read " + Arrays.hashCode(BYTES));
        assertThat(lines.subList(1, 4)).allMatch(line -> line.contains("the server's certificate is refused"))
                .noneMatch(line -> line.contains("attempts"));
    }

    /** The JDK names its own classes only, and attempts handshakes that no repetition can mend. */
    @ParameterizedTest(name = "{0}, {1}, {2}")
    @CsvSource({
            "any, trusted, '', has no certificate that can be read; javax.net.ssl.trustStorePassword may be missing",
            "jdk, trusted, '', has no certificate that can be read; javax.net.ssl.trustStorePassword may be missing",
            "any, trusted, other1, cannot be read: keystore password was incorrect",
            "jdk, trusted, other1, cannot be read: keystore password was incorrect",
            "any, authority.pem, changeit, cannot be read: ", "any, absent, changeit, does not exist",
            "any, ., changeit, is no file that may be read"})
    void truststoreWithoutAReadableCertificateIsNamed(String client, String file, String password, String why)
            throws Exception {
        Path store = folder.resolve(file);
        if (file.endsWith("pem")) {
            Files.writeString(store, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
        }
        List<String> options =
                new ArrayList<>(List.of("-Dgds4j.http=" + client, "-Djavax.net.ssl.trustStore=" + store));
        if (!password.isEmpty()) {
            options.add("-Djavax.net.ssl.trustStorePassword=" + password);
        }
        assertThat(read(SERVERS.subList(0, 1), options.toArray(String[]::new))).singleElement().asString()
                .contains("https://localhost:", "the truststore " + store + " " + why)
                .doesNotContain("attempts", "Exception");
    }

    private static List<String> read(List<HttpsServer> servers, String... options) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Reader.class.getName()));
        servers.forEach(server -> command.add("https://localhost:%s/x".formatted(server.getAddress().getPort())));
        Process reader = new ProcessBuilder(command).redirectErrorStream(true).start();
        String printed = new String(reader.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(reader.waitFor()).as(printed).isZero();
        return printed.lines().toList();
    }

    /** The process that reads. */
    static final class Reader {
        /** Reads each object, and prints a line for it. */
        public static void main(String[] urls) throws InterruptedException {
            for (String url : urls) {
                if (url.equals("client")) {
                    System.out.println(HttpFiles.client(HttpOptions.DEFAULTS));
                    continue;
                }
                byte[] into = new byte[BYTES.length];
                try {
                    HttpSource.open(URI.create(url), HttpOptions.DEFAULTS)
                            .read(0, MemorySegment.ofArray(into), Cancellation.NEVER);
                    System.out.println("read " + Arrays.hashCode(into));
                } catch (CuFileException e) {
                    System.out.println(e.getMessage());
                }
            }
        }
    }
}
