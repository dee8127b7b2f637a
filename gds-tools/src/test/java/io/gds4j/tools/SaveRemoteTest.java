package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SaveListener;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.loader.save.SaveReport;
import io.gds4j.loader.save.ShardedSave;
import io.gds4j.remote.S3Files;
import io.gds4j.remote.S3Options;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.SortedMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Saves to S3: the bytes of a local save, sent from memory; whole or not at all. */
@Tag("slow")
@Timeout(60)
class SaveRemoteTest {
    private static final String PREFIX = "/models/out/";
    private static final Duration SECOND = Duration.ofSeconds(1);

    @TempDir
    Path folder;

    private final CountDownLatch deleted = new CountDownLatch(1);
    private final CountDownLatch partCame = new CountDownLatch(1);
    private final SortedMap<String, byte[]> objects = new ConcurrentSkipListMap<>();
    private final SortedMap<String, SortedMap<Integer, byte[]>> uploads = new ConcurrentSkipListMap<>();
    private StoreServer server;
    private volatile boolean stalls;
    private volatile boolean copyExists;
    private volatile boolean damages;
    private volatile boolean keeps;

    @BeforeEach
    void start() throws IOException {
        server = new StoreServer(this::answer);
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            String query = String.valueOf(exchange.getRequestURI().getRawQuery());
            String name = exchange.getRequestURI().getPath().replaceFirst(PREFIX, "");
            byte[] body = exchange.getRequestBody().readAllBytes();
            if (!sha256(body).equals(exchange.getRequestHeaders().getFirst("x-amz-content-sha256"))) {
                exchange.sendResponseHeaders(400, -1);
                return;
            }
            switch (exchange.getRequestMethod()) {
                case "POST" -> {
                    if (query.startsWith("uploads")) {
                        uploads.put(name, new ConcurrentSkipListMap<>());
                    } else {
                        objects.put(name, joined(uploads.remove(name)));
                    }
                    StoreServer.send(exchange, 200, "<CompleteMultipartUploadResult/><UploadId>id</UploadId>"
                            .getBytes(StandardCharsets.UTF_8));
                }
                case "PUT" -> put(exchange, name, query, body);
                case "DELETE" -> {
                    if (keeps) {
                        exchange.sendResponseHeaders(403, -1);
                        return;
                    }
                    objects.remove(name);
                    uploads.remove(name);
                    deleted.countDown();
                    exchange.sendResponseHeaders(204, -1);
                }
                case "HEAD" -> exchange.sendResponseHeaders(404, -1);
                default -> get(exchange, name, query);
            }
        }
    }

    private static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    private void put(HttpExchange exchange, String name, String query, byte[] body) throws IOException {
        try (Stream<Path> entries = Files.list(Path.of(System.getProperty("java.io.tmpdir")))) {
            copyExists |= entries.anyMatch(entry -> entry.getFileName().toString().startsWith("gds4j-upload-"));
        }
        partCame.countDown();
        if (stalls) {
            server.stall();
        }
        if (query.contains("partNumber")) {
            int number = Integer.parseInt(query.replaceFirst(".*partNumber=(\\d+).*", "$1"));
            uploads.get(name).put(number, body);
        } else {
            objects.put(name, body);
        }
        exchange.getResponseHeaders().set("ETag", "\"1\"");
        exchange.sendResponseHeaders(200, -1);
    }

    private void get(HttpExchange exchange, String name, String query) throws IOException {
        if (query.contains("list-type")) {
            StringBuilder xml = new StringBuilder("<ListBucketResult>");
            objects.keySet().forEach(key -> xml.append("<Contents><Key>out/%s</Key></Contents>".formatted(key)));
            StoreServer.send(exchange, 200,
                    xml.append("</ListBucketResult>").toString().getBytes(StandardCharsets.UTF_8));
            return;
        }
        byte[] bytes = objects.get(name);
        if (bytes != null && damages) {
            bytes = bytes.clone();
            bytes[bytes.length - 1] ^= 1;
        }
        if (bytes == null) {
            exchange.sendResponseHeaders(404, -1);
            return;
        }
        String[] range = exchange.getRequestHeaders().getFirst("Range").substring("bytes=".length()).split("-");
        int first = Integer.parseInt(range[0]);
        int last = Math.min(bytes.length - 1, Integer.parseInt(range[1]));
        exchange.getResponseHeaders().set("Content-Range", "bytes %d-%d/%d".formatted(first, last, bytes.length));
        exchange.getResponseHeaders().set("ETag", "\"%s\"".formatted(Arrays.hashCode(bytes)));
        exchange.sendResponseHeaders(206, last - first + 1);
        exchange.getResponseBody().write(bytes, first, last - first + 1);
    }

    private static byte[] joined(SortedMap<Integer, byte[]> parts) {
        byte[] all = new byte[parts.values().stream().mapToInt(part -> part.length).sum()];
        int at = 0;
        for (byte[] part : parts.values()) {
            System.arraycopy(part, 0, all, at, part.length);
            at += part.length;
        }
        return all;
    }

    private Path target() {
        return S3Files.path(URI.create("s3:/" + PREFIX), S3Options.fromEnvironment(server.environment(folder)));
    }

    /** A checkpoint of 38 MB, whose tensors end inside of parts. */
    private Path checkpoint() {
        Path file = folder.resolve("source.safetensors");
        SavePlan.builder()
                .generated("a", DType.F32, new TensorPattern(1), 1111, 5000)
                .generated("b", DType.U8, new TensorPattern(1), (10 << 20) + 1)
                .generated("c", DType.F32, new TensorPattern(1), 1111, 1000)
                .generated("d", DType.U8, new TensorPattern(1), 0, 3)
                .toFile(file).save();
        return file;
    }

    private SavePlan plan() {
        return SavePlan.builder().checkpoint(Checkpoint.open(checkpoint())).toFolder(target());
    }

    @ParameterizedTest
    @ValueSource(strings = {"50G", "50G --checksums", "20M --checksums", "20M"})
    void objectsAreTheFilesOfALocalSaveWithoutACopyOnTheDisk(String layout) throws IOException {
        String source = checkpoint().toString();
        String[] options = ("--max-shard " + layout + " --json").split(" ");
        Path local = folder.resolve("local");
        assertThat(convert(source, local.toString(), options).err()).isEmpty();
        GdsRun run = convert(source, "s3:/" + PREFIX, options);
        assertThat(run.err()).isEmpty();
        assertThat(run.out()).contains("USER_SOURCE");
        assertThat(copyExists).isFalse();
        assertThat(uploads).isEmpty();
        try (Stream<Path> files = Files.list(local)) {
            List<Path> all = files.filter(file -> !file.getFileName().toString().startsWith(".")).toList();
            assertThat(objects).hasSameSizeAs(all);
            for (Path file : all) {
                assertThat(Arrays.mismatch(
                        objects.get(file.getFileName().toString()), Files.readAllBytes(file))).isEqualTo(-1);
            }
        }
        assertThat(convert(source, "s3:/" + PREFIX, options).errorLine()).contains("s3:/" + PREFIX, "already");
    }

    @Test
    void storedObjectThatDiffersIsRemovedAndReported() {
        damages = true;
        GdsRun run = convert(checkpoint().toString(), "s3:/" + PREFIX, "--checksums");
        assertThat(run.status()).isEqualTo(5);
        assertThat(run.out()).contains("different: ");
        assertThat(objects).isEmpty();
        assertThat(uploads).isEmpty();
    }

    private GdsRun convert(String source, String target, String... options) {
        String[] arguments = Stream.concat(Stream.of("convert", source, target), Stream.of(options))
                .toArray(String[]::new);
        return gds(server.environment(folder), () -> false, arguments);
    }

    @Test
    void cancelledSaveEndsAtOnceAndLeavesNothing() throws Exception {
        SavePlan plan = plan();
        stalls = true;
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            CompletableFuture<SaveReport> saved = plan.saveAsync(driver);
            partCame.await();
            long begun = System.nanoTime();
            assertThat(saved.cancel(true)).isTrue();
            assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(SECOND);
        }
        assertThat(objects).isEmpty();
        assertThat(uploads).isEmpty();
    }

    /** Parts are read, and listeners called, on threads of the store. */
    @Test
    void listenerMayCancelTheSave() throws InterruptedException {
        SavePlan plan = plan();
        CompletableFuture<CompletableFuture<SaveReport>> started = new CompletableFuture<>();
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            CompletableFuture<SaveReport> saved = plan.saveAsync(driver, new SaveListener() {
                @Override
                public void progress(long bytesDone, long bytesTotal) {
                    started.join().cancel(true);
                }
            });
            started.complete(saved);
            assertThatThrownBy(saved::join).isInstanceOf(CancellationException.class);
            deleted.await();
        }
        assertThat(objects).isEmpty();
        assertThat(uploads).isEmpty();
    }

    /** All objects are there by then, but the save has not ended. */
    @Test
    void saveThatIsCancelledAtItsEndLeavesNothing() throws InterruptedException {
        SavePlan plan = plan();
        CompletableFuture<CompletableFuture<SaveReport>> started = new CompletableFuture<>();
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            CompletableFuture<SaveReport> saved = plan.saveAsync(driver, new SaveListener() {
                @Override
                public void released() {
                    assertThat(objects).isNotEmpty();
                    assertThat(started.join().cancel(true)).isTrue();
                }
            });
            started.complete(saved);
            assertThatThrownBy(saved::join).isInstanceOf(CancellationException.class);
            deleted.await();
        }
        assertThat(objects).isEmpty();
    }

    /** A folder of two checkpoints would be left, and both writers report success. */
    @ParameterizedTest
    @CsvSource({"20000000, model.safetensors", "50000000, model-00001-of-00009.safetensors",
            "50000000, model.safetensors.index.json"})
    void checkpointThatAnotherWriterStoresMeanwhileIsLeftAlone(long shard, String other) {
        SavePlan plan = SavePlan.builder().checkpoint(Checkpoint.open(checkpoint()))
                .options(SaveOptions.DEFAULTS.withMaxShardBytes(shard)).toFolder(target());
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            assertThatThrownBy(() -> plan.save(driver, new SaveListener() {
                @Override
                public void progress(long bytesDone, long bytesTotal) {
                    objects.put(other, new byte[1]);
                }
            })).hasMessageContaining(other).hasMessageContaining("holds a checkpoint already");
        }
        assertThat(objects).containsOnlyKeys(other);
    }

    /** What the server does not delete is named, and the difference is reported all the same. */
    @Test
    void objectsThatDifferAndStayAreNamed() {
        damages = true;
        keeps = true;
        GdsRun run = convert(checkpoint().toString(), "s3:/" + PREFIX, "--checksums");
        assertThat(run.status()).isEqualTo(5);
        assertThat(run.err()).contains("s3:/" + PREFIX + "model.safetensors stays").doesNotContain("index.json");
        assertThat(objects).hasSize(1);
        keeps = false;
        objects.clear();
        assertThat(convert(checkpoint().toString(), "s3:/" + PREFIX, "--checksums").err()).isEmpty();
        assertThat(objects).isEmpty();
    }

    @Test
    void failureOfAListenerIsThrownAndLeavesNothing() {
        IllegalStateException failure = new IllegalStateException("enough");
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            assertThatThrownBy(() -> plan().save(driver, new SaveListener() {
                @Override
                public void progress(long bytesDone, long bytesTotal) {
                    if (bytesDone == bytesTotal) {
                        throw failure;
                    }
                }
            })).isSameAs(failure);
        }
        assertThat(objects).isEmpty();
        assertThat(uploads).isEmpty();
    }

    /** The save sends several objects. The source changes after the first part, so its header no longer describes later bytes. */
    @Test
    void sourceThatChangesMeanwhileIsNotStored() {
        SavePlan plan = SavePlan.builder().checkpoint(Checkpoint.open(checkpoint()))
                .options(SaveOptions.DEFAULTS.withMaxShardBytes(20_000_000)).toFolder(target());
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            assertThatThrownBy(() -> plan.save(driver, new SaveListener() {
                @Override
                public void progress(long bytesDone, long bytesTotal) {
                    try {
                        Files.writeString(folder.resolve("source.safetensors"), "other");
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }
            })).isInstanceOfAny(CheckpointException.class, CuFileException.class);
        }
        assertThat(objects).isEmpty();
        assertThat(uploads).isEmpty();
    }

    /** Each read succeeds, but some may have been of the file as it was before, and others of the file as it is. */
    @Test
    void sourceThatGrowsMeanwhileIsNotStored() {
        Path source = checkpoint();
        SavePlan plan = SavePlan.builder().checkpoint(Checkpoint.open(source))
                .generated("made while it is saved", DType.U8, (name, offset, to) -> {
                    try {
                        Files.write(source, new byte[1], StandardOpenOption.APPEND);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }, 1).toFolder(target());
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            assertThatThrownBy(() -> plan.save(driver)).isInstanceOfSatisfying(
                    CheckpointException.class, e -> assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED));
        }
        assertThat(objects).isEmpty();
        assertThat(uploads).isEmpty();
    }

    @Test
    void savedObjectsAreReportedAndNotReplaced() {
        SavePlan plan = plan();
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            SaveReport report = plan.save(driver);
            assertThat(report.bytes()).isEqualTo(plan.bytes());
            assertThat(report.ioPaths().get(IoPath.USER_SOURCE))
                    .isEqualTo(objects.get("model.safetensors").length);
            assertThatThrownBy(() -> plan.save(driver)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("holds a checkpoint already")
                    .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EEXIST));
        }
        assertThat(objects).hasSize(1);
    }

    /** Ranks meet in a folder that is renamed, which a store does not have. */
    @Test
    void savesOfManyRanksAreOfFilesOnly() {
        assertThatThrownBy(() -> ShardedSave.begin(target())).isInstanceOf(CuFileException.class)
                .hasMessageContaining("files only");
    }
}
