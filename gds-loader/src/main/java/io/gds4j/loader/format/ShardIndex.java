package io.gds4j.loader.format;

import io.gds4j.internal.text.InertText;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import io.gds4j.loader.internal.text.StrictJson.Token;
import io.gds4j.source.FileVersion;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The content of an index such as {@code model.safetensors.index.json}: which tensor is in which file. All formats with shards
 * share it. Immutable and thread-safe.
 *
 * @since 0.1
 */
public final class ShardIndex {
    private static final int LONGEST_NUMBER = 40;
    /** Largest index, in bytes; the limit of the safetensors reference for headers. */
    private static final long LARGEST = 100_000_000;

    private final Path path;
    private final FileVersion version;
    private final Map<String, String> fileOf = new LinkedHashMap<>();
    /** {@code total_size} as written, or null. */
    private @Nullable String totalSize;

    private ShardIndex(Path path, FileVersion version) {
        this.path = path;
        this.version = version;
    }

    /**
     * Reads and parses an index.
     *
     * @throws CheckpointException INVALID_INDEX or INDEX_FILE_NAME for a broken index; FILE_NOT_FOUND and others if the file
     *         cannot be read
     */
    public static ShardIndex read(Path path) {
        try (FormatInput in = FormatInput.open(path)) {
            if (in.size() > LARGEST) {
                throw CheckpointException.of(
                        CheckpointRule.INVALID_INDEX,
                        path,
                        "the index has %s bytes, at most %s are allowed".formatted(in.size(), LARGEST));
            }
            return parse(path, in.version(), in.read(0, (int) in.size()).array());
        }
    }

    private static ShardIndex parse(Path path, FileVersion version, byte... json) {
        int bad = StrictJson.checkUtf8(json);
        if (bad >= 0) {
            throw CheckpointException.of(
                    CheckpointRule.INVALID_INDEX, path, bad, "the index is not UTF-8");
        }
        ShardIndex index = new ShardIndex(path, version);
        try {
            index.parse(new StrictJson(json));
        } catch (Malformed e) {
            throw CheckpointException.of(CheckpointRule.INVALID_INDEX, path, e.offset(), e.detail());
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

    /** Returns the path of the index. */
    public Path path() {
        return path;
    }

    /**
     * Returns whether the path still leads to this content. A save replaces the index before it replaces files.
     *
     * @throws CheckpointException if the file cannot be read
     */
    public boolean isCurrent() {
        try (FormatInput now = FormatInput.open(path)) {
            return now.version().isSameAs(version);
        }
    }

    /**
     * Returns the existing files that the index names, in the order of their first occurrence.
     *
     * @throws CheckpointException MISSING_SHARD for a file that does not exist, INDEX_FILE_NAME for an impossible name
     */
    public List<Path> files() {
        List<Path> shards = new ArrayList<>();
        for (String name : new LinkedHashSet<>(fileOf.values())) {
            Path shard = resolve(name);
            if (!Files.exists(shard)) {
                throw CheckpointException.of(
                        CheckpointRule.MISSING_SHARD,
                        path,
                        "the index names %s, which does not exist".formatted(CheckpointException.quote(name)));
            }
            shards.add(shard);
        }
        return shards;
    }

    private Path resolve(String name) {
        try {
            return path.resolveSibling(name);
        } catch (InvalidPathException e) {
            throw CheckpointException.of(
                    CheckpointRule.INDEX_FILE_NAME,
                    path,
                    "this machine cannot name a file %s: %s".formatted(CheckpointException.quote(name), e.getReason()));
        }
    }

    /**
     * Compares {@code total_size} with the tensors. Writers disagree on what it counts and how to write it, and loading does
     * not need it: a wrong value is only a warning, of one line.
     */
    public List<String> warnings(List<CheckpointFile> files) {
        long bytes = 0;
        for (CheckpointFile file : files) {
            for (TensorInfo tensor : file.tensors()) {
                bytes += tensor.length();
            }
        }
        if (totalSize == null || isNumber(totalSize, bytes)) {
            return List.of();
        }
        return List.of("%s: total_size is %s, but the tensors have %s bytes"
                .formatted(path, InertText.name(totalSize, LONGEST_NUMBER), bytes));
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

    /**
     * Checks that files and map agree in both directions.
     *
     * @throws CheckpointException TENSOR_NOT_IN_SHARD, TENSOR_NOT_IN_INDEX or TENSOR_IN_TWO_FILES
     */
    public void check(List<CheckpointFile> files) {
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
                        "tensor %s is in %s but not in weight_map"
                                .formatted(CheckpointException.quote(tensor.name()), fileName(tensor)));
            }
        }
    }

    private static String fileName(TensorInfo tensor) {
        return String.valueOf(tensor.file().getFileName());
    }
}
