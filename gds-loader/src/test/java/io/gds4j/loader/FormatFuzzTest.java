package io.gds4j.loader;

import static io.gds4j.loader.GgufBytes.ARRAY;
import static io.gds4j.loader.GgufBytes.BOOL;
import static io.gds4j.loader.GgufBytes.FLOAT32;
import static io.gds4j.loader.GgufBytes.STRING;
import static io.gds4j.loader.GgufBytes.UINT16;
import static io.gds4j.loader.GgufBytes.UINT64;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.format.gguf.GgufFormat;
import io.gds4j.loader.format.safetensors.SafetensorsFormat;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Mutated files of each format and of each library open or are refused; see {@link FormatFuzz}. */
class FormatFuzzTest {
    @TempDir
    Path folder;

    @Test
    void mutatedGgufFilesOpenOrAreRefused() throws Exception {
        GgufBytes n = new GgufBytes();
        GgufBytes model = new GgufBytes().key("general.architecture", "llama").alignment(64)
                .key("tokens", ARRAY, n.array(STRING, 3, n.text("a"), n.text(""), n.text("token")))
                .key("scores", ARRAY, n.array(FLOAT32, 3, new byte[12]))
                .key("rows", ARRAY, n.array(ARRAY, 2, n.array(STRING, 1, n.text("r")), n.array(FLOAT32, 0)))
                .key("flags", ARRAY, n.array(BOOL, 2, new byte[]{0, 1}))
                .key("size", UINT64, n.number(8, 7)).key("text", "x".repeat(1100))
                .tensor("token_embd.weight", 12, 2 * 144, 256, 2).tensor("norm", 0, 40, 10).tensor("scale", 0, 4)
                .tensor("none", 2, 0, 32, 0).tensor("q", 2, 36, 32, 2);
        GgufBytes part = new GgufBytes().key("split.no", UINT16, n.number(2, 0))
                .key("split.count", UINT16, n.number(2, 1)).version(2).tensor("a", 24, 5, 5);
        FormatFuzz.run(new GgufFormat(), folder, List.of(model.file(), part.file(), new GgufBytes().file()));
    }

    @Test
    void mutatedSafetensorsFilesOpenOrAreRefused() throws Exception {
        byte[] model = HeaderText.file(
                "{\"__metadata__\":{\"format\":\"pt\",\"a\\u00e9\":\"\\n\"},"
                        + "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                        + "\"x\":{\"data_offsets\":[24,25],\"dtype\":\"F4\",\"shape\":[2],\"more\":[{},null,1e3]},"
                        + "\"e\":{\"dtype\":\"U8\",\"shape\":[0,18446744073709551615],\"data_offsets\":[25,25]}}  ",
                25);
        FormatFuzz.run(new SafetensorsFormat(), folder, List.of(model, HeaderText.file("{}", 0)));
    }

    @Test
    void mutatedFilesOfLibrariesOpenOrAreRefused() throws Exception {
        List<byte[]> seeds = new ArrayList<>();
        try (Stream<Path> files = Files.walk(Path.of("src/test/resources/io/gds4j/loader"))) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                if (Files.size(file) < 8192) {
                    seeds.add(Files.readAllBytes(file));
                }
            }
        }
        assertThat(seeds).hasSizeGreaterThan(30);
        Path file = folder.resolve("fuzz");
        FormatFuzz.runRecognised(file, file, seeds);
        // an index that leads to whole shards, and a shard beside others
        Path shards = Files.createDirectory(folder.resolve("shards"));
        Path library = Path.of("src/test/resources/io/gds4j/loader/libraries/transformers");
        for (int part = 1; part <= 3; part++) {
            String name = "model-0000%d-of-00003.safetensors".formatted(part);
            Files.copy(library.resolve(name), shards.resolve(name));
        }
        Path index = shards.resolve("model.safetensors.index.json");
        byte[] text = Files.readAllBytes(library.resolve(index.getFileName()));
        FormatFuzz.runRecognised(index, shards, List.of(text));
        Path shard = shards.resolve("model-00002-of-00003.safetensors");
        byte[] whole = Files.readAllBytes(shard);
        Files.write(index, text);
        FormatFuzz.runRecognised(shard, index, List.of(whole));
    }
}
