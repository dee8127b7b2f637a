package io.gds4j.ffi.curl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.internal.http.NativeHttp;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.FutureTask;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A server of TLS whose whole answer arrives at once. Records that OpenSSL holds already must not wait for the socket. */
@Tag("slow")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CurlReadAheadTest {
    private static final char[] PASSWORD = "changeit".toCharArray();

    @TempDir
    static Path folder;

    /** A connection that can keep back what is written, and then sends it by few calls. */
    private static final class HeldSocket extends Socket {
        private final ByteArrayOutputStream kept = new ByteArrayOutputStream();
        private boolean holds;

        @Override
        public OutputStream getOutputStream() throws IOException {
            OutputStream out = super.getOutputStream();
            return new OutputStream() {
                @Override
                public void write(int one) throws IOException {
                    write(new byte[]{(byte) one}, 0, 1);
                }

                @Override
                public void write(byte[] bytes, int offset, int count) throws IOException {
                    (holds ? kept : out).write(bytes, offset, count);
                }
            };
        }

        void hold() {
            holds = true;
        }

        /** Sends all, the last bytes by themselves. */
        void release(int last) throws IOException {
            holds = false;
            byte[] all = kept.toByteArray();
            kept.reset();
            super.getOutputStream().write(all, 0, all.length - last);
            super.getOutputStream().write(all, all.length - last, last);
        }
    }

    private static KeyStore keys() throws Exception {
        Path file = folder.resolve("keys");
        if (!Files.exists(file)) {
            Process keytool = new ProcessBuilder(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-J-XX:TieredStopAtLevel=1",
                    "-J-XX:+UseSerialGC", "-genkeypair", "-alias",
                    "key", "-keyalg", "EC", "-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1", "-storetype",
                    "PKCS12", "-storepass", new String(PASSWORD), "-keystore", file.toString())
                    .redirectErrorStream(true).start();
            String printed = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(keytool.waitFor()).as(printed).isZero();
        }
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            keys.load(in, PASSWORD);
        }
        return keys;
    }

    private static SSLContext context(KeyStore keys) throws Exception {
        KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(keys, PASSWORD);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own.getKeyManagers(), null, null);
        return context;
    }

    private static NativeHttp.Tls tls(byte[] certificate) {
        return new NativeHttp.Tls(0x0303, 0x0304, List.of("ECDHE-ECDSA-AES128-GCM-SHA256"),
                List.of("TLS_AES_128_GCM_SHA256"), List.of("P-256", "P-384"),
                List.of("ecdsa_secp256r1_sha256", "ecdsa_secp384r1_sha384"),
                (host, chain) -> {
                    if (!host.equals("127.0.0.1") || !Arrays.equals(chain.getFirst(), certificate)) {
                        throw new CertificateException("another one");
                    }
                });
    }

    /** Answers requests of one connection, each by a head of two records and a body of many. */
    private static void serve(ServerSocket server, SSLContext context, String protocol, List<byte[]> bodies, int record)
            throws IOException {
        try (HeldSocket plain = (HeldSocket) server.accept();
                SSLSocket tls = (SSLSocket) context.getSocketFactory().createSocket(plain, null, true)) {
            tls.setEnabledProtocols(new String[]{protocol});
            InputStream in = tls.getInputStream();
            OutputStream out = tls.getOutputStream();
            for (byte[] body : bodies) {
                for (String request = ""; !request.endsWith("\r\n\r\n");) {
                    int next = in.read();
                    assertThat(next).isNotNegative();
                    request += (char) next;
                }
                plain.hold();
                out.write("HTTP/1.1 2".getBytes(StandardCharsets.US_ASCII));
                out.write("06 Part\r\nContent-Length: %s\r\n\r\n".formatted(body.length)
                        .getBytes(StandardCharsets.US_ASCII));
                for (int at = 0; at < body.length; at += record) {
                    out.write(body, at, Math.min(record, body.length - at));
                }
                plain.release(7);
            }
            assertThat(in.read()).isNegative(); // the client ends the connection
        }
    }

    @ParameterizedTest
    @CsvSource({"TLSv1.3, 4000, 300001", "TLSv1.2, 4000, 300001", "TLSv1.3, 16384, 1000000", "TLSv1.3, 1, 500",
            "TLSv1.2, 100, 60000"})
    void answersThatArriveAtOnceAreReadAtOnce(String protocol, int record, int size) throws Exception {
        assumeTrue(new Curl().problem().isEmpty(), () -> String.valueOf(new Curl().problem()));
        KeyStore keys = keys();
        SSLContext context = context(keys);
        List<byte[]> bodies = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            byte[] body = new byte[size];
            new Random(i).nextBytes(body);
            bodies.add(body);
        }
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress()) {
            @Override
            public Socket accept() throws IOException {
                HeldSocket socket = new HeldSocket();
                implAccept(socket);
                return socket;
            }
        }) {
            FutureTask<Void> serving = new FutureTask<>(() -> {
                serve(server, context, protocol, bodies, record);
                return null;
            });
            Thread.ofPlatform().daemon().start(serving);
            NativeHttp.Request request = new NativeHttp.Request(
                    "GET", URI.create("https://127.0.0.1:%s/x".formatted(server.getLocalPort())), Map.of(),
                    Optional.empty(), Optional.of(tls(keys.getCertificate("key").getEncoded())),
                    List.of(InetAddress.getLoopbackAddress()), Duration.ofSeconds(10), Optional.empty(), Map.of(),
                    false);
            try (NativeHttp.Wire wire = new Curl().open()) {
                for (byte[] body : bodies) {
                    ByteArrayOutputStream got = new ByteArrayOutputStream();
                    wire.send(request, new NativeHttp.Answer() {
                        @Override
                        public boolean isAbandoned() {
                            return false;
                        }

                        @Override
                        public void sent(long count) {
                            // no request has a body
                        }

                        @Override
                        public void head(int status, Map<String, List<String>> headers) {
                            assertThat(status).isEqualTo(206);
                        }

                        @Override
                        public boolean body(MemorySegment part) {
                            got.writeBytes(part.toArray(ValueLayout.JAVA_BYTE));
                            return true;
                        }
                    });
                    assertThat(got.toByteArray()).isEqualTo(body);
                }
            }
            serving.get();
        }
    }
}
