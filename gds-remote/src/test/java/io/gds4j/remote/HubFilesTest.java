package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.source.SourcePath;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.ReadOnlyFileSystemException;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code hf://}: the files of one commit, from the hub, its store and its cache. The servers are on loopback. */
class HubFilesTest {
    private static final byte[] WEIGHTS = RangeServer.random(300_000);
    private static final byte[] OTHER = RangeServer.random(300_001);
    private static final String BEARER = "Bearer " + HubServer.TOKEN;

    @TempDir
    Path home;

    private final HubServer server = new HubServer();

    HubFilesTest() {
        server.put(HubServer.FIRST, "config.json", "{}".getBytes(StandardCharsets.UTF_8));
        server.put(HubServer.FIRST, "a b/\u00fc#.bin", WEIGHTS);
        server.put(HubServer.FIRST, "a b/c/model.bin", WEIGHTS);
        server.put(HubServer.SECOND, "config.json", OTHER);
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private HubOptions options(String... more) {
        Map<String, String> variables = new java.util.HashMap<>(Map.of(
                "HF_ENDPOINT", server.endpoint() + "/", "HF_TOKEN", HubServer.TOKEN, "HF_HOME", home.toString()));
        for (int i = 0; i < more.length; i += 2) {
            variables.put(more[i], more[i + 1]);
        }
        return HubOptions.fromEnvironment(variables).withHttp(
                HttpOptions.DEFAULTS.withPatience(Duration.ofSeconds(20), 2, Duration.ofMillis(1)));
    }

    private SourcePath path(String url) {
        return HubFiles.path(URI.create(url), options());
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.map(path -> String.valueOf(path.getFileName())).toList();
        }
    }

    /** Puts a file into the cache as the hub's own programs do. */
    private Path cached(String commit, String name, byte[] bytes) throws IOException {
        Path repository = home.resolve("hub/models--org--model");
        Path file = repository.resolve("snapshots").resolve(commit).resolve(name);
        Files.createDirectories(file.getParent());
        Path blob = repository.resolve("blobs/" + Integer.toHexString(name.hashCode()));
        Files.createDirectories(blob.getParent());
        Files.write(blob, bytes);
        Files.createSymbolicLink(file, file.getParent().relativize(blob));
        Path ref = repository.resolve("refs/main");
        Files.createDirectories(ref.getParent());
        Files.writeString(ref, HubServer.FIRST);
        return blob;
    }

    @Test
    void foldersAndFilesAreThoseOfTheHub() throws IOException {
        Path root = path("hf://org/model");
        assertThat(Files.isDirectory(root)).isTrue();
        assertThat(names(root)).containsExactly("a b", "config.json");
        assertThat(names(root.resolve("a b"))).containsExactly("c", "\u00fc#.bin");
        assertThat(Files.readString(root.resolve("config.json"))).isEqualTo("{}");
        assertThat(Files.readAllBytes(root.resolve("a b").resolve("\u00fc#.bin"))).isEqualTo(WEIGHTS);
        assertThat(Files.size(root.resolve("a b/c/model.bin"))).isEqualTo(WEIGHTS.length);
        assertThat(Files.isRegularFile(root.resolve("none"))).isFalse();
        assertThat(HubServer.paths(server.hub)).filteredOn(each -> each.startsWith("/api/"))
                .containsExactly("/api/models/org/model/revision/main");
        assertThat(root).hasToString("hf://org/model/");
        assertThat(root.resolve("config.json")).hasToString("hf://org/model/config.json");
    }

    @ParameterizedTest
    @ValueSource(strings = {"hf://org/model@main/a%20b/c/model.bin", "HF://org/old/a%20b/c/model.bin",
            "hf://org/model@1111111111111111111111111111111111111111/a%20b/c%2Fmodel.bin",
            "hf://org/model@refs/pr/7/a%20b/c/model.bin", "hf://org/model@refs%2Fpr%2F7/a%20b/c/model.bin"})
    void fileOfARevisionIsRead(String url) throws IOException {
        server.move("refs/pr/7", HubServer.FIRST);
        assertThat(Files.readAllBytes(path(url))).isEqualTo(WEIGHTS);
    }

    @Test
    void tokenGoesToTheHubOnly() throws IOException {
        Files.readAllBytes(path("hf://org/model/a%20b/c/model.bin"));
        assertThat(HubServer.credentials(server.hub)).containsExactly(BEARER);
        assertThat(HubServer.credentials(server.store)).containsExactly("null");
    }

    @Test
    void tokenIsNotSentToWhereAListIsRedirected() {
        assertThatThrownBy(() -> names(path("hf://org/away"))).isInstanceOf(CuFileException.class);
        assertThat(HubServer.paths(server.store)).containsExactly("/list");
        assertThat(HubServer.credentials(server.store)).containsExactly("null");
    }

    @Test
    void revisionStaysTheCommitOfItsFirstUse() throws IOException {
        Path root = path("hf://org/model");
        assertThat(names(root)).contains("config.json");
        server.move("main", HubServer.SECOND);
        assertThat(Files.readString(root.resolve("config.json"))).isEqualTo("{}");
        assertThat(Files.readAllBytes(path("hf://org/model/config.json"))).isEqualTo(OTHER);
    }

    @ParameterizedTest
    @CsvSource({"403 GatedRepo, accept its terms", "401 GatedRepo, accept its terms", "403, status 403",
            "404 EntryNotFound, has no such file"})
    void refusalOfAFileSaysWhatHelps(String refusal, String text) {
        server.refusal = refusal;
        assertThatThrownBy(() -> Files.readAllBytes(path("hf://org/model/a%20b/c/model.bin")))
                .satisfies(failure -> assertOneLine(refusal.startsWith("404") ? failure.getCause() : failure, text));
    }

    @ParameterizedTest
    @CsvSource({"hf://org/none, or it is private: check its name", "hf://org/model@none, no such branch",
            "hf://datasets/org/none, or it is private: check its name"})
    void refusalOfARevisionSaysWhatHelps(String url, String text) {
        assertThatThrownBy(() -> Files.isDirectory(path(url))).satisfies(failure -> assertOneLine(failure, text));
    }

    @Test
    void missingFileIsNotAskedFor() {
        assertThatThrownBy(() -> Files.readAllBytes(path("hf://org/model/../none")))
                .isInstanceOf(NoSuchFileException.class);
        assertThat(HubServer.paths(server.hub)).containsExactly("/api/models/org/model/revision/main");
    }

    private static void assertOneLine(Throwable failure, String text) {
        assertThat(failure).isInstanceOf(CuFileException.class).hasMessageContaining(text)
                .hasMessageNotContaining("\n").hasMessageNotContaining(HubServer.TOKEN);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "{ | not valid JSON", "[] | not the hub's list", "{} | its sha is no commit", "{\"sha\":1} | not the hub's",
            "{\"sha\":\"main\",\"siblings\":[]} | its sha is no commit", "<html> | not valid JSON",
            "{\"sha\":\"S\",\"siblings\":{}} | not the hub's list", "{\"sha\":\"S\",\"siblings\":[1]} | not the hub's",
            "{\"sha\":\"S\",\"siblings\":[{\"rfilename\":\"../x\"}]} | a file that no folder may have",
            "{\"sha\":\"S\",\"siblings\":[{\"rfilename\":\"a/../../x\"}]} | a file that no folder may have",
            "{\"sha\":\"S\",\"siblings\":[{\"rfilename\":\"/etc/x\"}]} | a file that no folder may have",
            "{\"sha\":\"S\",\"siblings\":[{\"rfilename\":\"a//x\"}]} | a file that no folder may have",
            "{\"sha\":\"S\",\"siblings\":[{\"rfilename\":\"a\\u0000\\nx\"}]} | a file that no folder may have",
            "{\"sha\":\"S\",\"siblings\":[{}]} | a file that no folder may have"})
    void listThatIsWrongIsRefused(String json, String text) {
        server.list = json.replace("\"S\"", '"' + HubServer.FIRST + '"');
        assertThatThrownBy(() -> names(path("hf://org/model"))).satisfies(failure -> assertOneLine(failure, text));
    }

    @Test
    void hugeListIsRefusedAtOnce() {
        server.list = "{\"x\":\"%s\"}".formatted("x".repeat(17 << 20));
        assertThatThrownBy(() -> names(path("hf://org/model")))
                .satisfies(failure -> assertOneLine(failure, "more than 16777216 bytes"));
        assertThat(server.hub.requests()).isEqualTo(1);
    }

    /** The hub cuts the siblings of a large repository short. Its links may name another server, which gets no token. */
    @ParameterizedTest
    @ValueSource(strings = {"the hub", "the store"})
    void filesOfALargeRepositoryComeByPages(String place) throws IOException {
        server.pagesAt = (place.equals("the hub") ? server.hub : server.store).uri("").toString();
        for (int i = 0; i < 2500; i++) {
            server.put(HubServer.FIRST, "many/%s".formatted(i), new byte[0]);
        }
        server.put(HubServer.FIRST, "z.json", "{}".getBytes(StandardCharsets.UTF_8));
        Path root = path("hf://org/model");
        assertThat(names(root.resolve("many"))).hasSize(2500).doesNotHaveDuplicates();
        assertThat(names(root)).containsExactly("a b", "config.json", "many", "z.json");
        assertThat(Files.readString(root.resolve("z.json"))).isEqualTo("{}");
        assertThat(HubServer.paths(server.hub)).filteredOn(each -> each.contains("/tree/"))
                .containsExactly("/api/models/org/model/tree/" + HubServer.FIRST,
                        "/api/models/org/model/tree/" + HubServer.FIRST,
                        "/api/models/org/model/tree/" + HubServer.FIRST);
        assertThat(HubServer.credentials(server.hub)).containsExactly(BEARER);
        assertThat(HubServer.credentials(server.store)).containsExactly("null");
    }

    private void manySiblings() {
        for (int i = 0; i < 1000; i++) {
            server.put(HubServer.FIRST, "many/%s".formatted(i), new byte[0]);
        }
    }

    @Test
    void repositoryWithoutFilesIsAskedForOnce() {
        server.list = "{\"sha\":\"%s\",\"siblings\":[]}".formatted(HubServer.FIRST);
        assertThat(path("hf://org/model/config.json")).doesNotExist();
        assertThat(server.hub.requests()).isEqualTo(1);
    }

    @Test
    void pagesThatDoNotEndAreRefused() {
        manySiblings();
        server.pagesAt = "http://127.0.0.1:1/endless";
        assertThatThrownBy(() -> names(path("hf://org/model")))
                .satisfies(failure -> assertOneLine(failure, "the list of files has more than 1000 pages"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"{} | not the hub's list", "[1] | not the hub's list", "[ | not valid JSON",
            "[{\"type\":\"file\"}] | a file that no folder may have",
            "[{\"type\":\"file\",\"path\":\"../x\"}] | a file that no folder may have"})
    void pageThatIsWrongIsRefused(String json, String text) {
        manySiblings();
        server.page = json;
        assertThatThrownBy(() -> names(path("hf://org/model"))).satisfies(failure -> assertOneLine(failure, text));
    }

    @Test
    void listOfAnotherCommitIsRefused() {
        server.list = "{\"sha\":\"%s\",\"siblings\":[]}".formatted(HubServer.SECOND);
        assertThatThrownBy(() -> names(path("hf://org/model@" + HubServer.FIRST)))
                .satisfies(failure -> assertOneLine(failure, "another commit"));
    }

    @Test
    void fileOfTheCacheIsNotAskedFor() throws IOException {
        cached(HubServer.FIRST, "a b/c/model.bin", WEIGHTS);
        Path root = path("hf://org/model");
        assertThat(Files.readAllBytes(root.resolve("a b/c/model.bin"))).isEqualTo(WEIGHTS);
        assertThat(Files.size(root.resolve("a b/c/model.bin"))).isEqualTo(WEIGHTS.length);
        assertThat(server.hub.requests()).isEqualTo(1);
        assertThat(Files.readString(root.resolve("config.json"))).isEqualTo("{}");
    }

    @Test
    void filesOfTheCacheAreClosed() throws IOException {
        Path blob = cached(HubServer.FIRST, "a b/c/model.bin", WEIGHTS).toRealPath();
        Path file = path("hf://org/model/a%20b/c/model.bin");
        assertThat(Files.size(file)).isEqualTo(WEIGHTS.length);
        assertThat(Files.isRegularFile(file)).isTrue();
        assertThat(Files.readAllBytes(file)).isEqualTo(WEIGHTS);
        List<Path> open = new ArrayList<>();
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors.toList()) {
                if (Files.isSymbolicLink(descriptor)) { // the list's own is closed by now
                    open.add(Files.readSymbolicLink(descriptor));
                }
            }
        }
        assertThat(open).doesNotContain(blob);
    }

    @Test
    void driverOpensTheFileOfTheCache() throws IOException {
        cached(HubServer.FIRST, "a b/c/model.bin", WEIGHTS);
        Path root = path("hf://org/model");
        byte[] read = new byte[WEIGHTS.length];
        try (CuFileDriver driver = CuFileDriver.open(
                CuFileConfig.builder().withoutEnvironment().build(), "compat");
                CuFileHandle local = driver.openFile(root.resolve("a b/c/model.bin"));
                CuFileHandle remote = driver.openFile(root.resolve("config.json"))) {
            local.readFully(MemorySegment.ofArray(read), 0);
            remote.readFully(MemorySegment.ofArray(new byte[2]), 0);
            assertThat(driver.bytesByPath().get(IoPath.USER_SOURCE)).isEqualTo(2);
            assertThatThrownBy(() -> driver.openFile(root.resolve("a b/c/model.bin"), StandardOpenOption.WRITE))
                    .isInstanceOf(CuFileException.class);
        }
        assertThat(read).isEqualTo(WEIGHTS);
        assertThat(HubServer.paths(server.store)).noneMatch(each -> each.endsWith("model.bin"));
    }

    @Test
    void smallFileNeedsNoRanges() throws IOException {
        server.store.on((exchange, request) -> {
            exchange.sendResponseHeaders(200, WEIGHTS.length);
            exchange.getResponseBody().write(WEIGHTS);
            return true;
        });
        assertThat(Files.readAllBytes(path("hf://org/model/a%20b/c/model.bin"))).isEqualTo(WEIGHTS);
    }

    @Test
    void fileOfTheCacheThatLeadsElsewhereIsNotRead() throws IOException {
        Files.delete(cached(HubServer.FIRST, "config.json", OTHER));
        Path elsewhere = Files.write(home.resolve("elsewhere"), OTHER);
        Path file = home.resolve("hub/models--org--model/snapshots/" + HubServer.FIRST + "/config.json");
        Files.delete(file);
        Files.createSymbolicLink(file, elsewhere);
        assertThat(Files.readString(path("hf://org/model/config.json"))).isEqualTo("{}");
        assertThatThrownBy(() -> Files.readString(offline("hf://org/model/config.json")))
                .isInstanceOf(NoSuchFileException.class);
    }

    private SourcePath offline(String url) {
        return HubFiles.path(URI.create(url), options("HF_HUB_OFFLINE", "1"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "@main", "@1111111111111111111111111111111111111111"})
    void cacheAloneServesWithoutTheHub(String revision) throws IOException {
        cached(HubServer.FIRST, "a b/c/model.bin", WEIGHTS);
        cached(HubServer.FIRST, "config.json", "[]".getBytes(StandardCharsets.UTF_8));
        Path root = offline("hf://org/model" + revision);
        assertThat(names(root)).containsExactly("a b", "config.json");
        assertThat(Files.readString(root.resolve("config.json"))).isEqualTo("[]");
        assertThat(Files.readAllBytes(root.resolve("a b").resolve("c/model.bin"))).isEqualTo(WEIGHTS);
        assertThat(server.hub.requests()).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"hf://org/model", "hf://org/other", "hf://org/model@2222222222222222222222222222222222222222",
                    "hf://org/model@refs/pr/1"})
    void whatTheCacheLacksIsNotAskedForOffline(String url) {
        assertThatThrownBy(() -> names(offline(url))).satisfies(
                failure -> assertOneLine(failure, "and HF_HUB_OFFLINE forbids to ask the hub"));
        assertThat(server.hub.requests()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"hf://model", "hf://org", "hf:org/model", "hf://org/model?x=hush", "hf://org/model#hush",
            "hf://user:hush@org/model", "hf://hush@org/model", "hf://org/model@", "hf://org/model@../../hush",
            "hf://org/model@%2Fhush", "hf://org/model@a..hush", "hf://org/model@a%20hush", "hf://org/../hush",
            "hf://datasets/hush", "hf://org/a--hush", "hf://org:80/hush", "s3://org/hush"})
    void otherUrlsAreRefusedWithoutTheirText(String url) {
        assertThatThrownBy(() -> path(url)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("not a URL like hf://ORG/MODEL").hasMessageNotContaining("hush");
    }

    @Test
    void tokenIsThatOfTheFirstPlaceThatHasOne() throws IOException {
        Files.writeString(home.resolve("token"), "hf_file\n");
        Files.writeString(home.resolve("other"), "hf_other");
        assertToken(BEARER, "HUGGING_FACE_HUB_TOKEN", "hf_old");
        assertToken("Bearer hf_old", "HF_TOKEN", "", "HUGGING_FACE_HUB_TOKEN", "hf_old");
        assertToken("Bearer hf_file", "HF_TOKEN", " ");
        assertToken("Bearer hf_other", "HF_TOKEN", "", "HF_TOKEN_PATH", home + "/other");
        assertToken("null", "HF_TOKEN", "", "HF_TOKEN_PATH", home + "/none");
    }

    private void assertToken(String expected, String... variables) throws IOException {
        server.hub.exchanges.clear();
        names(HubFiles.path(URI.create("hf://org/model"), options(variables)));
        assertThat(HubServer.credentials(server.hub)).containsExactly(expected);
    }

    @Test
    void settingsThatAreWrongAreRefusedWithoutTheirText() throws IOException {
        Files.createDirectory(home.resolve("token"));
        for (String[] each : new String[][]{{"HF_TOKEN", "hush hush"}, {"HF_TOKEN", "hush\nhush"},
                {"HF_ENDPOINT", "http://user:hush@127.0.0.1"}, {"HF_ENDPOINT", "ftp://hush"}, {"HF_ENDPOINT", "a hush"},
                {"HF_TOKEN", ""}}) {
            assertThatThrownBy(() -> options(each)).as(String.join("=", each)).isInstanceOf(CuFileException.class)
                    .hasMessageNotContaining("hush").hasMessageNotContaining("\n");
        }
        assertThat(options().toString()).doesNotContain(HubServer.TOKEN).contains("endpoint=http://127.0.0.1:");
    }

    @Test
    void filesAreOnlyRead() {
        assertThatThrownBy(() -> Files.delete(path("hf://org/model/config.json")))
                .isInstanceOf(ReadOnlyFileSystemException.class);
    }
}
