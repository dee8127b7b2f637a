package io.gds4j.loader.save;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Builds {@code model.safetensors.index.json} as transformers writes it: sorted keys, two spaces, ASCII, a newline at the end. */
final class IndexText {
    private static final char LAST_ASCII = '~';

    private IndexText() {
    }

    /** @param names name of each file */
    static byte[] of(List<SaveFile> files, List<String> names) {
        Map<String, String> fileOf = new HashMap<>();
        long bytes = 0;
        for (int i = 0; i < files.size(); i++) {
            for (SaveTensor tensor : files.get(i).tensors()) {
                fileOf.put(tensor.name(), names.get(i));
                bytes += tensor.bytes();
            }
        }
        return of(fileOf, bytes);
    }

    /**
     * @param files name of the file for each tensor
     * @param bytes bytes of all tensors
     */
    static byte[] of(Map<String, String> files, long bytes) {
        Map<String, String> fileOf = new TreeMap<>(
                (a, b) -> Arrays.compareUnsigned(
                        a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8)));
        fileOf.putAll(files);
        StringBuilder text = new StringBuilder();
        text.append("{\n  \"metadata\": {\n    \"total_size\": ").append(bytes).append("\n  },\n  \"weight_map\": {");
        String separator = "\n    ";
        for (Map.Entry<String, String> entry : fileOf.entrySet()) {
            text.append(separator);
            quote(entry.getKey(), text);
            text.append(": ");
            quote(entry.getValue(), text);
            separator = ",\n    ";
        }
        return text.append("\n  }\n}\n").toString().getBytes(StandardCharsets.US_ASCII);
    }

    private static void quote(String value, StringBuilder text) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            switch (c) {
                case '"', '\\' -> text.append('\\').append(c);
                case '\n' -> text.append("\\n");
                case '\r' -> text.append("\\r");
                case '\t' -> text.append("\\t");
                case '\b' -> text.append("\\b");
                case '\f' -> text.append("\\f");
                default -> {
                    if (c < ' ' || c > LAST_ASCII) {
                        text.append("\\u%04x".formatted((int) c));
                    } else {
                        text.append(c);
                    }
                }
            }
        }
        text.append('"');
    }
}
