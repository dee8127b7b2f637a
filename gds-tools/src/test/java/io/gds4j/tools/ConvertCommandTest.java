package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.loader.save.ChecksumVerifier;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("slow")
class ConvertCommandTest {
    private static final List<String> FIELDS = List.of(
            "schema", "path", "destination", "format", "files", "tensors", "bytes", "seconds", "driverOpenSeconds",
            "bytesPerSecond", "alignedTensors", "backend", "ioPaths", "bytesAsked",
            "whyNotDirect", "warnings");

    @TempDir
    private Path folder;

    private Path source;
    private Path destination;

    @BeforeEach
    void make() {
        source = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        destination = folder.resolve("new/folder");
    }

    private static List<String> names(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    private JsonNode convert(String... options) {
        String[] arguments = Stream.concat(
                Stream.of("convert", source.toString(), destination.toString(), "--json"), Stream.of(options))
                .toArray(String[]::new);
        GdsRun run = gds(arguments);
        assertThat(run.status()).as(run.err()).isZero();
        return run.json();
    }

    @Test
    void jsonHasEveryFieldAndTheFileIsAligned() throws IOException {
        JsonNode json = convert();
        assertThat(json.fieldNames()).toIterable().containsExactlyElementsOf(FIELDS);
        assertThat(json.get("files").asInt()).isEqualTo(1);
        assertThat(json.get("tensors").asInt()).isEqualTo(7);
        assertThat(json.get("alignedTensors").asInt()).isPositive();
        assertThat(json.get("seconds").asDouble()).isPositive();
        assertThat(names(destination)).containsExactly("model.safetensors");
        assertThat(TestCheckpoints.digests(destination.resolve("model.safetensors")))
                .isEqualTo(TestCheckpoints.digests(source));
    }

    /** numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)) of NumPy itself. */
    @Test
    void arrayInFortranOrderIsTransposed() throws IOException {
        source = TestCheckpoints.LIBRARIES.resolve("fortran.npy");
        convert("--checksums");
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(destination.resolve("model.safetensors")))
                .order(ByteOrder.LITTLE_ENDIAN);
        double[] values = new double[6];
        file.slice(8 + (int) file.getLong(0), 48).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer().get(values);
        assertThat(values).containsExactly(0, 1, 2, 3, 4, 5);
    }

    @Test
    void shardsReplaceOneFileAndKeepOtherFiles() throws IOException {
        convert();
        Files.writeString(destination.resolve("config.json"), "{}");
        JsonNode json = convert("--max-shard", "100K", "--align", "8");
        assertThat(json.get("files").asInt()).isEqualTo(2);
        assertThat(names(destination)).containsExactly(
                "config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                "model.safetensors.index.json");
        GdsRun loaded = gds("load", destination.toString(), "-t", "host", "--verify", "--json");
        assertThat(loaded.json().get("tensors").asInt()).isEqualTo(7);
        assertThat(loaded.json().get("verified").asBoolean()).isTrue();
    }

    @Test
    void checksumsAreWrittenAndComparedWithTheDisk() {
        JsonNode json = convert("--checksums");
        assertThat(json.get("verified").asBoolean()).isTrue();
        assertThat(ChecksumVerifier.verify(destination).verified()).isTrue();
        GdsRun run = gds("convert", source.toString(), destination.toString(), "--checksums", "--max-shard", "100K");
        assertThat(run.status()).isZero();
        assertThat(run.out()).contains("read back, checksums equal");
    }

    @Test
    void namesThatOtherReadersWillNotSeeAreNotedOrWritten() throws IOException {
        Files.write(folder.resolve("d.bin"), new byte[8]);
        source = Files.writeString(folder.resolve("tied.extents.json"), """
                {"schema": "gds4j.extents/1", "extents": [
                  {"name": "emb", "file": "d.bin", "offset": 0, "bytes": 8, "dtype": "U8", "shape": [8]},
                  {"name": "head", "file": "d.bin", "offset": 0, "bytes": 8, "dtype": "U8", "shape": [8]}]}""");
        GdsRun once = gds("convert", source.toString(), destination.toString(), "--no-progress");
        assertThat(once.err()).contains("other readers will not see 'head'", "--all-names");
        assertThat(once.out()).contains("2 tensors");
        GdsRun all = gds("convert", source.toString(), destination.toString(), "--no-progress", "--all-names");
        assertThat(all.err()).doesNotContain("head");
        assertThat(Files.readString(destination.resolve("model.safetensors"), StandardCharsets.ISO_8859_1))
                .contains("\"emb\"", "\"head\"").doesNotContain("alias");
    }

    @Test
    void tensorsOfTheSameBytesAreWrittenOnce() throws IOException {
        StringBuilder list = new StringBuilder("{\"schema\": \"gds4j.extents/1\", \"extents\": [");
        for (int i = 0; i < 300; i++) {
            list.append(i == 0 ? "" : ",").append("""
                    {"name": "t%d", "file": "d.bin", "offset": %d, "bytes": 10000, "dtype": "U8", "shape": [10000]}"""
                    .formatted(i, i % 3));
        }
        byte[] data = new byte[10_002];
        new Random(1).nextBytes(data);
        Files.write(folder.resolve("d.bin"), data);
        source = Files.writeString(folder.resolve("same.extents.json"), list.append("]}"));
        JsonNode json = convert("--checksums");
        assertThat(json.get("tensors").asInt()).isEqualTo(300);
        assertThat(json.get("alignedTensors").asInt()).isLessThanOrEqualTo(3);
        assertThat(json.get("verified").asBoolean()).isTrue();
        assertThat(Files.size(destination.resolve("model.safetensors"))).isLessThan(60_000);
        Map<String, String> digests = GdsRun.digests(gds("load", source.toString(), "-t", "host", "--digest", "--json")
                .json());
        for (String shards : List.of("1G", "10K")) {
            convert("--checksums", "--max-shard", shards);
            JsonNode loaded =
                    gds("load", destination.toString(), "-t", "host", "--verify", "--digest", "--json").json();
            assertThat(GdsRun.digests(loaded)).hasSize(300).isEqualTo(digests);
            assertThat(loaded.get("verified").asBoolean()).isTrue();
            assertThat(ChecksumVerifier.verify(destination).unchecked()).isEmpty();
        }
        source = destination;
        destination = folder.resolve("again");
        assertThat(convert("--checksums").get("tensors").asInt()).isEqualTo(300);
        assertThat(GdsRun.digests(gds("load", destination.toString(), "-t", "host", "--digest", "--json").json()))
                .isEqualTo(digests);
    }

    @Test
    void textNamesSourceAndDestination() {
        GdsRun run = gds("convert", source.toString(), destination.toString());
        assertThat(run.status()).isZero();
        assertThat(run.out()).contains(source.toString()).contains(destination.toString()).contains("7 at a multiple");
    }

    @ParameterizedTest
    @CsvSource({"--align 100, 2, power of two", "--max-shard 0, 2, shard", "--gpu 7, 4, gpu:7"})
    void badOptionsAreOneLine(String option, int status, String message) {
        String[] words = option.split(" ");
        GdsRun run = gds("convert", source.toString(), destination.toString(), words[0], words[1]);
        assertThat(run.status()).isEqualTo(status);
        assertThat(run.err().lines()).singleElement().asString().contains(message);
        assertThat(destination).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(strings = {"nowhere", "link"})
    void linkThatLeadsNowhereIsNoFolder(String to) throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("link"), Path.of(to));

        GdsRun run = gds("convert", source.toString(), link.toString());

        assertThat(run.status()).as(run.err()).isEqualTo(3);
        assertThat(run.err().lines()).singleElement().asString().endsWith("/link: not a folder");
    }

    /** Makes the source a tensor of 100 MB that takes no space. */
    private void writeHole() throws IOException {
        byte[] header = "{\"a\":{\"dtype\":\"U8\",\"shape\":[100000000],\"data_offsets\":[0,100000000]}}"
                .getBytes(StandardCharsets.US_ASCII);
        try (RandomAccessFile file = new RandomAccessFile(source.toFile(), "rw")) {
            file.writeLong(Long.reverseBytes(header.length));
            file.write(header);
            file.setLength(Long.BYTES + header.length + 100_000_000);
        }
    }

    /** Each thread that reads the source fails. */
    @Test
    @Timeout(60)
    void sourceThatShrinksIsOneLine() throws Exception {
        GdsRun run;
        do {
            writeHole();
            AtomicBoolean done = new AtomicBoolean();
            Thread shrinks = Thread.ofPlatform().start(() -> {
                String[] files = null;
                while (!done.get() && (files == null || files.length == 0)) {
                    files = destination.toFile().list((unused, name) -> name.endsWith(".safetensors"));
                }
                try (FileChannel channel = FileChannel.open(source, StandardOpenOption.WRITE)) {
                    channel.truncate(10_000_000);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            run = gds("convert", source.toString(), destination.toString());
            done.set(true);
            shrinks.join();
            Files.deleteIfExists(destination.resolve("model.safetensors"));
        } while (run.status() == 0);
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.err().lines()).singleElement().asString().contains("file changed");
        assertThat(destination).doesNotExist();
    }

    @Test
    void missingSourceAndFileAsDestinationAreBadInput() {
        assertThat(gds("convert", folder.resolve("none").toString(), destination.toString()).status()).isEqualTo(3);
        GdsRun run = gds("convert", source.toString(), source.toString());
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.err().lines()).singleElement().asString().contains("not a folder");
    }
}
