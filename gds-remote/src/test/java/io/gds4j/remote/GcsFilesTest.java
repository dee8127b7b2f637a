package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings, URLs, tokens and uploads ({@link GcsSession}) of Google Cloud Storage. */
@Timeout(60)
class GcsFilesTest {
    private static final byte[] BYTES = RangeServer.random(700_001);
    private static final HttpOptions HTTP = HttpOptions.DEFAULTS.withRequests(64 << 10, 4)
            .withPatience(Duration.ofSeconds(20), 20, Duration.ofMillis(1));

    @TempDir
    Path folder;

    private final long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
    private GcsServer server;

    @BeforeEach
    void start() throws IOException {
        server = new GcsServer(new Random(seed));
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private GcsOptions options() {
        return GcsOptions.fromEnvironment(Map.of("STORAGE_EMULATOR_HOST", server.endpoint().toString()))
                .withPartBytes(1 << 16).withHttp(HTTP);
    }

    private static SourcePath path(String name, GcsOptions options) {
        return GcsFiles.path(URI.create("gs://models/" + name), options);
    }

    private Path file(byte[] bytes) throws IOException {
        return Files.write(folder.resolve("file"), bytes);
    }

    /** The server keeps a part of what it is sent, and fails at random before it says how much. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 1 << 16, (1 << 16) + 1, 700_001})
    void uploadIsResumedWhereTheServerIs(int size) throws IOException {
        byte[] bytes = Arrays.copyOf(BYTES, size);
        S3Files.uploadNew(file(bytes), path("x", options()));
        assertThat(server.objects.get("x").bytes()).as("-Dgds4j.property.seed=%s", seed).isEqualTo(bytes);
        CuFileException e = catchThrowableOfType(
                CuFileException.class, () -> S3Files.uploadNew(file(new byte[5]), path("x", options())));
        assertThat(e.errno()).hasValue(Errno.EEXIST);
        S3Files.upload(file(new byte[7]), path("x", options()));
        assertThat(server.objects.get("x").bytes()).isEqualTo(new byte[7]);
    }

    @Test
    void interruptedThreadUploadsNothing() throws IOException {
        Path file = file(BYTES);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> S3Files.upload(file, path("x", options())))
                .isInstanceOf(CuFileInterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(server.objects).isEmpty();
    }

    /** The server would keep the session and its bytes for a week. Its failure to cancel is not that of the upload. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void failedUploadIsCancelled(boolean answers) throws IOException {
        server.tokens.add("hush");
        server.answersCancellation = answers;
        server.objects.put("x", new GcsServer.Stored(BYTES, "foreign"));
        CuFileException e = catchThrowableOfType(CuFileException.class,
                () -> S3Files.uploadNew(file(BYTES), path("x", options().withTokens(() -> "hush"))));
        assertThat(e.errno()).hasValue(Errno.EEXIST);
        assertThat(server.cancelled).containsExactly("0");
        StringWriter trace = new StringWriter();
        e.printStackTrace(new PrintWriter(trace));
        assertThat(trace.toString()).doesNotContain("upload_id", "hush", "DELETE");
        S3Files.upload(file(new byte[7]), path("x", options().withTokens(() -> "hush")));
        assertThat(server.objects.get("x").bytes()).isEqualTo(new byte[7]);
        assertThat(server.cancelled).as("no upload that succeeded").hasSize(1);
    }

    @Test
    void tokenThatExpiresDuringAReadIsFollowedByAnother() throws Exception {
        server.objects.put("x", new GcsServer.Stored(BYTES, "1"));
        server.tokens.add("first");
        AtomicReference<String> known = new AtomicReference<>("first");
        RangeSource source = path("x", options().withTokens(() -> known.getAndSet(
                server.tokens.iterator().next()))).openSource();
        server.tokens.clear();
        server.tokens.add("second");
        byte[] into = new byte[100_000];
        assertThat(source.read(300_000, MemorySegment.ofArray(into), Cancellation.NEVER)).isPositive();
        assertThat(into[5]).isEqualTo(BYTES[300_005]);
    }

    @Test
    void tokenThatIsRefusedIsOneLine() {
        server.objects.put("x", new GcsServer.Stored(BYTES, "1"));
        server.tokens.add("right-hush");
        SourcePath path = path("x", options().withTokens(() -> "wrong-hush"));
        assertThatThrownBy(() -> Files.size(path)).isInstanceOf(CuFileException.class)
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EACCES))
                .hasMessageContaining("the server refuses the token: it is wrong, or has expired")
                .hasMessageNotContaining("hush").hasMessageNotContaining("\n");
        SourcePath broken = path("x", options().withTokens(() -> "hush\nhush"));
        assertThatThrownBy(() -> Files.size(broken)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("a token has spaces").hasMessageNotContaining("hush");
    }

    @Test
    void eachRequestNamesTheProjectThatPays() throws IOException {
        GcsOptions options = options().withHttp(HTTP.withHeader("x-goog-user-project", "payer"));
        S3Files.upload(file(BYTES), path("x", options));
        assertThat(Files.readAllBytes(path("x", options))).isEqualTo(BYTES);
        Files.delete(path("x", options));
        assertThat(server.payers).containsExactly("payer");
    }

    @Test
    void sessionElsewhereGetsNoToken() throws IOException {
        try (GcsServer other = new GcsServer(new Random(seed))) {
            server.sessionsAt = other.endpoint().toString();
            assertThatThrownBy(() -> S3Files.upload(file(new byte[5]), path("x", options()
                    .withTokens(() -> "hush")))).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("the URL of a session at this server").hasMessageNotContaining("hush");
        }
    }

    @Test
    void otherGenerationIsAnotherVersion() throws Exception {
        server.objects.put("x", new GcsServer.Stored(BYTES, "1"));
        RangeSource source = path("x", options()).openSource();
        server.objects.put("x", new GcsServer.Stored(BYTES, "2"));
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> source.read(
                500_000, MemorySegment.ofArray(new byte[1000]), Cancellation.NEVER));
        assertThat(e.errno()).hasValue(Errno.ESTALE);
        assertThat(e).hasMessageContaining("its generation was 1, now it is 2");
    }

    @ParameterizedTest
    @CsvSource({"GOOGLE_APPLICATION_CREDENTIALS, key.json", "CLOUDSDK_CONFIG, ''", "HOME, ''"})
    void credentialsOfAFileNeedTheirArtifact(String variable, String name) throws IOException {
        Path gcloud = Files.createDirectories(
                variable.equals("HOME") ? folder.resolve(".config/gcloud") : folder);
        Files.writeString(gcloud.resolve(name.isEmpty() ? "application_default_credentials.json" : name), "{}");
        Map<String, String> variables = new HashMap<>(Map.of("HOME", "/none"));
        variables.put(variable, name.isEmpty() ? folder.toString() : folder.resolve(name).toString());
        GcsOptions options = GcsOptions.fromEnvironment(variables);
        assertThat(options.endpoint()).hasToString("https://storage.googleapis.com");
        assertThatThrownBy(() -> Files.size(path("x", options.withEndpoint(server.endpoint()))))
                .isInstanceOf(CuFileException.class).hasMessageContaining("io.gds4j:gds-gcs")
                .hasMessageContaining(folder.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"gs://models", "GS://models/", "gs://models/a%20b/c", "gs://models/x_y.z/"})
    void pathsAreThoseOfTheUrl(String url) {
        assertThat(GcsFiles.path(URI.create(url), options()).resolve("d").toString())
                .isEqualTo(url.replace("GS:", "gs:").replaceFirst("/$", "") + "/d");
    }

    @ParameterizedTest
    @ValueSource(strings = {"gs:models/x", "gs://Hush/x", "gs://user:hush@models/x", "gs://models/x?hush",
            "gs://models/x#hush", "gs://models/a//hush", "s3://models/hush", "gs://models/%FFhush"})
    void otherUrlsAreRefusedWithoutTheirText(String url) {
        GcsOptions options = options();
        assertThatThrownBy(() -> GcsFiles.path(URI.create(url), options)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("not a URL like gs://BUCKET/NAME").hasMessageNotContaining("hush");
    }

    @ParameterizedTest
    @ValueSource(strings = {"http://u:hush@x", "hush hush", "ftp://hush", "x?hush"})
    void serverThatIsWrongIsRefusedWithoutItsText(String url) {
        assertThatThrownBy(() -> GcsOptions.fromEnvironment(Map.of("STORAGE_EMULATOR_HOST", url)))
                .hasMessageContaining("the endpoint is not an http or https URL").hasMessageNotContaining("hush");
    }
}
