package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Both clients take and refuse the same servers, and obey the policy of the JVM. The policy is that of a process, so each asks in one.
 */
@Tag("slow")
@Timeout(300)
class TlsPolicyTest {
    private static final String PASSWORD = "changeit";
    private static final String READ_LINE = "read ";

    /** Servers that are read, by the names that are asked for. The others are refused by both names. */
    private static final Map<String, String> READ = Map.ofEntries(
            Map.entry("good", "localhost 127.0.0.1"),
            Map.entry("cnonly", "localhost"),
            Map.entry("emailonly", "localhost"),
            Map.entry("rsa1024", "localhost 127.0.0.1"),
            Map.entry("sha1", "localhost 127.0.0.1"),
            Map.entry("ecdsa", "localhost 127.0.0.1"),
            Map.entry("viainter", "localhost 127.0.0.1"),
            Map.entry("good+tls1.2", "localhost 127.0.0.1"),
            Map.entry("good+tls1.3", "localhost 127.0.0.1"),
            Map.entry("good+ecdhe-cbc-sha", "localhost 127.0.0.1"));
    /** Read by the client of the JDK only: libcurl is offered no cipher suite with SHA-1. */
    private static final List<String> STRICTER = List.of("good+ecdhe-cbc-sha");

    @TempDir
    static Path folder;

    private static final Map<String, Integer> PORTS = new LinkedHashMap<>();
    private static Process servers;

    @BeforeAll
    static void start() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/python3")) && Files.isExecutable(Path.of("/usr/bin/openssl")),
                "apt install python3 openssl");
        Path resources = Path.of("src/test/resources/tls").toAbsolutePath();
        Process making = new ProcessBuilder("bash", resources.resolve("certificates.sh").toString())
                .directory(folder.toFile()).redirectErrorStream(true).start();
        String printed = new String(making.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(making.waitFor()).as(printed).isZero();
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        try (InputStream in = Files.newInputStream(folder.resolve("ca.pem"));
                OutputStream out = Files.newOutputStream(folder.resolve("trusted"))) {
            trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
            trusted.store(out, PASSWORD.toCharArray());
        }
        Files.createFile(folder.resolve("requests"));
        servers = new ProcessBuilder("/usr/bin/python3", resources.resolve("servers.py").toString(), folder.toString())
                .redirectError(folder.resolve("servers.log").toFile()).start();
        BufferedReader lines = servers.inputReader();
        for (String line = lines.readLine(); line != null && !line.equals("end"); line = lines.readLine()) {
            PORTS.put(line.split(" ")[0], Integer.valueOf(line.split(" ")[1]));
        }
        assertThat(PORTS).as(Files.readString(folder.resolve("servers.log"))).hasSizeGreaterThanOrEqualTo(36);
    }

    @AfterAll
    static void stop() throws IOException {
        if (servers != null) {
            servers.getOutputStream().close();
        }
    }

    private static List<String> all() {
        List<String> urls = new ArrayList<>();
        PORTS.keySet().forEach(name -> urls.addAll(List.of(url(name, "localhost"), url(name, "127.0.0.1"))));
        return urls;
    }

    private static String url(String server, String host) {
        return "https://%s:%s/%s".formatted(host, PORTS.get(server), server);
    }

    /** Returns what a process prints that reads these URLs. */
    private static List<String> read(List<String> settings, Map<String, String> variables, List<String> urls)
            throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED",
                "-Djavax.net.ssl.trustStore=" + folder.resolve("trusted"),
                "-Djavax.net.ssl.trustStorePassword=" + PASSWORD));
        command.addAll(settings);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), TrustStoreTest.Reader.class.getName()));
        command.addAll(urls);
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().putAll(variables);
        Process reader = builder.start();
        String printed = new String(reader.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(reader.waitFor(100, TimeUnit.SECONDS)).isTrue();
        assertThat(printed.lines()).as(printed).hasSize(urls.size());
        return printed.lines().toList();
    }

    /** Returns the servers that got a request, and forgets them. */
    private static Set<String> asked() throws IOException {
        Path requests = folder.resolve("requests");
        Set<String> asked = new TreeSet<>(Files.readAllLines(requests));
        Files.write(requests, new byte[0]);
        return asked;
    }

    /** Returns the servers that were read. */
    private static Set<String> asked(List<String> urls, List<String> lines) {
        Set<String> asked = new TreeSet<>();
        for (int i = 0; i < urls.size(); i++) {
            URI url = URI.create(urls.get(i));
            if (isRead(lines.get(i))) {
                asked.add(url.getPath() + " " + url.getHost());
            }
        }
        return asked;
    }

    private static boolean isRead(String server, String host) {
        return List.of(READ.getOrDefault(server, "").split(" ")).contains(host);
    }

    private static boolean isRead(String line) {
        return line.startsWith(READ_LINE);
    }

    @Test
    void bothClientsReadTheSameServers() throws Exception {
        List<String> urls = all();
        List<String> jdk = read(List.of("-Dgds4j.http=jdk"), Map.of(), urls);
        assertThat(asked()).as("no request to a server that is refused").isEqualTo(asked(urls, jdk));
        List<String> any = read(List.of(), Map.of(), urls);
        assertThat(asked()).as("no request to a server that is refused").isEqualTo(asked(urls, any));
        List<String> wrong = new ArrayList<>();
        for (int i = 0; i < urls.size(); i++) {
            String server = urls.get(i).replaceFirst(".*/", "");
            boolean expected = isRead(server, urls.get(i).contains("localhost") ? "localhost" : "127.0.0.1");
            boolean byAny = expected && !STRICTER.contains(server);
            if (isRead(jdk.get(i)) != expected || isRead(any.get(i)) != byAny) {
                wrong.add("%s%n  jdk: %s%n  any: %s".formatted(urls.get(i), jdk.get(i), any.get(i)));
            }
        }
        assertThat(wrong).isEmpty();
        assertThat(jdk).allMatch(line -> !line.contains("attempts"));
    }

    @Test
    void disabledAlgorithmsOfTheJvmAreObeyed() throws Exception {
        List<String> urls = List.of(url("good+tls1.2", "localhost"), url("good+tls1.3", "localhost"),
                url("rsa1024", "localhost"), url("ecdsa", "localhost"));
        Map<String, String> policies = Map.of(
                "jdk.tls.disabledAlgorithms=SSLv3, TLSv1, TLSv1.1, TLSv1.2", "-+++",
                "jdk.certpath.disabledAlgorithms=MD5, RSA keySize < 2048", "++-+",
                "jdk.certpath.disabledAlgorithms=RSA keySize < 4096", "----",
                "jdk.tls.disabledAlgorithms=TLSv1.1, RSA keySize < 2048, DH keySize < 4096", "++-+",
                "jdk.tls.disabledAlgorithms=SHA256withRSA, TLSv1.3", "----",
                "jdk.tls.disabledAlgorithms=TLSv1.1, RSASSA-PSS", "+--+",
                "jdk.tls.disabledAlgorithms=TLSv1.1, ECDH, DHE, TLS_AES_256_GCM_SHA384, x25519, 3DES_EDE_CBC", "++++");
        for (Map.Entry<String, String> policy : policies.entrySet()) {
            Path file = Files.writeString(folder.resolve("policy"), policy.getKey() + "\n");
            List<String> lines = read(List.of("-Djava.security.properties=" + file), Map.of(), urls);
            StringBuilder found = new StringBuilder();
            lines.forEach(line -> found.append(isRead(line) ? '+' : '-'));
            assertThat(found).as("%s: %s", policy.getKey(), lines).hasToString(policy.getValue());
        }
    }

    @Test
    void settingOrVariableForbidsTheLibrary() throws Exception {
        List<String> urls = List.of(url("good", "localhost"));
        for (List<String> settings : List.of(List.of("-Dgds4j.http=jdk"), List.<String>of())) {
            Map<String, String> variables = settings.isEmpty() ? Map.of("GDS4J_HTTP", "JDK") : Map.of();
            assertThat(read(settings, variables, List.of("client"))).singleElement().asString()
                    .startsWith("the JDK's client: -Dgds4j.http or GDS4J_HTTP forbids others");
            assertThat(read(settings, variables, urls)).singleElement().asString().startsWith(READ_LINE);
        }
        Path file = Files.writeString(folder.resolve("named"), "jdk.tls.disabledAlgorithms=RSASSA-PSS\n");
        assertThat(read(List.of("-Djava.security.properties=" + file), Map.of(), List.of("client"))).singleElement()
                .asString().endsWith("jdk.tls.disabledAlgorithms forbids RSASSA-PSS").contains("the JDK's client");
    }

    /** libcurl and OpenSSL read these variables. They cannot weaken a connection, and no secret is written. */
    @Test
    void variablesOfTheLibraryDoNotWeakenConnections() throws Exception {
        Path secrets = folder.resolve("secrets");
        Path weak = Files.writeString(folder.resolve("weak.cnf"), """
                openssl_conf = d
                [d]
                ssl_conf = s
                [s]
                system_default = x
                [x]
                MinProtocol = TLSv1
                CipherString = ALL:eNULL:@SECLEVEL=0
                """);
        Files.writeString(folder.resolve(".curlrc"), "insecure\n");
        List<String> urls = List.of(url("good", "localhost"), url("good+tls1.0", "localhost"),
                url("good+cbc-sha", "localhost"), url("good+null", "localhost"), url("unknownca", "localhost"));
        List<String> lines = read(List.of(), Map.of("SSLKEYLOGFILE", secrets.toString(), "OPENSSL_CONF",
                weak.toString(), "CURL_HOME", folder.toString(), "HOME", folder.toString(), "CURL_CA_BUNDLE",
                folder.resolve("other.pem").toString(), "SSL_CERT_FILE", folder.resolve("other.pem").toString(),
                "https_proxy", "http://127.0.0.1:1"), urls);
        assertThat(lines.getFirst()).startsWith(READ_LINE);
        assertThat(lines.subList(1, urls.size())).noneMatch(TlsPolicyTest::isRead);
        assertThat(Files.exists(secrets) ? Files.readString(secrets) : "").isEmpty();
    }
}
