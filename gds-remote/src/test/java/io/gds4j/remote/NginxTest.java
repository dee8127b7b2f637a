package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.source.Cancellation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** HTTP against nginx, where it is installed. */
@Timeout(120)
class NginxTest {
    private static final byte[] BYTES = RangeServer.random(5_000_001);
    private static final HttpOptions OPTIONS = HttpOptions.DEFAULTS.withRequests(256 << 10, 8)
            .withPatience(Duration.ofSeconds(20), 3, Duration.ofMillis(1));

    @TempDir
    static Path folder;

    private static RealServer server;
    private static int port;

    @BeforeAll
    static void start() throws IOException {
        Path program = RealServer.program("nginx", "apt install nginx");
        port = RealServer.freePort();
        Files.createDirectories(folder.resolve("www"));
        Files.write(folder.resolve("www/object.bin"), BYTES);
        Path settings = Files.writeString(folder.resolve("nginx.conf"), """
                daemon off; worker_processes 1; master_process off; pid nginx.pid; error_log stderr;
                events { worker_connections 256; }
                http {
                    access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fast;
                    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                    keepalive_requests 5;
                    server {
                        listen 127.0.0.1:%d; root www; merge_slashes off;
                        location /echo/ { return 200 $request_uri; }
                        location //echo/ { return 200 $request_uri; }
                        location /busy { add_header Retry-After 3600 always; return 503; }
                        location /whole { alias www; max_ranges 0; }
                        location /moved { return 302 /object.bin; }
                        location /away { return 302 http://169.254.169.254/; }
                    }
                }
                """.formatted(port));
        server = new RealServer(port, folder.resolve("log"),
                List.of(program.toString(), "-p", folder.toString(), "-c", settings.toString()));
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static URI uri(String path) {
        return URI.create("http://127.0.0.1:" + port + path);
    }

    private static Path path(String path) {
        return HttpFiles.path(uri(path), OPTIONS);
    }

    @Test
    void objectsAndTheirRangesAreThoseOfTheDisk() throws Exception {
        for (String path : List.of("/object.bin", "/moved")) {
            assertThat(Arrays.mismatch(Files.readAllBytes(path(path)), BYTES)).isEqualTo(-1);
        }
        HttpSource source = HttpSource.open(uri("/object.bin"), OPTIONS);
        assertThat(source.version().canBeDemanded()).isTrue();
        Random random = new Random(5);
        for (int i = 0; i < 50; i++) {
            byte[] into = new byte[random.nextInt(700_000)];
            int offset = random.nextInt(BYTES.length - into.length);
            source.read(offset, MemorySegment.ofArray(into), Cancellation.NEVER);
            assertThat(Arrays.mismatch(into, 0, into.length, BYTES, offset, offset + into.length)).isEqualTo(-1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/echo/a//m/", "/echo/b%2Fm/", "/echo/g%2Bx/", "//echo/k/m/", "/echo/c;v=1/",
            "/echo/%C3%BC/"})
    void siblingsStandInTheFolderOfTheUrl(String folder) throws IOException {
        Path index = path(folder + "i.json?token=1");
        assertThat(Files.readString(index)).isEqualTo(folder + "i.json?token=1");
        assertThat(Files.readString(index.resolveSibling("s 1.bin"))).isEqualTo(folder + "s%201.bin");
    }

    @Test
    void objectThatIsReplacedIsNotMixed() throws Exception {
        Path file = Files.write(folder.resolve("www/changes.bin"), BYTES);
        HttpSource source = HttpSource.open(uri("/changes.bin"), OPTIONS);
        Path other = Files.write(folder.resolve("other"), RangeServer.random(BYTES.length + 1));
        Files.move(other, file, StandardCopyOption.ATOMIC_MOVE);
        CuFileException e = catchThrowableOfType(CuFileException.class,
                () -> source.read(1_000_000, MemorySegment.ofArray(new byte[10]), Cancellation.NEVER));
        assertThat(e.errno()).hasValue(Errno.ESTALE);
    }

    @Test
    void answersOfTheServerAreOneClearLine() {
        assertThatThrownBy(() -> HttpSource.open(uri("/busy"), OPTIONS)).hasMessageContaining("asks to wait 3600 s");
        assertThatThrownBy(() -> HttpSource.open(uri("/none"), OPTIONS)).hasMessageContaining("no such object");
        HttpOptions proxied = OPTIONS.withProxy(ProxySelector.of(new InetSocketAddress("127.0.0.1", port)));
        assertThatThrownBy(() -> HttpSource.open(uri("/away"), proxied)).hasMessageContaining("link-local");
        assertThatThrownBy(() -> HttpSource.open(URI.create(uri("/x").toString().replace("http:", "https:")), OPTIONS))
                .isInstanceOf(CuFileException.class).hasMessageContaining("SSL").hasMessageNotContaining("attempts");
    }

    @Test
    void serverWithoutRangesIsReadFromTheBeginning() throws Exception {
        assertThatThrownBy(() -> HttpSource.open(uri("/whole/object.bin"), OPTIONS)).hasMessageContaining("no ranges");
        byte[] into = new byte[BYTES.length];
        HttpSource.open(uri("/whole/object.bin"), OPTIONS.withSequential(true))
                .read(0, MemorySegment.ofArray(into), Cancellation.NEVER);
        assertThat(Arrays.mismatch(into, BYTES)).isEqualTo(-1);
    }
}
