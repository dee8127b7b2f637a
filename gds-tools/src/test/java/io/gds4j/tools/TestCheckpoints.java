package io.gds4j.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.gds4j.loader.HeaderPadding;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/** Creates checkpoints for tests, and reads them without code of the loader. */
final class TestCheckpoints {
    static final String UNICODE = "größe.重み";

    private TestCheckpoints() {
    }

    /** Writes tensors of odd sizes after a header of odd size, so that almost none is aligned. */
    static Path odd(Path file) {
        new SafetensorsWriter(file)
                .padding(HeaderPadding.ODD)
                .tensor("model.embed.weight", DType.BF16, 1000, 37)
                .tensor("model.layers.0.weight", DType.F32, 513, 129)
                .tensor("model.layers.1.weight", DType.U8, 4097)
                .tensor("model.layers.10.weight", DType.F8_E4M3, 3, 5, 7)
                .tensor("scalar", DType.F64)
                .tensor("empty", DType.I64, 0, 8)
                .tensor(UNICODE, DType.I8, 11)
                .write(new TensorPattern(1));
        return file;
    }

    /** Writes two shards and their index. */
    static Path sharded(Path folder) throws IOException {
        Files.createDirectories(folder);
        for (int shard = 1; shard <= 2; shard++) {
            new SafetensorsWriter(folder.resolve(shard(shard)))
                    .padding(shard == 1 ? HeaderPadding.EIGHT : HeaderPadding.NONE)
                    .tensor("layer." + shard + ".up", DType.BF16, 257, 63)
                    .tensor("layer." + shard + ".down", DType.BF16, 63, 257)
                    .write(new TensorPattern(shard));
        }
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
