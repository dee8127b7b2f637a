package io.gds4j.loader.format.onnx;

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
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Models of ONNX: the initializers of the main graph, under their names. Their bytes are in the model or in files below its folder
 * ({@code external_data}). Initializers whose values are no bytes of a tensor, such as texts and {@code int64_data}, are left out
 * with a warning; those of functions and inner graphs are not looked for.
 *
 * @since 0.1
 */
public final class OnnxFormat implements CheckpointFormat {
    private static final String SUFFIX = ".onnx";
    /** Formats beside which a model of ONNX is a copy. */
    private static final Set<String> MODELS = Set.of("safetensors", "gguf", "torch", "distcp");
    private static final int IR_VERSION = 1 << 3;
    private static final int MAX_IR_VERSION = 63;
    private static final int GRAPH = 7 << 3 | 2;
    /** Tags of the fields between the version and the graph: producer, domain, version, text. */
    private static final Set<Integer> TAGS = Set.of(2 << 3 | 2, 3 << 3 | 2, 4 << 3 | 2, 5 << 3, 6 << 3 | 2);

    /** Creates the format; {@link java.util.ServiceLoader} calls this. */
    public OnnxFormat() {
        // without state
    }

    @Override
    public String id() {
        return "onnx";
    }

    @Override
    public List<String> suffixes() {
        return List.of(SUFFIX);
    }

    @Override
    public boolean yieldsTo(CheckpointFormat other) {
        return MODELS.contains(other.id());
    }

    /** Recognises a version from 3 on, and the fields up to the graph as far as the first bytes have them. */
    @Override
    public Recognition recognize(FileHead head) {
        ByteBuffer first = head.first();
        if (first.limit() < 4 || first.get(0) != IR_VERSION || first.get(1) < 3 || first.get(1) > MAX_IR_VERSION) {
            return Recognition.UNRECOGNIZED;
        }
        long at = 2;
        for (int fields = 0; at < first.limit(); fields++) {
            int tag = first.get((int) at) & 0xff;
            int length = 0;
            int digits = 1;
            while (at + digits < first.limit() && digits <= 5) {
                int digit = first.get((int) at + digits) & 0xff;
                length |= (digit & 0x7f) << (7 * (digits - 1));
                if (digit < 0x80) {
                    break;
                }
                digits++;
            }
            long value = at + 1 + digits;
            boolean fits = (tag & 7) != 2 || value + Integer.toUnsignedLong(length) <= head.size();
            if (tag == GRAPH && fits) {
                return Recognition.RECOGNIZED;
            }
            if (!TAGS.contains(tag) || !fits) {
                return Recognition.UNRECOGNIZED;
            }
            at = (tag & 7) == 2 ? value + length : value;
        }
        return Recognition.RECOGNIZED;
    }

    @Override
    public Optional<CheckpointParts> partsIn(CheckpointFolder folder) {
        List<Path> files = folder.recognizedBy(this);
        if (files.size() > 1) {
            throw CheckpointException.of(CheckpointRule.NO_CHECKPOINT, folder.path(),
                    "the folder has %s ONNX models; name one of them".formatted(files.size()));
        }
        return files.isEmpty() ? Optional.empty() : Optional.of(CheckpointParts.of(files));
    }

    @Override
    public CheckpointFile read(FormatInput in) {
        OnnxModel model = OnnxModel.read(in);
        List<String> warnings = new ArrayList<>();
        if (!model.leftOut().isEmpty()) {
            warnings.add("not loaded, because their values are no bytes of a tensor (save them as raw_data): "
                    + InertText.list(model.leftOut().stream().map(CheckpointException::quote).toList()));
        }
        if (model.sparse() > 0) {
            warnings.add("%s sparse initializers are not loaded".formatted(model.sparse()));
        }
        long first = model.tensors().stream().filter(tensor -> tensor.file().equals(in.path()))
                .mapToLong(TensorInfo::fileOffset).min().orElse(in.size());
        return CheckpointFile.of(in.path(), in.version(), first, model.tensors(), Metadata.of(Map.of()), warnings);
    }

    /** Returns the models, and the files that hold their external data with its place checked. */
    @Override
    public List<CheckpointFile> combine(List<CheckpointFile> models) {
        List<CheckpointFile> files = new ArrayList<>();
        Map<Path, List<TensorInfo>> external = new LinkedHashMap<>();
        for (CheckpointFile model : models) {
            List<TensorInfo> own = new ArrayList<>();
            for (TensorInfo tensor : model.tensors()) {
                boolean inside = tensor.file().equals(model.path());
                (inside ? own : external.computeIfAbsent(tensor.file(), path -> new ArrayList<>())).add(tensor);
            }
            files.add(model.with(own, model.typedMetadata()));
        }
        external.forEach((path, tensors) -> files.add(external(models.getFirst().path(), path, tensors)));
        return files;
    }

    private static CheckpointFile external(Path model, Path path, List<TensorInfo> tensors) {
        FileVersion version;
        try (FormatInput data = FormatInput.open(path)) {
            version = data.version();
        } catch (CheckpointException e) {
            throw e.rule().equals(CheckpointRule.FILE_NOT_FOUND)
                    ? CheckpointException.of(CheckpointRule.MISSING_SHARD, model,
                            "the model names %s, which does not exist"
                                    .formatted(CheckpointException.quote(String.valueOf(path.getFileName()))))
                    : e;
        }
        long size = version.size();
        long first = size;
        for (TensorInfo tensor : tensors) {
            first = Math.min(first, tensor.fileOffset());
            if (tensor.length() > size || tensor.fileOffset() > size - tensor.length()) {
                throw CheckpointException.of(OnnxRules.DATA, path, size, tensor.name(),
                        "initializer %s, %s bytes at %s, reaches past the end of the file, which has %s bytes"
                                .formatted(
                                        CheckpointException.quote(tensor.name()), tensor.length(), tensor.fileOffset(),
                                        size));
            }
        }
        return CheckpointFile.of(path, version, first, tensors, Metadata.of(Map.of()), List.of());
    }
}
