package io.gds4j.loader.format.torch;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.text.InertText;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFolder;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointParts;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.source.FileVersion;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Checkpoints of {@code torch.distributed.checkpoint} in its own form: a folder with {@code .metadata}, a pickle that names all
 * tensors and their parts, and {@code .distcp} files, in which each part is a file of {@code torch.save}. A tensor that several
 * ranks saved has a box for each part. Entries that are no tensors are left out, with a warning.
 *
 * @since 0.1
 */
public final class DistcpFormat implements CheckpointFormat {
    static final String ID = TorchFormat.DISTCP;
    static final String SUFFIX = "." + ID;
    private static final String METADATA = ".metadata";

    /** Creates the format; {@link java.util.ServiceLoader} calls this. */
    public DistcpFormat() {
        // without state
    }

    @Override
    public String id() {
        return ID;
    }

    @Override
    public List<String> suffixes() {
        return List.of(METADATA);
    }

    /** Recognises a pickle that names the class of the metadata, or its first field, in its first 512 bytes. */
    @Override
    public Recognition recognize(FileHead head) {
        String first = StandardCharsets.ISO_8859_1.decode(head.first()).toString();
        return head.startsWith((byte) 0x80)
                && (first.contains("torch.distributed.checkpoint.metadata") || first.contains(DistcpMetadata.TENSORS))
                        ? Recognition.RECOGNIZED
                        : Recognition.UNRECOGNIZED;
    }

    @Override
    public Optional<CheckpointParts> partsIn(CheckpointFolder folder) {
        List<Path> data = folder.endingWith(SUFFIX);
        if (data.isEmpty()) {
            return Optional.empty();
        }
        Path metadata = folder.path().resolve(METADATA);
        if (!Files.exists(metadata)) {
            boolean each = Files.exists(folder.path().resolve("__0" + METADATA));
            throw CheckpointException.of(
                    CheckpointRule.MISSING_SHARD, folder.path(),
                    each ? "each rank has metadata of its own; save with use_collectives=True"
                            : "the folder has %s and no .metadata: the save did not end".formatted(
                                    CheckpointException.quote(String.valueOf(data.getFirst().getFileName()))));
        }
        return Optional.of(CheckpointParts.of(List.of(metadata)));
    }

    /** Returns the metadata without tensors: {@link #combine} reads it together with the files that it names. */
    @Override
    public CheckpointFile read(FormatInput in) {
        return CheckpointFile.of(in.path(), in.version(), in.size(), List.of(), Metadata.of(Map.of()), List.of());
    }

    /** Returns the files that hold the tensors, and the metadata if a tensor has no bytes in any. */
    @Override
    public List<CheckpointFile> combine(List<CheckpointFile> files) {
        List<CheckpointFile> all = new ArrayList<>();
        for (CheckpointFile file : files) {
            all.addAll(combine(file));
        }
        return all;
    }

    private static List<CheckpointFile> combine(CheckpointFile metadata) {
        Path path = metadata.path();
        DistcpMetadata described;
        try (FormatInput in = FormatInput.open(path)) {
            if (!in.version().isSameAs(metadata.version())) {
                throw CheckpointException.changed(path, metadata.version(), in.version());
            }
            described = DistcpMetadata.read(in);
        }
        DistcpRecords records = DistcpRecords.read(path, described);
        checkNoOthers(path, records);
        Map<Path, List<TensorInfo>> byFile = new LinkedHashMap<>();
        Map<Path, FileVersion> versions = records.versions();
        versions.keySet().forEach(file -> byFile.put(file, new ArrayList<>()));
        for (TensorInfo tensor : records.tensors()) {
            byFile.computeIfAbsent(tensor.file(), file -> new ArrayList<>()).add(tensor);
        }
        List<String> warnings = new ArrayList<>();
        if (!described.others().isEmpty()) {
            warnings.add("no tensors, not loaded: " + InertText.list(
                    described.others().stream().map(CheckpointException::quote).toList()));
        }
        List<CheckpointFile> files = new ArrayList<>();
        byFile.forEach((file, tensors) -> {
            FileVersion version = file.equals(path) ? metadata.version() : versions.get(file);
            long first = tensors.stream().mapToLong(TensorInfo::fileOffset).min().orElse(version.size());
            files.add(CheckpointFile.of(file, version, first, tensors, Metadata.of(Map.of()),
                    files.isEmpty() ? warnings : List.of()));
        });
        return files.isEmpty()
                ? List.of(CheckpointFile.of(path, metadata.version(), metadata.size(), List.of(),
                        metadata.typedMetadata(), warnings))
                : files;
    }

    /** Refuses a folder with files of another save, whose ranks may have replaced files of this one, too. */
    private static void checkNoOthers(Path metadata, DistcpRecords records) {
        Path folder = metadata.toAbsolutePath().getParent();
        List<Path> present;
        try {
            present = CheckpointFolder.open(folder).endingWith(SUFFIX);
        } catch (CuFileException e) {
            if (metadata.getFileSystem() == FileSystems.getDefault()) {
                throw e;
            }
            return; // servers without lists
        }
        for (Path file : present) {
            Path named = metadata.resolveSibling(String.valueOf(file.getFileName()));
            // a rank without tensors writes an empty file
            if (!records.versions().containsKey(named) && !isEmpty(named)) {
                throw CheckpointException.of(TorchRules.DISTRIBUTED, metadata,
                        "%s is of another save: this metadata does not name it; a folder holds one save"
                                .formatted(CheckpointException.quote(String.valueOf(file.getFileName()))));
            }
        }
    }

    private static boolean isEmpty(Path file) {
        try (FormatInput in = FormatInput.open(file)) {
            return in.size() == 0;
        }
    }
}
