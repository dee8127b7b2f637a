package io.gds4j.loader;

import static io.gds4j.loader.GgufBytes.ARRAY;
import static io.gds4j.loader.GgufBytes.BOOL;
import static io.gds4j.loader.GgufBytes.FLOAT32;
import static io.gds4j.loader.GgufBytes.STRING;
import static io.gds4j.loader.GgufBytes.UINT16;
import static io.gds4j.loader.GgufBytes.UINT64;

import io.gds4j.loader.format.gguf.GgufFormat;
import io.gds4j.loader.format.safetensors.SafetensorsFormat;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Mutated files of each format open or are refused; see {@link FormatFuzz}. */
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
}
