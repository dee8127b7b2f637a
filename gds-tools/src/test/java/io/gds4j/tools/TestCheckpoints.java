package io.gds4j.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;

/** Creates checkpoints for tests, and reads them without code of the loader. */
final class TestCheckpoints {
    static final String UNICODE = "größe.重み";

    /** Files that torch and NumPy wrote. */
    static final Path LIBRARIES = Path.of("../gds-loader/src/test/resources/io/gds4j/loader/libraries");

    private TestCheckpoints() {
    }

    /** Returns the digests that torch or NumPy computed for a file below {@link #LIBRARIES}, by the names of the tensors. */
    static Map<String, String> libraryDigests(String file) throws IOException {
        return Files.readAllLines(LIBRARIES.resolve("expected.txt")).stream()
                .map(line -> line.split("; "))
                .filter(fields -> fields[0].equals(file) && fields.length == 5)
                .collect(Collectors.toMap(fields -> fields[1], fields -> fields[4]));
    }

    /** Writes a list of one extent and its data. */
    static Path extents(Path folder) throws IOException {
        byte[] data = new byte[100];
        new Random(1).nextBytes(data);
        Files.write(folder.resolve("data.raw"), data);
        return Files.writeString(folder.resolve("list.json"), """
                {"schema": "gds4j.extents/1", "extents": [
                  {"name": "x", "file": "data.raw", "offset": 10, "bytes": 24, "dtype": "F32", "shape": [2, 3]}]}
                """);
    }

    /** Writes tensors of odd sizes after a header of odd size, so that almost none is aligned. */
    static Path odd(Path file) {
        TensorPattern content = new TensorPattern(1);
        SavePlan.builder()
                .options(SaveOptions.DEFAULTS.withAlign(8))
                .generated("model.embed.weight", DType.BF16, content, 1000, 37)
                .generated("model.layers.0.weight", DType.F32, content, 513, 129)
                .generated("model.layers.1.weight", DType.U8, content, 4097)
                .generated("model.layers.10.weight", DType.F8_E4M3, content, 3, 5, 7)
                .generated("scalar", DType.F64, content)
                .generated("empty", DType.I64, content, 0, 8)
                .generated(UNICODE, DType.I8, content, 11)
                .toFile(file)
                .save();
        try {
            insertSpace(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return file;
    }

    /** Inserts a space behind the header. */
    private static void insertSpace(Path file) throws IOException {
        byte[] old = Files.readAllBytes(file);
        ByteBuffer header = ByteBuffer.wrap(old).order(ByteOrder.LITTLE_ENDIAN);
        int length = Math.toIntExact(header.getLong());
        ByteBuffer longer = ByteBuffer.allocate(old.length + 1).order(ByteOrder.LITTLE_ENDIAN);
        longer.putLong(length + 1).put(old, Long.BYTES, length).put((byte) ' ')
                .put(header.position(Long.BYTES + length));
        Files.write(file, longer.array());
    }

    /** Writes two shards and their index. The data of the second begin at an odd byte. */
    static Path sharded(Path folder) throws IOException {
        Files.createDirectories(folder);
        for (int shard = 1; shard <= 2; shard++) {
            SavePlan.builder()
                    .options(SaveOptions.DEFAULTS.withAlign(8))
                    .generated("layer." + shard + ".up", DType.BF16, new TensorPattern(shard), 257, 63)
                    .generated("layer." + shard + ".down", DType.BF16, new TensorPattern(shard), 63, 257)
                    .toFile(folder.resolve(shard(shard)))
                    .save();
        }
        insertSpace(folder.resolve(shard(2)));
        Files.writeString(
                folder.resolve("model.safetensors.index.json"),
                """
                        {"metadata": {"total_size": %d}, "weight_map": {
                          "layer.1.up": "%s", "layer.1.down": "%s", "layer.2.up": "%s", "layer.2.down": "%s"}}
                        """.formatted(4L * 257 * 63 * 2, shard(1), shard(1), shard(2), shard(2)));
        return folder;
    }

    private static String shard(int number) {
        return "model-0000%d-of-00002.safetensors".formatted(number);
    }

    /**
     * Writes a GGUF file with metadata of several types, a Q4_0 tensor of two rows and an F32 tensor.
     *
     * @return digests of the tensors by name
     */
    static Map<String, String> gguf(Path file) throws IOException {
        return gguf(file, 0, 1);
    }

    /** Writes a set of two GGUF files, each as {@link #gguf(Path)} writes them. */
    static void ggufSet(Path folder) throws IOException {
        for (int part = 0; part < 2; part++) {
            gguf(folder.resolve("model-0000%d-of-00002.gguf".formatted(part + 1)), part, 2);
        }
    }

    private static Map<String, String> gguf(Path file, int part, int parts) throws IOException {
        ByteBuffer out = ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);
        out.put("GGUF".getBytes(StandardCharsets.US_ASCII)).putInt(3).putLong(2).putLong(parts == 1 ? 6 : 9);
        if (parts > 1) {
            text(out, "split.no").putInt(2).putShort((short) part);
            text(out, "split.count").putInt(2).putShort((short) parts);
            text(out, "split.tensors.count").putInt(5).putInt(2 * parts);
        }
        text(text(out, "general.architecture").putInt(8), "llama");
        text(out, "llama.rope.freq_base").putInt(6).putFloat(1e-6f);
        text(out, "general.big").putInt(10).putLong(-1);
        text(out, "general.nan").putInt(12).putDouble(Double.NaN);
        text(out, "general.flag").putInt(7).put((byte) 1);
        text(out, "tokenizer.ggml.tokens").putInt(9).putInt(8).putLong(20);
        for (int i = 0; i < 20; i++) {
            text(out, "token" + i);
        }
        String prefix = part == 0 ? "" : part + ".";
        String embedding = prefix + "token_embd.weight";
        String norm = prefix + "output_norm.weight";
        text(out, embedding).putInt(2).putLong(32).putLong(2).putInt(2).putLong(0);
        text(out, norm).putInt(1).putLong(5).putInt(0).putLong(64);
        int data = out.position() + 31 & -32;
        int end = data + 64 + 20;
        for (int i = data; i < end; i++) {
            out.put(i, (byte) (7 * i + part));
        }
        byte[] bytes = Arrays.copyOf(out.array(), end);
        Files.write(file, bytes);
        return Map.of(embedding, sha256(bytes, data, 36), norm, sha256(bytes, data + 64, 20));
    }

    private static ByteBuffer text(ByteBuffer out, String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        return out.putLong(utf8.length).put(utf8);
    }

    /** Returns the SHA-256 of each tensor's byte range in the file, as {@code sha256sum} would. */
    static Map<String, String> digests(Path file) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        int headerLength =
                Math.toIntExact(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getLong());
        JsonNode header = new ObjectMapper().readTree(bytes, Long.BYTES, headerLength);
        Map<String, String> digests = new LinkedHashMap<>();
        header.properties().forEach(entry -> {
            JsonNode offsets = entry.getValue().get("data_offsets");
            if (offsets != null) {
                int begin = Long.BYTES + headerLength + offsets.get(0).asInt();
                int length = offsets.get(1).asInt() - offsets.get(0).asInt();
                digests.put(entry.getKey(), sha256(bytes, begin, length));
            }
        });
        return digests;
    }

    private static String sha256(byte[] bytes, int begin, int length) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(bytes, begin, length);
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }
}
