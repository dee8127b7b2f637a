package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every format through {@code gds convert} into many small files, and what was written once more. */
@Tag("slow")
class ConvertFormatsTest {
    /** Metadata that is wrong for other files. */
    private static final List<String> OF_FILES = List.of(
            "DCP_VERSION", "DCP_SHARDING_INFO", "split.no", "split.count", "split.tensors.count", "general.alignment",
            "fortran.fortran_order", "gds4j.crc32c");

    @TempDir
    private Path folder;

    private EveryFormat formats;

    @BeforeEach
    void write() throws IOException {
        formats = EveryFormat.write(Files.createDirectory(folder.resolve("sources")));
    }

    private static JsonNode load(Path path, String... options) {
        String[] arguments = Stream.concat(
                Stream.of("load", path.toString(), "-t", "host", "--digest", "--verify", "--json"),
                Stream.of(options)).toArray(String[]::new);
        GdsRun run = gds(arguments);
        assertThat(run.status()).as("%s: %s", path, run.err()).isZero();
        return run.json();
    }

    /** Returns the digests of tensors whose bytes are in row-major order; the others have other bytes after a conversion. */
    private static Map<String, String> rowMajor(JsonNode loaded, boolean others) {
        Map<String, String> digests = new HashMap<>();
        for (JsonNode tensor : loaded.get("tensorList")) {
            boolean rowMajor = !tensor.has("order");
            if (rowMajor != others) {
                digests.put(tensor.get("name").asText(), tensor.get("sha256").asText());
            }
        }
        return digests;
    }

    /** Returns values in a form that can be compared; elements of arrays, too. */
    private static Map<String, Object> values(Metadata metadata) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (String key : metadata.keys()) {
            if (!OF_FILES.contains(key) && !key.startsWith("gds4j.type.")) {
                values.put(key, value(metadata.get(key).orElseThrow()));
            }
        }
        values.remove("format", new MetadataValue.Text("pt"));
        return values;
    }

    private static Object value(MetadataValue value) {
        return value instanceof MetadataValue.Array array
                ? Map.of(array.elementType(), array.values(0, (int) array.size()))
                : value;
    }

    /** Returns the digests of all tensors that were written. */
    private Map<String, String> assertConverts(String name, Path destination, String... options) {
        Path source = formats.folder().resolve(name);
        String[] arguments = Stream.concat(
                Stream.of("convert", source.toString(), destination.toString(), "--json", "--checksums"),
                Stream.of(options)).toArray(String[]::new);
        GdsRun run = gds(arguments);
        assertThat(run.status()).as("%s: %s", name, run.err()).isZero();
        JsonNode before = load(source);
        JsonNode after = load(destination);
        assertThat(after.get("tensors")).as(name).isEqualTo(before.get("tensors"));
        Map<String, String> written = Map.copyOf(GdsRun.digests(after));
        Map<String, String> digests = new HashMap<>(written);
        assertThat(rowMajor(after, false)).as(name).isEqualTo(digests).isNotEmpty();
        assertThat(digests.keySet()).as(name).isEqualTo(GdsRun.digests(before).keySet());
        Map<String, String> moved = rowMajor(before, true);
        digests.keySet().removeAll(moved.keySet());
        assertThat(digests).as(name).isEqualTo(rowMajor(before, false));
        Metadata metadata = Checkpoint.open(destination).typedMetadata();
        assertThat(values(metadata)).as(name).isEqualTo(values(Checkpoint.open(source).typedMetadata()));
        assertThat(metadata.keys()).as(name).doesNotContainAnyElementsOf(OF_FILES.subList(0, OF_FILES.size() - 1));
        for (JsonNode tensor : before.get("tensorList")) {
            boolean known = !metadata.keys().contains("gds4j.type." + tensor.get("name").asText());
            assertThat(after.get("tensorList")).as(name).anySatisfy(copy -> {
                assertThat(copy.get("name")).isEqualTo(tensor.get("name"));
                assertThat(copy.get("bytes")).isEqualTo(tensor.get("bytes"));
                if (known) {
                    assertThat(copy.get("shape")).isEqualTo(tensor.get("shape"));
                    assertThat(copy.get("dtype")).isEqualTo(tensor.get("dtype"));
                }
            });
        }
        return written;
    }

    @Test
    void everyFormatLoadsAlikeAfterAConversionToManyFiles() {
        for (String name : Stream.concat(EveryFormat.FILES.stream(), EveryFormat.FOLDERS.stream()).toList()) {
            Path written = folder.resolve("out").resolve(name.replace('/', '-'));
            Map<String, String> digests = assertConverts(name, written, "--max-shard", "40");
            // what was written is a checkpoint like others
            Path again = folder.resolve("again").resolve(written.getFileName());
            GdsRun run = gds("convert", written.toString(), again.toString(), "--max-shard", "60");
            assertThat(run.status()).as(name).isZero();
            assertThat(GdsRun.digests(load(again))).as(name).isEqualTo(digests);
            assertThat(values(Checkpoint.open(again).typedMetadata())).as(name)
                    .isEqualTo(values(Checkpoint.open(written).typedMetadata()));
        }
    }
}
