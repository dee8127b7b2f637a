package io.gds4j.loader.format.extents;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.source.FileVersion;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A JSON list of extents: file, offset, bytes, name, type and shape of each tensor. {@code docs/schemas/extents-1.json} is its
 * schema.
 *
 * <pre>{@code
 * {"schema": "gds4j.extents/1", "extents": [
 *     {"name": "kv.0", "file": "cache.bin", "offset": 4096, "bytes": 24, "dtype": "F16", "shape": [3, 4]}]}
 * }</pre>
 *
 * <p>
 * Files are paths relative to the list's folder, within it. A type is one of safetensors, or any other name: then the bytes must
 * be a multiple of the number of elements, and the type is opaque. Extents may overlap.
 *
 * @since 0.1
 */
public final class ExtentsFormat implements CheckpointFormat {
    private static final String SCHEMA = "gds4j.extents/";
    /** Largest list in bytes; the limit of safetensors headers. */
    private static final long MAX = 100_000_000;

    /** Creates the format; {@link java.util.ServiceLoader} calls this. */
    public ExtentsFormat() {
        // without state
    }

    @Override
    public String id() {
        return "extents";
    }

    @Override
    public List<String> suffixes() {
        return List.of(".extents.json");
    }

    /** Recognises a JSON object that names the schema in its first 512 bytes. */
    @Override
    public Recognition recognize(FileHead head) {
        String first = StandardCharsets.ISO_8859_1.decode(head.first()).toString().stripLeading();
        return first.startsWith("{") && first.contains("\"" + SCHEMA) ? Recognition.RECOGNIZED
                : Recognition.UNRECOGNIZED;
    }

    @Override
    public CheckpointFile read(FormatInput in) {
        if (in.size() > MAX) {
            throw CheckpointException.of(
                    ExtentsRules.LIST,
                    in.path(),
                    "the list has %s bytes, at most %s are allowed".formatted(in.size(), MAX));
        }
        List<TensorInfo> tensors = ExtentsList.read(in.path(), in.read(0, (int) in.size()).array());
        return CheckpointFile.of(in.path(), in.size(), in.size(), tensors, Metadata.of(Map.of()));
    }

    /** Returns the files that hold the extents, each with its size checked, instead of the lists that name them. */
    @Override
    public List<CheckpointFile> combine(List<CheckpointFile> lists) {
        Map<Path, List<TensorInfo>> byFile = new LinkedHashMap<>();
        for (CheckpointFile list : lists) {
            for (TensorInfo tensor : list.tensors()) {
                byFile.computeIfAbsent(tensor.file(), path -> new ArrayList<>()).add(tensor);
            }
        }
        List<CheckpointFile> files = new ArrayList<>(byFile.size());
        byFile.forEach((path, tensors) -> files.add(file(path, tensors)));
        return files;
    }

    private static CheckpointFile file(Path path, List<TensorInfo> tensors) {
        FileVersion version;
        try (FormatInput data = FormatInput.open(path)) {
            version = data.version();
        }
        long size = version.size();
        long first = size;
        for (TensorInfo tensor : tensors) {
            first = Math.min(first, tensor.fileOffset());
            if (tensor.length() > size || tensor.fileOffset() > size - tensor.length()) {
                throw CheckpointException.of(
                        ExtentsRules.OUTSIDE,
                        path,
                        size,
                        tensor.name(),
                        "extent %s, %s bytes at %s, reaches past the end of the file, which has %s bytes"
                                .formatted(
                                        CheckpointException.quote(tensor.name()),
                                        tensor.length(),
                                        tensor.fileOffset(),
                                        size));
            }
        }
        return CheckpointFile.of(path, version, first, tensors, Metadata.of(Map.of()));
    }
}
