package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.ReadOnlyFileSystemException;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which object a path asks for: the whole URL counts, as RFC 3986 reads it. */
class ObjectPathTest {
    private static final HttpOptions OPTIONS = HttpOptions.DEFAULTS;

    @TempDir
    Path folder;

    private final RangeServer server = new RangeServer();
    private final S3Server s3 = new S3Server();

    @AfterEach
    void stop() {
        server.close();
        s3.close();
    }

    /** A source without bytes. */
    private record Empty() implements RangeSource {
        @Override
        public String identity() {
            return "empty";
        }

        @Override
        public long size() {
            return 0;
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) {
            return 0;
        }
    }

    @Test
    void objectsOfHttpServersAreNotWritten() {
        SourcePath path = HttpFiles.path(URI.create("http://localhost/a"), OPTIONS);
        RangeSource content = new Empty();
        assertThatThrownBy(() -> path.create(content)).isInstanceOf(CuFileException.class)
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EROFS));
        assertThatThrownBy(() -> Files.delete(path)).isInstanceOf(ReadOnlyFileSystemException.class);
    }

    @Test
    void pathOfAUriIsThatOfItsProvider() throws IOException {
        assertThat(Files.readString(SourcePath.of(echo("/folder/file").toUri()))).isEqualTo("/folder/file");
        assertThat(SourcePath.of(URI.create("S3://bucket/key"))).isInstanceOf(SourcePath.class);
        for (String scheme : List.of("s3a", "S3N")) {
            assertThat(SourcePath.of(URI.create(scheme + "://bucket/key"))).hasToString("s3://bucket/key");
        }
        assertThat(SourcePath.of(folder.toUri())).isEqualTo(folder);
    }

    @ParameterizedTest
    @ValueSource(strings = {"hf://user:secret@model/secret", "file", "file://host/secret", "https:secret"})
    void uriThatNobodyServesIsRefusedWithoutItsSecrets(String uri) {
        assertThatThrownBy(() -> SourcePath.of(URI.create(uri)))
                .isInstanceOf(CuFileException.class)
                .hasMessageNotContaining("secret");
    }

    @Test
    void schemesThatExistAreNamed() {
        assertThatThrownBy(() -> SourcePath.of(URI.create("ftp://model")))
                .hasMessageContaining("no provider has the scheme ftp; there are abfs, abfss, az, file, gs, hf, http,"
                        + " https, s3, s3a, s3n");
    }

    /** Answers with the URL that was asked for. */
    private Path echo(String path) {
        server.on((exchange, request) -> {
            byte[] bytes = target(exchange).getBytes(StandardCharsets.UTF_8);
            server.send(exchange, bytes, 0, bytes.length - 1, bytes.length);
            return true;
        });
        return HttpFiles.path(server.uri(path), OPTIONS);
    }

    private static String target(HttpExchange exchange) {
        return exchange.getRequestURI().toString();
    }

    @ParameterizedTest
    @CsvSource({"/a//m/i.json, /a//m/s%20x", "/b%2Fm/i.json, /b%2Fm/s%20x", "/g%2Bx/i.json, /g%2Bx/s%20x",
            "//k/m/i.json, //k/m/s%20x", "/c;v=1/m/i.json?key=1, /c;v=1/m/s%20x",
            "/e%20x/m/i.json#part, /e%20x/m/s%20x",
            "/%FF/i.json, /%FF/s%20x", "/f+x//i.json, /f+x//s%20x", "/i.json, /s%20x"})
    void siblingStandsInTheFolderAsTheUrlWritesIt(String index, String sibling) throws IOException {
        Path path = echo(index);
        assertThat(path.getFileName()).hasToString("i.json");
        assertThat(Files.readString(path)).isEqualTo(index.replaceFirst("#.*", ""));
        assertThat(Files.readString(path.resolveSibling("s x"))).isEqualTo(sibling);
        assertThat(Files.readString(path.getParent().resolve("s x"))).isEqualTo(sibling);
    }

    @Test
    void siblingKeepsTheCharactersThatAPathMayHave() throws IOException {
        assertThat(Files.readString(echo("/m/i.json").resolveSibling("a+b&c=d:e@(1)"))).isEqualTo("/m/a+b&c=d:e@(1)");
    }

    /** Any text is a name, and comes back as it was. */
    @Test
    void randomNamesAskForThemselves() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        Path index = echo("/x//y/i.json");
        for (int i = 0; i < 100; i++) {
            StringBuilder name = new StringBuilder("n");
            for (int j = random.nextInt(8); j >= 0; j--) {
                name.appendCodePoint(random.nextBoolean() ? " +%#?&;=:@'\"[]{}|\\^~".codePointAt(random.nextInt(20))
                        : 0xc0 + random.nextInt(0x2000));
            }
            Path sibling = index.resolveSibling(name.toString());
            String target = Files.readString(sibling);
            assertThat(target).as("seed %d", seed).startsWith("/x//y/").matches("[!-~]*");
            assertThat(URI.create(target).getPath()).as("seed %d", seed).isEqualTo("/x//y/" + name);
            assertThat(sibling.getFileName()).as("seed %d", seed).hasToString(name.toString());
        }
    }

    /** The client of the JDK composes letters, and so asked for another object. */
    @Test
    void decomposedLettersAreAskedForAsTheyAre() throws IOException {
        assertThat(Files.readString(echo("/u\u0308.bin"))).isEqualTo("/u%CC%88.bin");
        assertThat(Files.readString(echo("/\u00fc.bin"))).isEqualTo("/%C3%BC.bin");
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://me:hush@my_host:8000/x?key=hush", "http://a_b/x"})
    void hostThatJavaCannotAskIsNamedWithoutSecrets(String url) {
        assertThatThrownBy(() -> HttpFiles.path(URI.create(url), OPTIONS)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("_").hasMessageNotContaining("hush");
        assertThatThrownBy(() -> HttpSource.open(URI.create(url), OPTIONS)).hasMessageContaining("the host ")
                .hasMessageNotContaining("hush");
    }

    @Test
    void bucketWithAnUnderscoreStandsInThePath() {
        S3Options aws = s3.options().withEndpoint(URI.create("http://localhost:1")).withPathStyle(false);
        assertThat(new S3Names("my_bucket", aws).url("k", java.util.Map.of()))
                .hasToString("http://localhost:1/my_bucket/k");
    }

    @ParameterizedTest
    @CsvSource({"s3://models/frag#ment, %23", "s3://models/a?versionId=1, %3F", "s3://models/%FF, UTF-8"})
    void partsThatAKeyCannotHaveAreRefused(String url, String text) {
        s3.objects.put("frag", new byte[1]);
        assertThatThrownBy(() -> S3Files.path(URI.create(url), s3.options())).isInstanceOf(CuFileException.class)
                .hasMessageContaining(text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a~b-c_d.(1)'!*;:@,$", "gr%C3%B6%C3%9Fe%20+%26", "x%2Fy=1"})
    void pathsOfAKeyAreEqualHoweverItIsWritten(String key) throws IOException {
        s3.objects.put("m/" + URI.create("x:/" + key).getPath().substring(1), new byte[3]);
        Path path = S3Files.path(URI.create("s3://models/m/" + key), s3.options());
        assertThat(Files.size(path)).isEqualTo(3);
        assertThat(path.getParent().resolve(path.getFileName().toString())).isEqualTo(path).hasSameHashCodeAs(path);
        try (Stream<Path> list = Files.list(path.getParent())) {
            assertThat(list).containsExactly(path);
        }
        Path web = HttpFiles.path(server.uri("/m/(1)+x"), OPTIONS);
        assertThat(web.endsWith("(1)+x")).isTrue();
        assertThat(web.getFileName()).isEqualTo(web.getFileSystem().getPath("(1)+x"));
    }

    @Test
    void hashInAKeyIsWrittenAsAnEscape() throws IOException {
        s3.objects.put("model", new byte[1]);
        s3.objects.put("model#2/x", new byte[2]);
        Path path = S3Files.path(URI.create("s3://models/model%232/x"), s3.options());
        assertThat(Files.size(path)).isEqualTo(2);
        assertThat(Files.size(path.getParent().resolve("x"))).isEqualTo(2);
        try (Stream<Path> list = Files.list(path.getParent())) {
            assertThat(list.map(Path::toString)).containsExactly("s3://models/model%232/x");
        }
    }

    @ParameterizedTest
    @CsvSource({"'', cut short", "<NextMarker>m/b</NextMarker>, cut short",
            "<NextContinuationToken>again</NextContinuationToken>, never ends"})
    void listThatIsCutShortIsNoList(String more, String text) {
        s3.on((exchange, request) -> {
            S3Server.answer(exchange, 200, "<ListBucketResult><IsTruncated>true</IsTruncated>" + more
                    + "<Contents><Key>m/a</Key></Contents></ListBucketResult>");
            return true;
        });
        assertThatThrownBy(() -> Files.list(S3Files.path(URI.create("s3://models/m/"), s3.options())))
                .isInstanceOf(CuFileException.class).hasMessageContaining(text);
    }

    @Test
    void listThatDoesNotTellWhetherItEndsGoesOn() throws IOException {
        List<String> pages = new ArrayList<>(List.of(
                "<NextContinuationToken>t</NextContinuationToken><Contents><Key>m/a</Key></Contents>",
                "<Contents><Key>m/b</Key></Contents>"));
        s3.on((exchange, request) -> {
            S3Server.answer(exchange, 200, "<ListBucketResult>" + pages.removeFirst() + "</ListBucketResult>");
            return true;
        });
        try (Stream<Path> list = Files.list(S3Files.path(URI.create("s3://models/m/"), s3.options()))) {
            assertThat(list).hasSize(2);
        }
    }

    /** A path keeps to one version; another path of the same object tells whether it still is that. */
    @Test
    void strongTagIsTheKeyOfAFile() throws IOException {
        server.put("/object", RangeServer.random(100_000));
        Path path = HttpFiles.path(server.uri("/object"), OPTIONS);
        BasicFileAttributes first = Files.readAttributes(path, BasicFileAttributes.class);
        assertThat(first.fileKey()).isNotNull().isEqualTo(Files.readAttributes(
                HttpFiles.path(server.uri("/object"), OPTIONS), BasicFileAttributes.class).fileKey());
        server.etag = "\"v2\"";
        assertThat(Files.readAttributes(path, BasicFileAttributes.class).fileKey()).isEqualTo(first.fileKey());
        assertThatThrownBy(() -> Files.readAllBytes(path)).hasMessageContaining("changed");
        assertThat(Files.readAttributes(HttpFiles.path(server.uri("/object"), OPTIONS), BasicFileAttributes.class)
                .fileKey()).isNotEqualTo(first.fileKey());
        server.etag = "W/\"v3\"";
        assertThat(Files.readAttributes(HttpFiles.path(server.uri("/object"), OPTIONS), BasicFileAttributes.class)
                .fileKey()).isNull();
    }

    /** An ETag that is not strong cannot be demanded: each range is compared with the first. */
    @ParameterizedTest
    @ValueSource(strings = {"\"v1\"", "W/\"v1\""})
    void rangesOfTwoVersionsAreNeverMixed(String tag) throws Exception {
        server.etag = tag;
        HttpSource source = HttpSource.open(
                server.put("/object", RangeServer.random(500_000)), OPTIONS.withRequests(64 << 10, 2));
        byte[] other = RangeServer.random(500_000);
        other[499_999]++;
        AtomicInteger ranges = new AtomicInteger();
        server.on((exchange, request) -> {
            if (ranges.incrementAndGet() < 2) {
                return false;
            }
            server.etag = tag.replace("v1", "v2");
            int[] range = RangeServer.range(exchange, other.length);
            server.send(exchange, other, range[0], range[1], range[1] - range[0] + 1);
            return true;
        });
        assertThatThrownBy(() -> source.read(0, MemorySegment.ofArray(new byte[500_000]), Cancellation.NEVER))
                .isInstanceOf(CuFileException.class).hasMessageContaining("changed");
    }

    @Test
    void uploadMakesItsPathForgetWhatItKnew() throws IOException {
        Path parent = S3Files.path(URI.create("s3://models/d"), s3.options());
        Path target = parent.resolve("x y");
        assertThat(parent).doesNotExist();
        S3Files.upload(Files.writeString(folder.resolve("one"), "first content"), target);
        assertThat(parent).isDirectory();
        assertThat(Files.readString(target)).isEqualTo("first content");
        S3Files.upload(Files.writeString(folder.resolve("two"), "second"), parent.resolve("x y"));
        assertThat(Files.readString(target)).isEqualTo("second");
    }
}
