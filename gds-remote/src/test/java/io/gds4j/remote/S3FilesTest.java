package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** S3 objects as paths, over a server that checks signatures and misbehaves. */
@Tag("slow")
@Timeout(60)
class S3FilesTest {
    private static final byte[] BYTES = RangeServer.random(700_001);
    private static final HttpOptions HASTY = HttpOptions.DEFAULTS.withRequests(64 << 10, 8)
            .withPatience(Duration.ofSeconds(20), 3, Duration.ofMillis(1));

    @TempDir
    Path folder;

    private final S3Server server = new S3Server();
    private final S3Options options = server.options().withHttp(HASTY);

    @AfterEach
    void stop() {
        server.close();
    }

    private SourcePath path(String key) {
        return S3Files.path(URI.create("s3://models/" + key), options);
    }

    /** The examples of AWS's description of the signature for S3: a range of an object, and a list. */
    @ParameterizedTest
    @CsvSource({
            "/test.txt, bytes=0-9, f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
            "/?lifecycle=, '', fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
            "/?max-keys=2&prefix=J, '', 34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"})
    void signaturesAreThoseOfThePublishedExamples(String path, String range, String signature) {
        S3Credentials keys = S3Credentials.of("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
        S3Signer signer = new S3Signer(
                "us-east-1", "s3", () -> keys,
                new S3Signer.ServerClock(InstantSource.fixed(Instant.parse("2013-05-24T00:00:00Z"))));
        Map<String, String> signed = new java.util.TreeMap<>(
                Map.of("x-amz-content-sha256", Signer.EMPTY_BODY, "x-amz-date", "20130524T000000Z"));
        URI uri = URI.create("https://examplebucket.s3.amazonaws.com" + path);
        if (range.isEmpty()) {
            assertThat(signer.headers("GET", uri, Signer.EMPTY_BODY, Map.of()).get("Authorization"))
                    .endsWith(signature);
        } else {
            signed.put("range", range);
        }
        assertThat(signer.sign(keys, "GET", uri, Signer.EMPTY_BODY, signed).get("Authorization"))
                .contains("AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request").endsWith(signature);
    }

    /** The case get-vanilla of AWS's published suite. */
    @Test
    void signatureIsThatOfThePublishedSuite() {
        S3Credentials keys = S3Credentials.of("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
        S3Signer signer =
                new S3Signer("us-east-1", "service", () -> keys, new S3Signer.ServerClock(InstantSource.system()));
        assertThat(signer.sign(keys, "GET", URI.create("https://example.amazonaws.com/"), Signer.EMPTY_BODY,
                Map.of("x-amz-date", "20150830T123600Z")).get("Authorization"))
                .endsWith("5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    }

    @Test
    void foldersAreListedInPages() throws IOException {
        for (String key : List.of("m/", "m/a b.bin", "m/c", "m/d", "m/sub/x", "m/ä", "n")) {
            server.objects.put(key, new byte[10]);
        }
        try (Stream<Path> entries = Files.list(path("m/"))) {
            assertThat(entries.map(entry -> entry.getFileName().toString()))
                    .containsExactlyInAnyOrder("a b.bin", "c", "d", "sub", "ä");
        }
        assertThat(path("m")).isDirectory();
        assertThat(path("m/sub").getParent().resolve("c")).isRegularFile();
        assertThat(path("n")).isRegularFile();
        assertThat(path("none")).doesNotExist();
        assertThatThrownBy(() -> Files.size(path("none/"))).isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void virtualHostsAndRegionsMakeTheUrl() {
        S3Options aws = S3Options.fromEnvironment(Map.of("AWS_REGION", "eu-west-1", "HOME", folder.toString()));
        assertThat(new S3Names("models", aws).url("a b", Map.of()))
                .hasToString("https://models.s3.eu-west-1.amazonaws.com/a%20b");
        assertThat(new S3Names("with.dots", aws).url("k", Map.of()))
                .hasToString("https://s3.eu-west-1.amazonaws.com/with.dots/k");
        assertThat(
                new S3Names("models",
                        aws.withEndpoint(URI.create("http://store:9000/s3/")).withPathStyle(false))
                        .url("k", Map.of()))
                .hasToString("http://models.store:9000/s3/k");
        assertThat(new S3Names("models", S3Options.fromEnvironment(
                Map.of("AWS_ENDPOINT_URL", "http://store:9000", "HOME", folder.toString()))).url("k", Map.of()))
                .hasToString("http://store:9000/models/k");
    }

    @ParameterizedTest
    @ValueSource(strings = {"s3:///key", "s3://models/a//b", "http://models/key", "s3://models/key?x=1"})
    void otherUrlsAreRefused(String uri) {
        assertThatThrownBy(() -> S3Files.path(URI.create(uri), options)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("s3://bucket/key");
    }

    @Test
    void wrongSecretIsRefusedAndStaysOutOfTexts() {
        server.objects.put("a", BYTES);
        S3Credentials wrong = new S3Credentials("AKIDTEST", "wronghush", Optional.of("tokenhush"), Optional.empty());
        S3Options guess = options.withCredentials(wrong);
        Path path = S3Files.path(URI.create("s3://models/a"), guess);
        assertThatThrownBy(() -> Files.readAllBytes(path)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("403").hasMessageNotContaining("hush")
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EACCES));
        assertThatThrownBy(() -> Files.list(S3Files.path(URI.create("s3://models/m/"), guess)))
                .hasMessageContaining("SignatureDoesNotMatch").hasMessageNotContaining("hush");
        assertThat(wrong + " " + guess + " " + path + " " + S3Signer.of("r", () -> wrong)).doesNotContain("hush")
                .doesNotContain("AKID");
    }

    @ParameterizedTest
    @CsvSource({"403, refuses", "404, NoSuchFile", "412, changed", "429, 3 attempts", "500, 3 attempts",
            "503, 3 attempts", "301, region eu-west-9"})
    void badStatusIsAClearError(int status, String text) {
        server.objects.put("a", BYTES);
        server.on((exchange, request) -> {
            exchange.getResponseHeaders().set("x-amz-bucket-region", "eu-west-9");
            S3Server.answer(exchange, status, "<Error><Code>Some</Code></Error>");
            return true;
        });
        assertThatThrownBy(() -> Files.readAllBytes(path("a"))).satisfies(
                e -> assertThat(e.toString()).contains(text, "models/a"));
        if (status != 404) {
            assertThatThrownBy(() -> Files.list(path("m/"))).isInstanceOf(CuFileException.class)
                    .hasMessageContaining(String.valueOf(status)).hasMessageContaining("Some");
        }
    }

    @Test
    void missingBucketIsNamed() {
        server.on((exchange, request) -> {
            S3Server.answer(exchange, 404, "<Error><Code>NoSuchBucket</Code></Error>");
            return true;
        });
        assertThatThrownBy(() -> Files.size(path("a"))).isInstanceOf(CuFileException.class)
                .hasMessageContaining("/models/").hasMessageContaining("no such bucket");
    }

    private Path file(int size) throws IOException {
        return Files.write(folder.resolve("file"), RangeServer.random(size));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1000, (17 << 16) + 5})
    void uploadedFileIsTheObject(int size) throws IOException {
        S3Files.upload(file(size), path("new/file%20x"));
        assertThat(Arrays.mismatch(server.objects.get("new/file x"), RangeServer.random(size))).isEqualTo(-1);
        assertThat(server.uploads).isEmpty();
    }

    /** Bytes that tell which of them were read. */
    private record Counted(byte[] bytes, AtomicLong read) implements RangeSource {
        @Override
        public String identity() {
            return "counted";
        }

        @Override
        public long size() {
            return bytes.length;
        }

        /** Reads a few bytes at a time, as sources may. */
        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) {
            long count = Math.min(target.byteSize(), 1_000_003);
            MemorySegment.copy(MemorySegment.ofArray(bytes), offset, target, 0, count);
            read.addAndGet(count);
            return count;
        }
    }

    /** S3 refuses parts of less than 5 MiB, unless they are the last. */
    @Test
    void partsAreAsLargeAsS3WantsThem() {
        assertThat(S3Options.fromEnvironment(Map.of()).partBytes()).isEqualTo(16 << 20);
    }

    /** An upload has four parts in memory: it reads no fifth one before the server has taken one. */
    @Test
    void uploadReadsOnlyWhatItsMemoryHolds() throws Exception {
        Counted source = new Counted(new byte[S3Server.PART * 6], new AtomicLong());
        CountDownLatch four = new CountDownLatch(4);
        CountDownLatch go = new CountDownLatch(1);
        server.on((exchange, request) -> {
            if (exchange.getRequestMethod().equals("PUT")) {
                four.countDown();
                try {
                    go.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            return false;
        });
        CompletableFuture<Void> uploaded = CompletableFuture.runAsync(() -> {
            try {
                S3Files.upload(source, path("x"));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        four.await();
        assertThat(source.read).hasValue(4L * S3Server.PART);
        go.countDown();
        uploaded.join();
        assertThat(server.objects.get("x")).hasSize(source.bytes.length);
    }

    /** The answer came after the interrupt: the object is there although the upload failed. */
    @Test
    void objectThatAppearsAfterAnInterruptIsTakenBack() {
        Thread uploader = Thread.currentThread();
        server.on((exchange, request) -> {
            if (exchange.getRequestMethod().equals("PUT")) {
                server.serveUnanswered(exchange);
                uploader.interrupt();
                return true;
            }
            return false;
        });
        Counted source = new Counted(new byte[10], new AtomicLong());
        assertThatThrownBy(() -> path("x").create(source)).isInstanceOf(CuFileInterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(server.objects).isEmpty();
    }

    @Test
    void fileThatIsWrittenWhileItIsUploadedBecomesNoObject() throws IOException {
        Path file = file((17 << 16) + 5);
        Files.setLastModifiedTime(file, FileTime.from(Instant.EPOCH));
        server.on((exchange, offset) -> {
            if (exchange.getRequestMethod().equals("PUT")) {
                Files.write(file, new byte[1], StandardOpenOption.WRITE);
            }
            return false;
        });
        assertThatThrownBy(() -> S3Files.upload(file, path("x"))).isInstanceOf(IOException.class)
                .hasMessageContaining("changed while it was uploaded");
        assertThat(server.objects).isEmpty();
        assertThat(server.uploads).isEmpty();
    }

    @Test
    void fileThatLosesItsNameIsUploaded() throws IOException {
        Path file = file((17 << 16) + 5);
        byte[] bytes = Files.readAllBytes(file);
        server.on((exchange, offset) -> {
            Files.deleteIfExists(file);
            return false;
        });
        S3Files.upload(file, path("x"));
        assertThat(Arrays.mismatch(server.objects.get("x"), bytes)).isEqualTo(-1);
    }

    /** Spaces, which S3 sends before the error, and an error that names no code hid it: the upload was reported as done. */
    @ParameterizedTest
    @CsvSource({"0, <Error><Code>EntityTooSmall</Code></Error>, EntityTooSmall",
            "5000, <Error><Code>EntityTooSmall</Code></Error>, EntityTooSmall",
            "1, <Error/>, CompleteMultipartUploadResult", "0, '', CompleteMultipartUploadResult"})
    void errorInTheAnswerOfACompleteUploadIsAnError(int spaces, String answer, String message) throws IOException {
        Path file = file(17 << 16);
        server.on((exchange, request) -> {
            boolean completes = exchange.getRequestMethod().equals("POST")
                    && exchange.getRequestURI().getQuery().contains("uploadId");
            if (completes) {
                S3Server.answer(exchange, 200, " ".repeat(spaces) + answer);
            }
            return completes;
        });
        assertThatThrownBy(() -> S3Files.upload(file, path("x"))).hasMessageContaining(message);
        assertThat(server.uploads).isEmpty();
    }

    /** All answers are lost. The object stays, and the message says so. */
    @Test
    void objectThatMayBeThereIsNamed() {
        server.on((exchange, request) -> {
            if (exchange.getRequestMethod().equals("PUT")) {
                server.serveUnanswered(exchange);
            }
            return true;
        });
        Counted source = new Counted(new byte[10], new AtomicLong());
        assertThatThrownBy(() -> path("x").create(source)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("/models/x").hasMessageContaining("may be there all the same");
        assertThat(server.objects).containsOnlyKeys("x");
    }

    /** The upload was reported as failed, and the object stayed. */
    @ParameterizedTest
    @ValueSource(ints = {10, 17 << 16})
    void objectIsFoundIfTheServerKnowsNoConditionAndItsAnswerIsLost(int size) throws IOException {
        server.on((exchange, request) -> {
            String query = String.valueOf(exchange.getRequestURI().getQuery());
            boolean publishes = exchange.getRequestMethod().equals(size > 10 ? "POST" : "PUT")
                    && !query.contains("uploads");
            if (publishes && exchange.getRequestHeaders().containsKey("If-None-Match")) {
                S3Server.answer(exchange, 501, "<Error><Code>NotImplemented</Code></Error>");
            } else if (publishes && server.objects.isEmpty()) {
                server.serveUnanswered(exchange);
            }
            return publishes;
        });
        S3Files.uploadNew(file(size), path("x"));
        assertThat(server.objects.get("x")).hasSize(size);
        assertThat(server.uploads).isEmpty();
    }

    @Test
    void credentialsComeFromTheEnvironmentThenTheProfile() throws IOException {
        Path profile = folder.resolve("credentials");
        Files.writeString(profile, "[default]\naws_access_key_id=no\n\n[other]\naws_access_key_id = fromFile\n"
                + "aws_secret_access_key = s=1\naws_session_token=t\n");
        Map<String, String> variables = new java.util.HashMap<>(Map.of(
                "AWS_SHARED_CREDENTIALS_FILE", profile.toString(), "AWS_PROFILE", "other", "HOME", folder.toString()));
        S3Credentials found = S3Options.fromEnvironment(variables).credentials().get();
        assertThat(found).isEqualTo(new S3Credentials("fromFile", "s=1", Optional.of("t"), Optional.empty()));
        variables.put("AWS_ACCESS_KEY_ID", "fromVariable");
        variables.put("AWS_SECRET_ACCESS_KEY", "s");
        assertThat(S3Options.fromEnvironment(variables).credentials().get().accessKey()).isEqualTo("fromVariable");
        assertThatThrownBy(() -> S3Options.fromEnvironment(
                Map.of("HOME", folder.toString(), "AWS_EC2_METADATA_DISABLED", "true")).credentials().get())
                .hasMessageContaining("no S3 credentials");
    }

    @Test
    void credentialsComeFromTheContainerThenTheInstance() {
        String json = "{\"AccessKeyId\" : \"%s\", \"SecretAccessKey\":\"s\\/1\",\"Token\":\"t\",\"Expiration\":\"%s\"}";
        String end = "2999-01-01T00:00:00Z";
        server.on((exchange, request) -> {
            String path = exchange.getRequestURI().getPath();
            String token = String.valueOf(exchange.getRequestHeaders().getFirst("X-aws-ec2-metadata-token"));
            String answer = switch (path) {
                case "/container" -> exchange.getRequestHeaders().containsKey("Authorization")
                        ? json.formatted("ofContainer", end) : "";
                case "/latest/api/token" -> exchange.getRequestMethod().equals("PUT") ? "t0k" : "";
                case "/latest/meta-data/iam/security-credentials/" -> token.equals("t0k") ? "role\n" : "";
                case "/latest/meta-data/iam/security-credentials/role" -> token.equals("t0k")
                        ? json.formatted("ofInstance", end) : "";
                default -> "";
            };
            S3Server.answer(exchange, answer.isEmpty() ? 401 : 200, answer);
            return true;
        });
        Map<String, String> variables = new java.util.HashMap<>(Map.of(
                "HOME", folder.toString(), "AWS_EC2_METADATA_SERVICE_ENDPOINT", server.endpoint().toString()));
        var instance = S3Options.fromEnvironment(variables).credentials();
        assertThat(instance.get()).isEqualTo(new S3Credentials(
                "ofInstance", "s/1", Optional.of("t"), Optional.of(Instant.parse(end))));
        int before = server.requests.size();
        instance.get();
        assertThat(server.requests).hasSize(before);
        variables.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.endpoint() + "/container");
        variables.put("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hush");
        assertThat(S3Options.fromEnvironment(variables).credentials().get().accessKey()).isEqualTo("ofContainer");
        variables.remove("AWS_CONTAINER_AUTHORIZATION_TOKEN");
        assertThatThrownBy(() -> S3Options.fromEnvironment(variables).credentials().get())
                .hasMessageContaining("container");
    }

    @Test
    void listThatIsNotXmlOrHasADocumentTypeIsAnError() {
        for (String text : List.of("no xml",
                "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a><Key>&x;</Key></a>",
                "<!DOCTYPE ListBucketResult [<!ENTITY x 'm/inner'>]><ListBucketResult><Contents><Key>&x;</Key></Contents>"
                        + "<IsTruncated>false</IsTruncated></ListBucketResult>")) {
            server.on((exchange, request) -> {
                S3Server.answer(exchange, 200, text);
                return true;
            });
            assertThatThrownBy(() -> Files.list(path("m/"))).hasMessageContaining("not valid XML");
        }
    }

    @Test
    void listsThatExhaustTheMachineAreRefused() {
        String end =
                "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>";
        String keys = "<ListBucketResult>" + "<Key>m/</Key>".repeat(1_000_001);
        StringBuilder spaces = new StringBuilder("<ListBucketResult><a");
        for (int i = 0; i < 200_000; i++) {
            spaces.append(" xmlns:a").append(i).append("='b'");
        }
        for (String[] answer : new String[][]{{keys + end, "more than 1000000 keys"},
                {spaces + "/>" + end, "not valid XML"},
                {"<ListBucketResult>" + "<a>".repeat(100) + "</a>".repeat(100) + end, "not valid XML"}}) {
            server.on((exchange, request) -> {
                S3Server.answer(exchange, 200, answer[0]);
                return true;
            });
            long start = System.nanoTime();
            assertThatThrownBy(() -> Files.list(path("m/"))).hasMessageContaining(answer[1]);
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(20));
        }
        String page =
                "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%s</NextContinuationToken>"
                        + "</ListBucketResult>";
        AtomicInteger pages = new AtomicInteger();
        server.on((exchange, request) -> {
            S3Server.answer(exchange, 200, page.formatted(pages.incrementAndGet()));
            return true;
        });
        S3Listing listing = new S3Listing("m/", token -> server.endpoint().resolve("/list"),
                new S3Requests(new HttpConnections(HASTY, Signer.NONE, System::nanoTime)));
        assertThatThrownBy(() -> listing.names(3L * page.length())).hasMessageContaining("or %s bytes",
                3 * page.length());
        assertThat(pages).hasValue(4);
    }

    private Path cached(String key) {
        return S3Files.path(URI.create("s3://models/" + key), options.withHttp(
                HASTY.withRequests(4 << 20, 8).withCache(new RemoteCache(folder.resolve("cache"), 16 << 20))));
    }

    private long cachedBytes() throws IOException {
        try (Stream<Path> files = Files.list(folder.resolve("cache"))) {
            return files.mapToLong(file -> file.toFile().length()).sum();
        }
    }

    @Test
    void cachedBlocksAreReadOnceForEachVersion() throws IOException {
        byte[] bytes = RangeServer.random(9 << 20);
        server.objects.put("a", bytes);
        assertThat(Arrays.mismatch(Files.readAllBytes(cached("a")), bytes)).isEqualTo(-1);
        assertThat(cachedBytes()).isGreaterThan(bytes.length);
        int before = server.requests.size();
        assertThat(Arrays.mismatch(Files.readAllBytes(cached("a")), bytes)).isEqualTo(-1);
        assertThat(server.requests).hasSize(before + 1);
        byte[] other = bytes.clone();
        other[8_500_000]++;
        server.objects.put("a", other);
        assertThat(Arrays.mismatch(Files.readAllBytes(cached("a")), other)).isEqualTo(-1);
    }

    @Test
    void spoiltBlockIsReadAgain() throws IOException {
        byte[] bytes = RangeServer.random(1 << 20);
        server.objects.put("a", bytes);
        Files.readAllBytes(cached("a"));
        try (Stream<Path> files = Files.list(folder.resolve("cache"))) {
            for (Path file : files.toList()) {
                byte[] spoilt = Files.readAllBytes(file);
                spoilt[500_000]++;
                Files.write(file, spoilt);
            }
        }
        assertThat(Files.readAllBytes(cached("a"))).isEqualTo(bytes);
    }

    @Test
    void cacheStaysBelowItsLimit() throws IOException {
        byte[] bytes = RangeServer.random(9 << 20);
        for (String key : List.of("a", "b", "c")) {
            server.objects.put(key, bytes);
            Files.readAllBytes(cached(key));
        }
        assertThat(cachedBytes()).isBetween(9L << 20, 18L << 20);
    }

    /** A source that another program changes, or that answers with no byte. */
    private record Changing(AtomicLong reads, boolean isEmpty) implements RangeSource {
        @Override
        public String identity() {
            return "changing";
        }

        @Override
        public long size() {
            return 10;
        }

        @Override
        public Optional<String> contentVersion() {
            return Optional.of("after reads: " + reads);
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) {
            assertThat(reads.incrementAndGet()).isEqualTo(1);
            return isEmpty ? 0 : target.byteSize();
        }
    }

    @ParameterizedTest
    @CsvSource({"false, changing changed while it was uploaded", "true, changing became shorter while it was uploaded"})
    void smallContentThatChangesBecomesNoObject(boolean isEmpty, String message) {
        Changing source = new Changing(new AtomicLong(), isEmpty);
        assertThatThrownBy(() -> S3Files.upload(source, path("x"))).isInstanceOf(IOException.class).hasMessage(message);
        assertThat(server.objects).isEmpty();
    }

    /** The parts in flight end before the upload is given up, and no further one begins: a late part would stay at the server. */
    @ParameterizedTest
    @ValueSource(ints = {4, 100})
    void failedPartEndsTheOthers(int count) {
        Counted source = new Counted(new byte[count], new AtomicLong());
        Thread caller = Thread.currentThread();
        AtomicLong begun = new AtomicLong();
        AtomicLong running = new AtomicLong();
        CountDownLatch ended = new CountDownLatch(1);
        CountDownLatch four = new CountDownLatch(4);
        assertThatThrownBy(() -> Parts.send(source, count, 1, URI.create("s3://models/x"), (number, bytes) -> {
            running.incrementAndGet();
            begun.incrementAndGet();
            four.countDown();
            try {
                four.await();
                if (number == 0) {
                    throw new IOException("refused");
                }
                // the caller waits for these parts, and takes no result any more
                while (caller.getState() != Thread.State.TIMED_WAITING && ended.getCount() > 0) {
                    Thread.onSpinWait();
                }
                return number;
            } catch (InterruptedException e) {
                throw new IOException(e);
            } finally {
                running.decrementAndGet();
            }
        })).isInstanceOf(IOException.class).hasMessage("refused");
        long left = running.get();
        ended.countDown();
        assertThat(left).as("parts in flight").isZero();
        assertThat(begun).hasValue(4);
    }

    @Test
    void partsAreSentOnceAndReturnedInOrder() throws IOException {
        Counted source = new Counted(RangeServer.random(23), new AtomicLong());
        List<String> sent = Parts.send(source, 23, 5, URI.create("s3://models/x"),
                (number, bytes) -> number + Arrays.toString(bytes.toArray(ValueLayout.JAVA_BYTE)));
        assertThat(sent).hasSize(5);
        for (int i = 0; i < 5; i++) {
            assertThat(sent.get(i)).isEqualTo(
                    i + Arrays.toString(Arrays.copyOfRange(source.bytes, i * 5, Math.min(23, i * 5 + 5))));
        }
        assertThat(source.read).hasValue(23);
    }
}
