package io.gds4j.loader.internal;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.text.InertText;
import io.gds4j.loader.internal.text.StrictJson;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;

/** Builds the header of a safetensors file: compact JSON, {@code __metadata__} first, then the tensors as they are added. */
public final class SafetensorsText {
    /** The key that no tensor may have. */
    public static final String METADATA = "__metadata__";
    /** Key in {@code __metadata__} of the checksums: 8 hexadecimal digits for each tensor with bytes, in the order of the data. */
    public static final String CHECKSUMS = "gds4j.crc32c";
    /** Key of where the slices of a file of {@code torch.distributed.checkpoint} begin. */
    public static final String SHARDING = "DCP_SHARDING_INFO";
    /** Beginning of the metadata key of a tensor whose bytes are those of another one, which is the value. */
    public static final String ALIAS = "gds4j.alias.";
    /** Characters of a tensor's name: those of real models have some hundred, and work on names may be quadratic in their length. */
    public static final int MAX_NAME = 4096;
    /** As PyTorch allows; the reference has no limit. */
    public static final int MAX_DIMENSIONS = 64;
    /** Largest header in bytes that readers accept. */
    public static final int MAX_HEADER = 100_000_000;

    private static final int BYTES_PER_TENSOR = 100;

    private final StringBuilder text;
    private final String function;

    /**
     * @param function public function for messages
     * @param tensors expected number of tensors
     * @param metadata entries of {@code __metadata__}, which is left out if there are none
     */
    public SafetensorsText(String function, int tensors, Map<String, String> metadata) {
        this.function = function;
        this.text = new StringBuilder((int) Math.min(MAX_HEADER, 64L + (long) BYTES_PER_TENSOR * tensors));
        text.append('{');
        if (!metadata.isEmpty()) {
            quote(METADATA).append(":{");
            metadata.forEach((key, value) -> {
                quote(key).append(':');
                quote(value).append(',');
            });
            text.setCharAt(text.length() - 1, '}');
            text.append(',');
        }
    }

    /**
     * Adds a tensor.
     *
     * @param begin offset of its first byte in the data
     * @param end offset after its last byte
     * @throws CuFileException INVALID_VALUE for what {@code Checkpoint.open} refuses
     */
    public void add(String name, String dtype, long[] shape, long begin, long end) {
        if (name.length() > MAX_NAME || shape.length > MAX_DIMENSIONS) {
            throw CuFileException.invalid(function,
                    "tensor %s has %s characters in its name and %s dimensions; allowed are %s and %s"
                            .formatted(InertText.quote(name), name.length(), shape.length, MAX_NAME, MAX_DIMENSIONS));
        }
        quote(name).append(":{\"dtype\":\"").append(dtype).append("\",\"shape\":[");
        for (int i = 0; i < shape.length; i++) {
            text.append(i == 0 ? "" : ",").append(Long.toUnsignedString(shape[i]));
        }
        text.append("],\"data_offsets\":[").append(begin).append(',').append(end).append("]},");
        if (text.length() > MAX_HEADER) {
            throw tooLarge(text.length());
        }
    }

    /** Ends the JSON text and returns it in UTF-8. Nothing may be added afterwards. */
    public byte[] json() {
        if (text.length() > 1) {
            text.setLength(text.length() - 1);
        }
        return text.append('}').toString().getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Returns the first bytes of a file: the length, the JSON text, and spaces.
     *
     * @param spaces number of spaces after the text
     * @throws CuFileException INVALID_VALUE for a header that readers do not accept
     */
    public byte[] header(byte[] json, int spaces) {
        long length = (long) json.length + spaces;
        if (length > MAX_HEADER) {
            throw tooLarge(length);
        }
        byte[] header = new byte[Long.BYTES + (int) length];
        Arrays.fill(header, (byte) ' ');
        ByteBuffer.wrap(header)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(length)
                .put(json);
        return header;
    }

    private CuFileException tooLarge(long length) {
        return CuFileException.invalid(function,
                "the header has %s bytes, at most %s are allowed".formatted(length, MAX_HEADER));
    }

    /** Throws INVALID_VALUE for an unpaired surrogate, which UTF-8 cannot encode. */
    public static void requireEncodable(String function, String value) {
        if (!StandardCharsets.UTF_8.newEncoder().canEncode(value)) {
            throw CuFileException.invalid(function,
                    "%s contains an unpaired surrogate".formatted(InertText.quote(value)));
        }
    }

    private StringBuilder quote(String value) {
        return StrictJson.quote(text, value);
    }
}
