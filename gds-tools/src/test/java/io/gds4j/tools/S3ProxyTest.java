package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.remote.HttpOptions;
import io.gds4j.remote.S3Credentials;
import io.gds4j.remote.S3Files;
import io.gds4j.remote.S3Options;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** S3 against s3proxy, a server of others that checks signatures, where the profile s3proxy puts it on the class path. */
@Tag("slow")
class S3ProxyTest {
    private static final HttpOptions SMALL_PARTS = HttpOptions.DEFAULTS.withRequests(64 << 10, 8);

    private static S3ProxyServer server;
    private static S3Options options;

    @TempDir
    private Path folder;

    @BeforeAll
    static void onlyWithTheServer() {
        assumeTrue(S3ProxyServer.isHere(), "no s3proxy here; the profile s3proxy adds it");
        server = new S3ProxyServer();
        options = S3Options.fromEnvironment(server.environment()).withHttp(SMALL_PARTS);
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static URI uri(String key) {
        return URI.create("s3://" + S3ProxyServer.BUCKET + "/" + key);
    }

    private static Path path(String key) {
        return S3Files.path(uri(key), options);
    }

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    private Path file(byte[] bytes) throws IOException {
        return Files.write(folder.resolve("file"), bytes);
    }

    private GdsRun s3(String... arguments) {
        return gds(server.environment(), () -> false, arguments);
    }

    @Test
    void everyFormatLoadsAsItsFiles() throws IOException {
        EveryFormat formats = EveryFormat.write(folder);
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                S3Files.upload(file, path("formats/" + folder.relativize(file)));
            }
        }
        for (String name : Stream.of(EveryFormat.FILES, EveryFormat.FOLDERS).flatMap(List::stream).toList()) {
            formats.assertLoadsAlike(name, uri("formats/" + name).toString(), server.environment());
        }
    }

    @Test
    void convertedCheckpointIsUploadedInPartsAndComesBack() throws IOException {
        Path source = folder.resolve("large.safetensors");
        String target = uri("large/").toString();
        SavePlan.builder()
                .generated("a", DType.F32, new TensorPattern(1), 1111, 2000)
                .generated("b", DType.U8, new TensorPattern(1), (10 << 20) + 1)
                .toFile(source).save();
        assertThat(s3("convert", source.toString(), target).err()).isEmpty();
        assertThat(server.tag("large/model.safetensors")).contains("-2");
        assertThat(server.uploads()).isEmpty();
        new EveryFormat(folder).assertLoadsAlike("large.safetensors", target, server.environment());
        assertThat(s3("convert", target, folder.resolve("back").toString()).err()).isEmpty();
        assertThat(TestCheckpoints.digests(folder.resolve("back/model.safetensors")))
                .isEqualTo(TestCheckpoints.digests(source));
    }

    @Test
    void convertedShardsAreUploadedAndNotReplaced() {
        String source = TestCheckpoints.odd(folder.resolve("odd.safetensors")).toString();
        String target = uri("converted/").toString();
        assertThat(s3("convert", source, target, "--max-shard", "100K").err()).isEmpty();
        new EveryFormat(folder).assertLoadsAlike("odd.safetensors", target, server.environment());
        assertThat(s3("convert", source, target).errorLine()).contains(target, "already");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a/b.bin", "gr%C3%B6%C3%9Fe%20+%26%3D%25.bin", "a~b-c_d.(1)'!*;:@,$", "%E9%87%8D/%3F%23"})
    void objectsHaveAnyKeyAndSize(String key) throws IOException {
        for (int size : new int[]{0, 1, 700_001}) {
            Path path = path("keys%d/".formatted(size) + key);
            S3Files.upload(file(random(size)), path);
            assertThat(Files.readAllBytes(path)).isEqualTo(random(size));
            try (Stream<Path> list = Files.list(path.getParent())) {
                assertThat(list.map(Path::getFileName)).contains(path.getFileName());
            }
        }
    }

    @Test
    void folderOfMoreThanOnePageIsListed() throws Exception {
        Path one = file(random(1));
        List<String> names = IntStream.range(0, 1003).mapToObj("a b+%d"::formatted).toList();
        try (var threads = Executors.newFixedThreadPool(8)) {
            List<Future<Path>> sent = new ArrayList<>();
            for (String name : names) {
                sent.add(threads.submit(() -> {
                    Path target = path("many/").resolve(name);
                    S3Files.upload(one, target);
                    return target;
                }));
            }
            for (Future<Path> each : sent) {
                each.get();
            }
        }
        try (Stream<Path> list = Files.list(path("many/"))) {
            assertThat(list.map(entry -> entry.getFileName().toString())).containsExactlyInAnyOrderElementsOf(names);
        }
        assertThat(path("many")).isDirectory();
        assertThat(path("man")).doesNotExist();
    }

    @Test
    void bucketMayStandBeforeTheHost() throws IOException {
        String host = "storage.invalid";
        try (S3ProxyServer hosts = new S3ProxyServer(Map.of("s3proxy.virtual-host", host))) {
            // The name has no address: the requests go to the server as to a proxy.
            ProxySelector proxy = ProxySelector.of(new InetSocketAddress("127.0.0.1", hosts.endpoint().getPort()));
            Path path = S3Files.path(uri("hosts/a%20b"),
                    options.withEndpoint(URI.create("http://" + host)).withPathStyle(false)
                            .withHttp(SMALL_PARTS.withProxy(proxy)));
            S3Files.upload(file(random(300_000)), path);
            assertThat(Files.readAllBytes(path)).isEqualTo(random(300_000));
            try (Stream<Path> list = Files.list(path.getParent())) {
                assertThat(list.map(Path::toString)).containsExactly(path.toString());
            }
        }
    }

    @Test
    void objectThatChangesIsAnError() throws IOException {
        S3Files.upload(file(random(300_000)), path("changing"));
        try (SeekableByteChannel channel = Files.newByteChannel(path("changing"))) {
            S3Files.upload(file(random(300_001)), path("changing"));
            channel.position(200_000);
            assertThatThrownBy(() -> channel.read(ByteBuffer.allocate(1000))).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("changed")
                    .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.ESTALE));
        }
    }

    @Test
    void wrongSecretIsOneLine() throws IOException {
        TestCheckpoints.odd(folder.resolve("odd.safetensors"));
        S3Files.upload(folder.resolve("odd.safetensors"), path("secret/odd.safetensors"));
        Map<String, String> wrong = new HashMap<>(server.environment());
        wrong.put("AWS_SECRET_ACCESS_KEY", "wronghush");
        String object = uri("secret/odd.safetensors").toString();
        for (String[] arguments : new String[][]{{"load", object, "-t", "host"},
                {"load", uri("secret/").toString(), "-t", "host"},
                {"convert", folder.resolve("odd.safetensors").toString(), uri("refused/").toString()}}) {
            GdsRun run = gds(wrong, () -> false, arguments);
            assertThat(run.status()).isEqualTo(3);
            assertThat(run.out()).isEmpty();
            assertThat(run.errorLine()).contains("status 403", "models/").doesNotContain("hush");
        }
        assertThat(path("refused/")).doesNotExist();
    }

    @ParameterizedTest
    @CsvSource({"AKIDTEST, wronghush, 17000000, SignatureDoesNotMatch", "AKIDTEST, wronghush, 0, SignatureDoesNotMatch",
            "AKIDOTHER, hushhush, 10, InvalidAccessKeyId", "'', '', 10, AccessDenied"})
    void refusedUploadNamesTheCodeOfTheServer(String name, String secret, int size, String code) throws IOException {
        Path file = file(random(size));
        Path target =
                S3Files.path(uri("refused"), options.withCredentials(S3Credentials.of(name, secret)));
        assertThatThrownBy(() -> S3Files.upload(file, target)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("status 403").hasMessageContaining(code).hasMessageNotContaining("hush");
        assertThat(server.uploads()).isEmpty();
    }

    @Test
    void missingBucketAndObjectAreOneLine() {
        for (String url : List.of("s3://none/x", "s3://none/x/", uri("none").toString(), uri("none/").toString())) {
            GdsRun run = s3("load", url, "-t", "host");
            assertThat(run.status()).as(url).isEqualTo(3);
            assertThat(run.errorLine()).contains("/none", "no such");
        }
    }
}
