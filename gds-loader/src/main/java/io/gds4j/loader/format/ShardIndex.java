package io.gds4j.loader.format;

import io.gds4j.internal.text.InertText;
import io.gds4j.loader.internal.file.FileNames;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import io.gds4j.loader.internal.text.StrictJson.Token;
import io.gds4j.source.FileVersion;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The content of an index such as {@code model.safetensors.index.json}: which tensor is in which file. All formats with shards
 * share it. Immutable and thread-safe.
 *
 * @since 0.1
 */
public final class ShardIndex {
    private static final int MAX_NUMBER = 40;
    /** Largest index, in bytes; the limit of the safetensors reference for headers. */
    private static final long MAX = 100_000_000;

    private final Path path;
    private final FileVersion version;
    private final Map<String, String> fileOf = new LinkedHashMap<>();
    /** The paths of the files by their names, in the order of their first occurrence. */
    private final Map<String, Path> pathOf = new LinkedHashMap<>();
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
            if (in.size() > MAX) {
                throw CheckpointException.of(
                        CheckpointRule.INVALID_INDEX,
                        path,
                        "the index has %s bytes, at most %s are allowed".formatted(in.size(), MAX));
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
            throw new Malformed(0, "weight_map is missing; an index of shards has one");
        }
        if (fileOf.isEmpty()) {
            throw new Malformed(0, "weight_map names no tensor");
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
            if (!FileNames.areBelow(file)) {
                throw CheckpointException.of(
                        CheckpointRule.INDEX_FILE_NAME,
                        path,
                        in.mark(),
                        tensor,
                        "the file of tensor %s is %s; only files in the index's own folder and below it are allowed"
                                .formatted(CheckpointException.quote(tensor), CheckpointException.quote(file)));
            }
            pathOf.computeIfAbsent(file, this::resolve);
            if (fileOf.putIfAbsent(tensor, file) != null) {
                throw in.here("tensor %s occurs twice in weight_map".formatted(CheckpointException.quote(tensor)));
            }
        }
    }

    /** Returns the names of the tensors. */
    Set<String> tensors() {
        return Collections.unmodifiableSet(fileOf.keySet());
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
     * @throws CheckpointException MISSING_SHARD for a file that does not exist
     */
    public List<Path> files() {
        Optional<String> missing = missing();
        if (missing.isPresent()) {
            throw CheckpointException.of(
                    CheckpointRule.MISSING_SHARD,
                    path,
                    "the index names %s, which does not exist".formatted(CheckpointException.quote(missing.get())));
        }
        return named();
    }

    /** Returns the files that the index names, in the order of their first occurrence, without a look at each. */
    List<Path> named() {
        return List.copyOf(pathOf.values());
    }

    /** Returns the name of the first file that the index names and that does not exist; empty if all files exist. */
    public Optional<String> missing() {
        for (Map.Entry<String, Path> file : pathOf.entrySet()) {
            if (!Files.exists(file.getValue())) {
                return Optional.of(file.getKey());
            }
        }
        return Optional.empty();
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
     * Returns what is odd about the index and no error, one line each: tensors of its files that it does not place there, and a
     * {@code total_size} that the tensors do not have. Writers disagree on what that counts, and loading does not need it.
     *
     * @param files the files as they are, before {@link #select}
     */
    public List<String> warnings(List<CheckpointFile> files) {
        List<String> warnings = new ArrayList<>();
        List<String> omitted = new ArrayList<>();
        long bytes = 0;
        for (CheckpointFile file : files) {
            for (TensorInfo tensor : file.tensors()) {
                if (places(tensor)) {
                    bytes += tensor.length();
                } else {
                    omitted.add("%s of %s".formatted(CheckpointException.quote(tensor.name()), fileName(tensor)));
                }
            }
        }
        if (!omitted.isEmpty()) {
            warnings.add("%s: not loaded, because weight_map does not place them there: %s"
                    .formatted(path, InertText.list(omitted)));
        }
        if (totalSize != null && !isNumber(totalSize, bytes)) {
            warnings.add("%s: total_size is %s, but the tensors have %s bytes"
                    .formatted(path, InertText.name(totalSize, MAX_NUMBER), bytes));
        }
        return List.copyOf(warnings);
    }

    private static boolean isNumber(String text, long value) {
        if (text.equals(Long.toString(value))) {
            return true;
        }
        try {
            // the limit keeps a hostile number of many digits from taking quadratic time
            return text.length() <= MAX_NUMBER && new BigDecimal(text).compareTo(BigDecimal.valueOf(value)) == 0;
        } catch (NumberFormatException e) {
            return false; // an exponent beyond 32 bits
        }
    }

    /**
     * Returns the files with the tensors that the map places in them. Files may have other tensors: a file can replace tensors of
     * another one, and a file can be shared with other checkpoints.
     *
     * @throws CheckpointException TENSOR_NOT_IN_SHARD if a file lacks a tensor that the map places in it
     */
    public List<CheckpointFile> select(List<CheckpointFile> files) {
        Map<String, TensorInfo> elsewhere = new HashMap<>();
        Set<String> found = new HashSet<>();
        List<CheckpointFile> selected = new ArrayList<>(files.size());
        for (CheckpointFile file : files) {
            List<TensorInfo> tensors = new ArrayList<>(file.tensors().size());
            for (TensorInfo tensor : file.tensors()) {
                if (places(tensor)) {
                    tensors.add(tensor);
                    found.add(tensor.name());
                } else {
                    elsewhere.put(tensor.name(), tensor);
                }
            }
            selected.add(
                    tensors.size() == file.tensors().size() ? file : file.with(tensors, file.typedMetadata()));
        }
        for (Map.Entry<String, String> entry : fileOf.entrySet()) {
            String name = entry.getKey();
            if (!found.contains(name)) {
                throw CheckpointException.of(
                        CheckpointRule.TENSOR_NOT_IN_SHARD,
                        path,
                        -1,
                        name,
                        "weight_map places tensor %s in %s, which does not contain it%s"
                                .formatted(
                                        CheckpointException.quote(name),
                                        CheckpointException.quote(entry.getValue()),
                                        Optional.ofNullable(elsewhere.get(name))
                                                .map(t -> "; it is in " + fileName(t))
                                                .orElse("")));
            }
        }
        return selected;
    }

    private boolean places(TensorInfo tensor) {
        String file = fileOf.get(tensor.name());
        return file != null && tensor.file().equals(pathOf.get(file));
    }

    private String fileName(TensorInfo tensor) {
        Path folder = path.getParent();
        return String.valueOf(folder == null ? tensor.file() : folder.relativize(tensor.file()));
    }
}
