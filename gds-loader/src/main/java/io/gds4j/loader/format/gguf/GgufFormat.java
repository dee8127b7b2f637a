package io.gds4j.loader.format.gguf;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFolder;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointParts;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Recognition;
import io.gds4j.loader.format.TensorInfo;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * GGUF, versions 2 and 3, little-endian: single files and split sets. Checks all rules of the reference implementation (ggml as
 * of 2026-08) and those of the specification; the padding after the last tensor may be missing.
 *
 * <pre>{@code
 * Checkpoint model = Checkpoint.open(Path.of("model-Q4_K_M.gguf"));
 * Checkpoint fork = Checkpoint.open(path, new GgufFormat().withType(142, "PQ2_0", 128, 34));
 * }</pre>
 *
 * <p>
 * Shapes are row-major, as in all formats; {@link #ne} gives GGUF's order. In a folder with several models the user must name
 * one; files that begin with {@code mmproj-} or {@code mtp-} accompany a model.
 *
 * @since 0.1
 */
public final class GgufFormat implements CheckpointFormat {
    private static final byte[] MAGIC = {'G', 'G', 'U', 'F'};
    private static final String SUFFIX = ".gguf";
    private static final int MOST_NAMED = 5;

    private final GgufTypes types;

    /** Creates the format with the types of ggml. */
    public GgufFormat() {
        this(GgufTypes.GGML);
    }

    private GgufFormat(GgufTypes types) {
        this.types = types;
    }

    /**
     * Returns a format that also knows a type which is not in ggml.
     *
     * @param number number of the type in files
     * @param id name in reports
     * @param blockElements elements of a block, 1 or more
     * @param blockBytes bytes of a block, 1 or more
     * @throws CuFileException INVALID_VALUE for the number of a type of ggml, or a size that is out of range
     */
    public GgufFormat withType(int number, String id, int blockElements, int blockBytes) {
        DType known = GgufTypes.known(number);
        if (known != null || blockBytes < 1) {
            throw CuFileException.invalid("GgufFormat.withType",
                    known != null
                            ? "type %s is %s of ggml and cannot be changed".formatted(number, known)
                            : "a block must have 1 byte or more: %s".formatted(blockBytes));
        }
        return new GgufFormat(types.with(number, new DType(id, blockElements, blockBytes)));
    }

    /** Returns the dimensions of a tensor in GGUF's order: the contiguous one first. */
    public static List<Long> ne(TensorInfo tensor) {
        return tensor.shape().reversed();
    }

    @Override
    public String id() {
        return "gguf";
    }

    @Override
    public List<String> suffixes() {
        return List.of(SUFFIX);
    }

    @Override
    public Recognition recognize(FileHead head) {
        if (!head.startsWith(MAGIC)) {
            return Recognition.UNRECOGNIZED;
        }
        if (head.size() < Long.BYTES) {
            return Recognition.RECOGNIZED;
        }
        int version = head.first().getInt(MAGIC.length);
        if (version == 2 || version == 3) {
            return Recognition.RECOGNIZED;
        }
        // big-endian files have the same magic; the version of both is small
        if (version != 0 && (version & 0xffff) == 0) {
            return new Recognition.Unsupported(
                    "a big-endian GGUF file", "gguf_convert_endian.py of llama.cpp makes it little-endian");
        }
        return new Recognition.Unsupported(
                "a GGUF file of version " + Integer.toUnsignedString(version),
                version == 1 ? "convert the model again with a current llama.cpp" : "known are versions 2 and 3");
    }

    @Override
    public CheckpointFile read(FormatInput in) {
        // no pattern switch: linking one takes longer than reading a small header
        Recognition recognition = recognize(in);
        if (recognition instanceof Recognition.Unsupported unsupported) {
            throw CheckpointException.of(
                    CheckpointRule.UNSUPPORTED_FORMAT,
                    in.path(),
                    "this is %s; %s".formatted(unsupported.what(), unsupported.remedy()));
        }
        if (recognition instanceof Recognition.Unrecognized) {
            throw CheckpointException.of(
                    GgufRules.MAGIC,
                    in.path(),
                    0,
                    in.size() == 0 ? "the file is empty" : "the file does not begin with the letters GGUF");
        }
        return GgufHeader.read(in, types);
    }

    @Override
    public boolean describesFiles(String key) {
        return key.equals(GgufHeader.ALIGNMENT_KEY) || SplitKeys.isKey(key);
    }

    @Override
    public CheckpointParts partsOf(Path file) {
        Optional<SplitName> name = SplitName.of(file);
        if (name.isEmpty()) {
            return CheckpointParts.of(List.of(file));
        }
        try (FormatInput in = FormatInput.open(file)) {
            return CheckpointParts.of(SplitKeys.of(read(in)).files(file, name.get()));
        }
    }

    @Override
    public Optional<CheckpointParts> partsIn(CheckpointFolder folder) {
        Map<String, Path> models = new LinkedHashMap<>();
        List<Path> sidecars = new ArrayList<>();
        List<Path> recognized = folder.recognizedBy(this);
        List<Path> named = recognized.isEmpty() ? List.of() : folder.endingWith(SUFFIX);
        // a file with the ending and other content is a model that the user must repair or remove
        for (Path file : Stream.concat(recognized.stream(), named.stream()).distinct().sorted().toList()) {
            String name = String.valueOf(file.getFileName());
            if (name.startsWith("mmproj-") || name.startsWith("mtp-")) {
                sidecars.add(file);
            } else {
                // sorted by name, so the first part of a set comes first
                models.putIfAbsent(SplitName.of(file).map(SplitName::set).orElse(name), file);
            }
        }
        List<Path> choice = models.isEmpty() ? sidecars : List.copyOf(models.values());
        if (choice.isEmpty()) {
            return Optional.empty();
        }
        if (choice.size() > 1) {
            List<String> names = choice.stream().limit(MOST_NAMED)
                    .map(file -> CheckpointException.quote(String.valueOf(file.getFileName()))).toList();
            throw CheckpointException.of(
                    CheckpointRule.NO_CHECKPOINT,
                    folder.path(),
                    "the folder has %s GGUF models; name one of them: %s%s"
                            .formatted(choice.size(), String.join(", ", names),
                                    choice.size() > MOST_NAMED ? ", …" : ""));
        }
        return Optional.of(partsOf(choice.getFirst()));
    }

    @Override
    public List<CheckpointFile> combine(List<CheckpointFile> files) {
        SplitKeys.check(files);
        return files;
    }
}
