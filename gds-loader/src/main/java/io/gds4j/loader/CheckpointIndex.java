package io.gds4j.loader;

import io.gds4j.loader.StrictJson.Malformed;
import io.gds4j.loader.StrictJson.Token;
import java.math.BigDecimal;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The content of {@code model.safetensors.index.json}: which tensor is in which file. */
final class CheckpointIndex {
    private static final int LONGEST_NUMBER = 40;

    private final Path path;
    private final Map<String, String> fileOf = new LinkedHashMap<>();
    /** {@code total_size} as written, or null. */
    private @Nullable String totalSize;

    private CheckpointIndex(Path path) {
        this.path = path;
    }

    /** Reads and parses an index. */
    static CheckpointIndex read(Path path) {
        return parse(path, HeaderFile.readIndex(path));
    }

    private static CheckpointIndex parse(Path path, byte[] json) {
        int bad = StrictJson.checkUtf8(json);
        if (bad >= 0) {
            throw CheckpointException.of(
                    CheckpointRule.INVALID_INDEX, path, bad, null, 0, "the index is not UTF-8");
        }
        CheckpointIndex index = new CheckpointIndex(path);
        try {
            index.parse(new StrictJson(json));
        } catch (Malformed e) {
            throw CheckpointException.of(CheckpointRule.INVALID_INDEX, path, e.offset(), null, 0, e.detail());
        }
        return index;
    }

    private void parse(StrictJson in) throws Malformed {
        in.expect(Token.START_OBJECT, "an index", "one JSON object");
        boolean metadataSeen = false;
        boolean mapSeen = false;
        while (in.next() == Token.NAME) {
            String field = in.text();
            switch (field) {
                case "weight_map" -> {
                    if (mapSeen) {
                        throw in.here("weight_map occurs twice");
                    }
                    mapSeen = true;
                    weightMap(in);
                }
                case "metadata" -> {
                    if (metadataSeen) {
                        throw in.here("metadata occurs twice");
                    }
                    metadataSeen = true;
                    metadata(in);
                }
                default -> {
                    in.next();
                    in.skip();
                }
            }
        }
        in.end();
        if (!mapSeen) {
            throw new Malformed(0, "weight_map is missing");
        }
    }

    private void metadata(StrictJson in) throws Malformed {
        if (in.next() != Token.START_OBJECT) {
            in.skip();
            return;
        }
        while (in.next() == Token.NAME) {
            boolean total = in.text().equals("total_size");
            if (in.next() == Token.NUMBER && total) {
                totalSize = in.text();
            } else {
                in.skip();
            }
        }
    }

    private void weightMap(StrictJson in) throws Malformed {
        in.expect(Token.START_OBJECT, "weight_map", "an object");
        while (in.next() == Token.NAME) {
            String tensor = in.text();
            String file = in.string("the file of a tensor in weight_map");
            if (!isPlainName(file)) {
                throw CheckpointException.of(
                        CheckpointRule.INDEX_FILE_NAME,
                        path,
                        in.mark(),
                        tensor,
                        0,
                        "the file of tensor %s is %s; only file names in the index's own folder are allowed"
                                .formatted(CheckpointException.quote(tensor), CheckpointException.quote(file)));
            }
            if (fileOf.putIfAbsent(tensor, file) != null) {
                throw in.here("tensor %s occurs twice in weight_map".formatted(CheckpointException.quote(tensor)));
            }
        }
    }

    private static boolean isPlainName(String file) {
        return !file.isEmpty()
                && !file.equals(".")
                && !file.equals("..")
                && file.indexOf('/') < 0
                && file.indexOf('\\') < 0
                && file.indexOf('\0') < 0;
    }

    /** Returns the names of the files in the order of their first occurrence. */
    Set<String> fileNames() {
        return new LinkedHashSet<>(fileOf.values());
    }

    /**
     * Compares {@code total_size} with the tensors. Writers disagree on what it counts and how to write it, and loading does
     * not need it: a wrong value is only a warning.
     */
    List<String> warnings(List<CheckpointFile> files) {
        long bytes = 0;
        for (CheckpointFile file : files) {
            for (TensorInfo tensor : file.tensors()) {
                bytes += tensor.length();
            }
        }
        if (totalSize == null || isNumber(totalSize, bytes)) {
            return List.of();
        }
        return List.of("%s: total_size is %s, but the tensors have %d bytes"
                .formatted(path, CheckpointException.oneLine(totalSize, LONGEST_NUMBER), bytes));
    }

    private static boolean isNumber(String text, long value) {
        if (text.equals(Long.toString(value))) {
            return true;
        }
        try {
            // the limit keeps a hostile number of many digits from taking quadratic time
            return text.length() <= LONGEST_NUMBER && new BigDecimal(text).compareTo(BigDecimal.valueOf(value)) == 0;
        } catch (NumberFormatException e) {
            return false; // an exponent beyond 32 bits
        }
    }

    /** Checks that files and map agree in both directions. */
    void check(List<CheckpointFile> files) {
        Map<String, TensorInfo> found = new HashMap<>();
        for (CheckpointFile file : files) {
            for (TensorInfo tensor : file.tensors()) {
                TensorInfo other = found.putIfAbsent(tensor.name(), tensor);
                if (other != null) {
                    throw CheckpointException.inTwoFiles(tensor.name(), tensor.file(), other.file());
                }
            }
        }
        for (Map.Entry<String, String> entry : fileOf.entrySet()) {
            String name = entry.getKey();
            TensorInfo tensor = found.get(name);
            if (tensor == null || !fileName(tensor).equals(entry.getValue())) {
                throw CheckpointException.of(
                        CheckpointRule.TENSOR_NOT_IN_SHARD,
                        path,
                        -1,
                        name,
                        0,
                        "weight_map places tensor %s in %s, which does not contain it%s"
                                .formatted(
                                        CheckpointException.quote(name),
                                        CheckpointException.quote(entry.getValue()),
                                        Optional.ofNullable(tensor)
                                                .map(t -> "; it is in " + fileName(t))
                                                .orElse("")));
            }
        }
        for (TensorInfo tensor : found.values()) {
            if (!fileOf.containsKey(tensor.name())) {
                throw CheckpointException.of(
                        CheckpointRule.TENSOR_NOT_IN_INDEX,
                        path,
                        -1,
                        tensor.name(),
                        0,
                        "tensor %s is in %s but not in weight_map"
                                .formatted(CheckpointException.quote(tensor.name()), fileName(tensor)));
            }
        }
    }

    private static String fileName(TensorInfo tensor) {
        return String.valueOf(tensor.file().getFileName());
    }
}
