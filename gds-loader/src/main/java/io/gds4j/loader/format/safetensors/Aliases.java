package io.gds4j.loader.format.safetensors;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.SafetensorsText;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Further names of tensors, which metadata lists as {@code gds4j.alias.NAME}: no two tensors of a safetensors file may share bytes,
 * so a converted checkpoint has them once.
 */
final class Aliases {
    private Aliases() {
    }

    /** Returns the files with the tensors that have another name for bytes of a file. */
    static List<CheckpointFile> resolve(List<CheckpointFile> files) {
        Map<String, String> kept = new LinkedHashMap<>();
        for (CheckpointFile file : files) {
            for (Map.Entry<String, String> entry : file.metadata().entrySet()) {
                if (entry.getKey().startsWith(SafetensorsText.ALIAS)) {
                    kept.putIfAbsent(entry.getKey().substring(SafetensorsText.ALIAS.length()), entry.getValue());
                }
            }
        }
        return kept.isEmpty() ? files : named(files, kept);
    }

    private static List<CheckpointFile> named(List<CheckpointFile> files, Map<String, String> kept) {
        Map<String, List<String>> aliases = new HashMap<>();
        kept.forEach((alias, name) -> aliases.computeIfAbsent(name, key -> new ArrayList<>()).add(alias));
        for (CheckpointFile file : files) {
            for (TensorInfo tensor : file.tensors()) {
                kept.remove(tensor.name()); // a tensor of its own
            }
        }
        List<CheckpointFile> all = new ArrayList<>(files.size());
        for (CheckpointFile file : files) {
            List<TensorInfo> tensors = new ArrayList<>(file.tensors());
            for (TensorInfo tensor : file.tensors()) {
                for (String alias : aliases.getOrDefault(tensor.name(), List.of())) {
                    if (kept.remove(alias, tensor.name())) {
                        tensors.add(new TensorInfo(alias, tensor.dtype(), tensor.shape(), tensor.file(),
                                tensor.fileOffset(), tensor.length(), tensor.order()));
                    }
                }
            }
            all.add(file.with(tensors, file.typedMetadata()));
        }
        if (!kept.isEmpty()) {
            CheckpointFile first = all.getFirst();
            List<String> warnings = new ArrayList<>(first.warnings());
            Map.Entry<String, String> missing = kept.entrySet().iterator().next();
            warnings.add("%s further names of tensors that are not here are left out, such as %s for %s".formatted(
                    kept.size(),
                    CheckpointException.quote(missing.getKey()),
                    CheckpointException.quote(missing.getValue())));
            all.set(0, CheckpointFile.of(first.path(), first.version(), first.dataOffset(), first.tensors(),
                    first.typedMetadata(), warnings));
        }
        return all;
    }
}
