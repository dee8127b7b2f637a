package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** S3 against versitygw, which keeps objects as files, where dev/servers.sh has built it. */
@Timeout(120)
class VersityTest {
    private static final byte[] BYTES = RangeServer.random(700_001);
    private static final HttpOptions HTTP = HttpOptions.DEFAULTS.withRequests(64 << 10, 8)
            .withPatience(Duration.ofSeconds(20), 3, Duration.ofMillis(1));

    @TempDir
    static Path folder;

    private static RealServer server;
    private static S3Options options;

    @BeforeAll
    static void start() throws IOException {
        Path program = RealServer.program("versitygw", "dev/servers.sh builds it");
        int port = RealServer.freePort();
        Path root = Files.createDirectories(folder.resolve("root/models")).getParent();
        server = new RealServer(port, folder.resolve("log"), List.of(program.toString(), "--access", "AKIDTEST",
                "--secret", "hushhush", "--port", "127.0.0.1:" + port, "posix", root.toString()));
        options = S3Options.fromEnvironment(Map.of(
                "AWS_ENDPOINT_URL", "http://127.0.0.1:" + port, "AWS_ACCESS_KEY_ID", "AKIDTEST",
                "AWS_SECRET_ACCESS_KEY", "hushhush", "HOME", folder.toString())).toBuilder().http(HTTP).build();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static Path path(String key) {
        return S3Files.path(URI.create("s3://models/" + key), options);
    }

    private static Path file(byte[] bytes) throws IOException {
        return Files.write(folder.resolve("file"), bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a/b.bin", "gr%C3%B6%C3%9Fe%20+%26%3D%25.bin", "a~b-c_d.(1)'!*;:@,$", "%E9%87%8D/%3F%23",
            "u%CC%88/x", "plus+/x+y"})
    void objectsHaveAnyKey(String key) throws IOException {
        Path target = path(key);
        S3Files.upload(file(BYTES), target);
        assertThat(Files.readAllBytes(target)).isEqualTo(BYTES);
        try (Stream<Path> list = Files.list(target.getParent())) {
            assertThat(list).contains(target);
        }
        S3Files.delete(target);
        assertThat(target).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 17 << 20})
    void uploadsOfAnySizeAreWholeAndReplaceOnlyWhatTheyMay(int size) throws IOException {
        byte[] bytes = RangeServer.random(size);
        Path target = path("up/" + size);
        S3Files.uploadNew(file(bytes), target);
        assertThat(Arrays.mismatch(Files.readAllBytes(target), bytes)).isEqualTo(-1);
        CuFileException e = catchThrowableOfType(
                CuFileException.class, () -> S3Files.uploadNew(file(new byte[5]), target));
        assertThat(e.errno()).hasValue(Errno.EEXIST);
        S3Files.upload(file(new byte[7]), target);
        assertThat(Files.size(target)).isEqualTo(7);
    }

    @Test
    void foldersAreListed() throws IOException {
        for (String key : List.of("list/a%20b", "list/c", "list/sub/x", "lister/x")) {
            S3Files.upload(file(new byte[3]), path(key));
        }
        try (Stream<Path> list = Files.list(path("list/"))) {
            assertThat(list.map(entry -> entry.getFileName().toString())).containsExactlyInAnyOrder("a b", "c", "sub");
        }
        assertThat(path("list")).isDirectory();
        assertThat(path("lis")).doesNotExist();
    }

    @Test
    void codesOfTheServerReachTheUser() throws IOException {
        S3Files.upload(file(BYTES), path("denied"));
        for (S3Credentials keys : List.of(
                S3Credentials.of("AKIDTEST", "wrong"), S3Credentials.of("NOBODY", "hushhush"))) {
            Path path = S3Files.path(URI.create("s3://models/denied"), options.toBuilder().credentials(keys).build());
            assertThatThrownBy(() -> Files.readAllBytes(path)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining(
                            keys.accessKey().equals("NOBODY") ? "UserNotFound" : "SignatureDoesNotMatch")
                    .hasMessageNotContaining("hush");
        }
        assertThatThrownBy(() -> Files.list(S3Files.path(URI.create("s3://none/x/"), options)))
                .hasMessageContaining("no such bucket");
    }

    @Test
    void objectThatIsReplacedIsNotMixed() throws Exception {
        S3Files.upload(file(BYTES), path("changes"));
        RangeSource source = S3Files.path(URI.create("s3://models/changes"), options).openSource();
        byte[] other = BYTES.clone();
        other[600_000]++;
        S3Files.upload(file(other), path("changes"));
        CuFileException e = catchThrowableOfType(CuFileException.class,
                () -> source.read(500_000, MemorySegment.ofArray(new byte[1000]), Cancellation.NEVER));
        assertThat(e.errno()).hasValue(Errno.ESTALE);
    }
}
