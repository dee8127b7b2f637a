package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.RecordOrder;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.memory.MemoryKind;
import io.gds4j.remote.HttpFiles;
import io.gds4j.remote.HttpOptions;
import io.gds4j.statistics.IoPath;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code gds load} of URLs: the same tensors as from files. */
@Tag("slow")
class LoadRemoteTest {
    @TempDir
    Path folder;

    private static final String BUCKET = "models/";
    private static final String COMMIT = "1".repeat(40);
    private final List<String> stored = new CopyOnWriteArrayList<>();
    private final List<String> asked = new CopyOnWriteArrayList<>();
    private HttpServer server;
    private volatile int status;
    private volatile boolean writesOnly;
    private volatile boolean sendsWhole;
    private volatile String refusedPut = "";

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", this::answer);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            String name = exchange.getRequestURI().getPath().substring(1);
            boolean s3 = name.startsWith(BUCKET);
            if (name.startsWith("api/models/")) {
                listOfHub(exchange);
                return;
            }
            name = name.replaceFirst("^org/model/resolve/" + COMMIT + "/", "");
            if (s3 && !exchange.getRequestHeaders().containsKey("Authorization")) {
                exchange.sendResponseHeaders(403, -1);
                return;
            }
            Path file = folder.resolve(s3 ? name.substring(BUCKET.length()) : name);
            if (exchange.getRequestMethod().equals("DELETE")) {
                Files.deleteIfExists(file);
                exchange.sendResponseHeaders(204, -1);
                return;
            }
            if (exchange.getRequestMethod().equals("HEAD")) {
                exchange.sendResponseHeaders(404, -1);
                return;
            }
            if (exchange.getRequestMethod().equals("PUT") && file.endsWith(refusedPut) && !refusedPut.isEmpty()) {
                exchange.getRequestBody().readAllBytes();
                exchange.sendResponseHeaders(507, -1);
                return;
            }
            if (exchange.getRequestMethod().equals("PUT")) {
                Files.createDirectories(file.getParent());
                Files.write(file, exchange.getRequestBody().readAllBytes());
                stored.add(file.getFileName().toString());
                exchange.getResponseHeaders().set("ETag", "\"1\"");
                exchange.sendResponseHeaders(200, -1);
                return;
            }
            if (writesOnly) {
                byte[] denied = "<Error><Code>AccessDenied</Code></Error>".getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(403, denied.length);
                exchange.getResponseBody().write(denied);
                return;
            }
            if (exchange.getRequestURI().getQuery() != null) {
                list(exchange);
                return;
            }
            String wanted = exchange.getRequestHeaders().getFirst("Range");
            String[] range = (wanted == null ? "bytes=0-" : wanted).substring("bytes=".length()).split("-");
            asked.add(file.getFileName().toString());
            if (file.getFileName().toString().startsWith("DENIED")) {
                exchange.sendResponseHeaders(403, -1);
                return;
            }
            if (!Files.isRegularFile(file)) {
                exchange.sendResponseHeaders(404, -1);
                return;
            }
            if (sendsWhole) {
                exchange.sendResponseHeaders(200, Files.size(file));
                Files.copy(file, exchange.getResponseBody());
                return;
            }
            long first = Long.parseLong(range[0]);
            if (status != 0 && first > 0) {
                exchange.sendResponseHeaders(status, -1);
                return;
            }
            byte[] bytes = Files.readAllBytes(file);
            int last = (int) Math.min(bytes.length - 1, Long.parseLong(range[1]));
            exchange.getResponseHeaders().set("Content-Range", "bytes %d-%d/%d".formatted(first, last, bytes.length));
            exchange.getResponseHeaders().set("ETag", "\"1\"");
            exchange.sendResponseHeaders(206, last - first + 1);
            exchange.getResponseBody().write(bytes, (int) first, (int) (last - first + 1));
        }
    }

    /** Lists all files as the Hugging Face hub does. */
    private void listOfHub(HttpExchange exchange) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            byte[] json = files.filter(Files::isRegularFile)
                    .map(file -> "{\"rfilename\":\"%s\"}".formatted(folder.relativize(file)))
                    .collect(Collectors.joining(",", "{\"sha\":\"" + COMMIT + "\",\"siblings\":[", "]}"))
                    .getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, json.length);
            exchange.getResponseBody().write(json);
        }
    }

    /** Lists the files of one folder. */
    private void list(HttpExchange exchange) throws IOException {
        String prefix = exchange.getRequestURI().getQuery().replaceFirst(".*prefix=", "");
        StringBuilder xml = new StringBuilder("<ListBucketResult>");
        Path listed = folder.resolve(prefix);
        if (Files.isDirectory(listed)) {
            try (Stream<Path> files = Files.list(listed)) {
                files.filter(Files::isRegularFile).forEach(
                        file -> xml
                                .append("<Contents><Key>%s</Key></Contents>".formatted(prefix + file.getFileName())));
            }
        }
        byte[] bytes = xml.append("</ListBucketResult>").toString().getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    private GdsRun s3(String... arguments) {
        return gds(environment(), () -> false, arguments);
    }

    private Map<String, String> environment() {
        return Map.of(
                "AWS_ENDPOINT_URL", "http://localhost:" + server.getAddress().getPort(), "AWS_ACCESS_KEY_ID", "key",
                "AWS_SECRET_ACCESS_KEY", "hush", "HOME", folder.toString(),
                "HF_ENDPOINT", "http://127.0.0.1:" + server.getAddress().getPort(), "HF_TOKEN", "hush",
                "GDS4J_REMOTE_CACHE", folder.resolve("cache").toString(), "GDS4J_REMOTE_CACHE_BYTES", "64M");
    }

    @Test
    void everyFormatLoadsFromAUrl() throws IOException {
        EveryFormat formats = EveryFormat.write(folder);
        for (String name : EveryFormat.FILES) {
            formats.assertLoadsAlike(name, url(name), Map.of());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"s3://models/", "hf://org/model/"})
    void everyFormatLoadsFromAListOfFiles(String root) throws IOException {
        EveryFormat formats = EveryFormat.write(folder);
        for (String name : EveryFormat.FILES) {
            formats.assertLoadsAlike(name, root + name, environment());
        }
        for (String name : EveryFormat.FOLDERS) {
            formats.assertLoadsAlike(name, root + name, environment());
        }
        formats.assertLoadsAlike("shards", root + "shards", environment());
    }

    @Test
    void checkpointOfTheHubIsConvertedAndNotWritten() throws IOException {
        TestCheckpoints.odd(folder.resolve("model.safetensors"));
        String out = folder.resolve("out").toString();
        assertThat(s3("convert", "hf://org/model", out).err()).isEmpty();
        assertThat(gds("load", out, "-t", "host", "--digest", "--json").json().get("tensors"))
                .isEqualTo(
                        gds("load", folder.resolve("model.safetensors").toString(), "-t", "host", "--digest", "--json")
                                .json().get("tensors"));
        GdsRun back = s3("convert", out, "hf://org/model/out");
        assertThat(back.status()).isEqualTo(2);
        assertThat(back.err()).contains("only files and objects of S3, Google and Azure can be written");
    }

    @Test
    void whatTheHubRefusesIsOneLineAndStatusThree() {
        GdsRun run = s3("load", "hf://org/model/none.safetensors", "-t", "host");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errorLine()).contains("hf://org/model/none.safetensors");
        Map<String, String> offline = Map.of("HF_HOME", folder.toString(), "HF_HUB_OFFLINE", "1", "HF_TOKEN", "hush");
        GdsRun alone = gds(offline, () -> false, "load", "hf://org/model", "-t", "host");
        assertThat(alone.status()).isEqualTo(3);
        assertThat(alone.errorLine()).contains("HF_HUB_OFFLINE forbids").doesNotContain("hush");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "1"})
    void modelInTheCacheOfTheHubLoadsAsFiles(String offline) throws IOException {
        TestCheckpoints.sharded(folder);
        Path snapshot = Files.createDirectories(folder.resolve("hub/models--org--model/snapshots").resolve(COMMIT));
        TestCheckpoints.sharded(snapshot);
        Files.write(Files.createDirectory(snapshot.resolve("data")).resolve("records.bin"), new byte[40_960]);
        Files.write(Files.createDirectory(folder.resolve("data")).resolve("records.bin"), new byte[40_960]);
        Map<String, String> variables = Map.of("HF_HOME", folder.toString(), "HF_HUB_OFFLINE", offline,
                "HF_ENDPOINT", "http://127.0.0.1:" + server.getAddress().getPort());
        GdsRun run = gds(
                variables, () -> false, "load", "hf://org/model@" + COMMIT, "-t", "host", "--digest", "--verify",
                "--json");
        assertThat(run.err()).isEmpty();
        GdsRun records =
                gds(variables, () -> false, "records", "hf://org/model@" + COMMIT + "/data/records.bin", "--record=4K",
                        "-t", "host");
        assertThat(records.err()).isEmpty();
        assertThat(records.status()).isZero();
        assertThat(run.json().get("ioPaths").fieldNames()).toIterable().isNotEmpty().doesNotContain("USER_SOURCE");
        assertThat(asked).isEmpty();
        assertThat(GdsRun.digests(run.json())).isEqualTo(
                GdsRun.digests(gds("load", folder.toString(), "-t", "host", "--digest", "--json").json()));
    }

    @Test
    void objectThatMayNotBeReadEndsOnlyALoadThatNeedsIt() throws IOException {
        Path one = Files.createDirectory(folder.resolve("one"));
        TestCheckpoints.odd(one.resolve("odd.safetensors"));
        Files.writeString(one.resolve("DENIED.md"), "x");
        GdsRun whole = s3("load", "s3://models/one/", "-t", "host", "--verify");
        assertThat(whole.err()).contains("note: ", "cannot be read, left out: 'DENIED.md'");
        assertThat(whole.status()).isZero();
        Path indexed = Files.createDirectory(folder.resolve("indexed"));
        TestCheckpoints.sharded(indexed);
        Files.writeString(indexed.resolve("DENIED.md"), "x");
        asked.clear();
        assertThat(s3("load", "s3://models/indexed/", "-t", "host", "--verify").status()).isZero();
        assertThat(asked).isNotEmpty().doesNotContain("DENIED.md");
        Files.writeString(one.resolve("DENIED.safetensors"), "x");
        GdsRun run = s3("load", "s3://models/one/", "-t", "host");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.err()).contains("DENIED.safetensors");
    }

    @Test
    void convertedCheckpointIsStoredIndexLastAndNotReplaced() {
        Path source = TestCheckpoints.odd(folder.resolve("odd.safetensors"));
        GdsRun run = s3("convert", source.toString(), "s3://models/out/", "--max-shard", "100K", "--json");
        assertThat(run.err()).isEmpty();
        assertThat(stored).hasSize(3).endsWith("model.safetensors.index.json");
        new EveryFormat(folder).assertLoadsAlike("odd.safetensors", "s3://models/out/", environment());
        GdsRun again = s3("convert", source.toString(), "s3://models/out/");
        assertThat(again.status()).isEqualTo(3);
        assertThat(again.err().lines()).singleElement().asString().contains("s3://models/out/", "already");
        assertThat(s3("convert", source.toString(), url("out")).status()).isEqualTo(2);
    }

    /** The right to put objects is enough to convert: nothing else is needed. */
    @Test
    void convertNeedsNoRightToRead() {
        Path source = TestCheckpoints.odd(folder.resolve("odd.safetensors"));
        writesOnly = true;
        assertThat(s3("convert", source.toString(), "s3://models/out/", "--max-shard", "100K").err()).isEmpty();
        writesOnly = false;
        new EveryFormat(folder).assertLoadsAlike("odd.safetensors", "s3://models/out/", environment());
    }

    /** Shards of an upload that was killed, and new ones beside them, would look like one checkpoint. */
    @Test
    void shardsOfAnUploadThatEndedEarlyAreNotMixedWithOthers() throws IOException {
        Path source = TestCheckpoints.odd(folder.resolve("odd.safetensors"));
        Files.createDirectories(folder.resolve("out"));
        Path old = Files.writeString(folder.resolve("out/model-00002-of-00002.safetensors"), "old");
        GdsRun run = s3("convert", source.toString(), "s3://models/out/", "--max-shard", "100K");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errorLine()).contains("model-00002-of-00002.safetensors", "already");
        assertThat(old).hasContent("old");
        assertThat(stored).isEmpty();
    }

    @Test
    void failedUploadRemovesWhatItSent() {
        Path source = TestCheckpoints.odd(folder.resolve("odd.safetensors"));
        refusedPut = "model-00002-of-00002.safetensors";
        GdsRun run = s3("convert", source.toString(), "s3://models/out/", "--max-shard", "100K");
        assertThat(run.status()).isEqualTo(4);
        assertThat(run.errorLine()).contains("model-00002-of-00002.safetensors", "status 507");
        assertThat(stored).hasSize(1);
        assertThat(folder.resolve("out")).isEmptyDirectory();
        refusedPut = "";
        assertThat(s3("convert", source.toString(), "s3://models/out/", "--max-shard", "100K").err()).isEmpty();
    }

    @Test
    void s3WithoutSuchAnObjectOrCredentialsFails() {
        GdsRun missing = s3("load", "s3://models/none/", "-t", "host");
        assertThat(missing.status()).isEqualTo(3);
        assertThat(missing.err().lines()).singleElement().asString().contains("s3://models/none");
        GdsRun unknown = gds(Map.of("HOME", folder.toString(), "AWS_EC2_METADATA_DISABLED", "true"), () -> false,
                "load", "s3://models/x", "-t", "host");
        assertThat(unknown.status()).isEqualTo(3);
        assertThat(unknown.err().lines()).singleElement().asString().contains("no S3 credentials");
    }

    private String url(String path) {
        return "http://localhost:%d/%s".formatted(server.getAddress().getPort(), path);
    }

    @Test
    void recordsOfAUrlAreThoseOfTheFile() throws IOException, InterruptedException {
        byte[] bytes = new byte[300_000];
        new Random(1).nextBytes(bytes);
        Files.write(folder.resolve("records.bin"), bytes);
        Path remote = HttpFiles.path(URI.create(url("records.bin")), HttpOptions.DEFAULTS);
        ByteArrayOutputStream read = new ByteArrayOutputStream();
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults());
                RecordLoader loader =
                        RecordLoader.builder(driver, RecordFiles.fixed(List.of(remote), 1000), 30).open()) {
            while (loader.hasNext()) {
                try (RecordBatch batch = loader.next()) {
                    read.writeBytes(batch.memory().segment().orElseThrow().toArray(ValueLayout.JAVA_BYTE));
                }
            }
            assertThat(driver.bytesByPath()).containsOnlyKeys(IoPath.USER_SOURCE);
        }
        assertThat(read.toByteArray()).isEqualTo(bytes);
    }

    @Test
    void windowOfRemoteRecordsTakesOneRangeForEachBlock() throws IOException {
        Files.write(folder.resolve("records.bin"), new byte[2_000_000]);
        Path remote = HttpFiles.path(URI.create(url("records.bin")), HttpOptions.DEFAULTS);
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults());
                RecordLoader loader = RecordLoader.builder(driver, RecordFiles.fixed(List.of(remote), 1000), 30)
                        .order(RecordOrder.shuffledBlocks(1, 250, 3)).target(MemoryKind.HOST, 0).open()) {
            assertThat(loader.batches().mapToInt(RecordBatch::count).sum()).isEqualTo(2000);
        }
        assertThat(asked).as("8 blocks; the source and the file ask for the size").hasSizeBetween(8, 10);
    }

    @Test
    void missingObjectGivesStatusThree() {
        GdsRun run = gds("load", url("none.safetensors"), "-t", "host");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.err().lines()).singleElement().asString().contains(url("none.safetensors"));
    }

    @Test
    void failureOfARangeGivesStatusFour() {
        TestCheckpoints.odd(folder.resolve("model.safetensors"));
        status = 418;
        GdsRun run = gds("load", url("model.safetensors"), "-t", "host");
        assertThat(run.status()).isEqualTo(4);
        assertThat(run.out()).isEmpty();
        assertThat(run.err().lines()).singleElement().asString().contains(url("model.safetensors"), "status 418");
    }

    @ParameterizedTest
    @CsvSource({"hf://model?hush, hf://ORG/MODEL", "gs://bucket/key?hush, gs://BUCKET/NAME", "ftp://me:hush@h/x, gs://",
            "file:///x, the path alone", "s3://models/a#b, %23", "'http://me:hush@my_host/x?hush', my_host",
            "'s3://models/a b', %20"})
    void urlThatCannotBeReadNamesWhatWorks(String url, String text) {
        for (String command : List.of("load", "records")) {
            GdsRun run = gds(command, url, command.equals("load") ? "-q" : "--record=4K", "-t", "host");
            assertThat(run.status()).isEqualTo(2);
            assertThat(run.err()).contains(text).doesNotContain("hush");
        }
    }

    @Test
    void commandsForFilesDoNotShowUrls() {
        for (String[] line : new String[][]{{"check", "URL"}, {"plot", "URL", "-o", "x.svg"}, {"io", "-f", "URL"},
                {"load", "a", "URL"}, {"URL"}}) {
            List<String> arguments = Stream.of(line)
                    .map(each -> each.equals("URL") ? "http://me:hush@h/x?sig=hush" : each).toList();
            assertThat(gds(arguments.toArray(String[]::new)).err()).containsAnyOf("no path of a file", "http://h/x?...")
                    .doesNotContain("hush");
        }
    }

    @Test
    void recordsOfUrlsAreReadByTheCommand() throws IOException {
        Files.write(folder.resolve("records.bin"), new byte[40_960]);
        for (String path : List.of(url("records.bin"), "s3://models/records.bin")) {
            GdsRun run = s3("records", path, "--record", "4K", "-t", "host", "--json");
            assertThat(run.err()).isEmpty();
            assertThat(run.json().get("records").asInt()).isEqualTo(10);
        }
    }

    /** Such as python3 -m http.server. */
    @Test
    void serverWithoutRangesIsReadIfTheUserWantsIt() throws IOException {
        TestCheckpoints.odd(folder.resolve("odd.safetensors"));
        sendsWhole = true;
        assertThat(gds("load", url("odd.safetensors"), "-t", "host").errorLine()).contains("GDS4J_REMOTE_SEQUENTIAL");
        new EveryFormat(folder).assertLoadsAlike(
                "odd.safetensors", url("odd.safetensors"), Map.of("GDS4J_REMOTE_SEQUENTIAL", "true"));
    }

    @Test
    void cacheBelowTheHomeFolderIsThere() throws IOException {
        TestCheckpoints.odd(folder.resolve("odd.safetensors"));
        Map<String, String> variables = new java.util.HashMap<>(environment());
        variables.put("GDS4J_REMOTE_CACHE", "~/of home");
        assertThat(gds(variables, () -> false, "load", url("odd.safetensors"), "-t", "host").err()).isEmpty();
        assertThat(folder.resolve("of home")).isDirectory();
    }

    @Test
    void wrongUrlIsWrongUsageAndNotRepeated() {
        GdsRun run = gds("load", "http://me:hush@/model safetensors");
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.err()).contains("not a valid URL");
    }
}
