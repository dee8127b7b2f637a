package io.gds4j.loader;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * A model checkpoint: what its headers say. Opening reads and checks headers only; no tensor data, no CUDA. Holds no file
 * open.
 *
 * <pre>{@code
 * Checkpoint checkpoint = Checkpoint.open(Path.of("Llama-3.2-1B"));
 * try (CuFileDriver driver = CuFileDriver.open();
 *         LoadedTensors tensors = checkpoint.plan().load(driver)) {
 *     long address = tensors.address("model.norm.weight");
 * }
 * }</pre>
 *
 * <p>
 * Reads safetensors: a single file, a {@code *.index.json} with its shards, or a folder with either. Every rule of the
 * reference implementation holds, and some more (see {@link CheckpointRule}). Immutable and thread-safe.
 *
 * @since 0.1
 */
public final class Checkpoint {
    private static final String INDEX_NAME = "model.safetensors.index.json";
    private static final String SINGLE_NAME = "model.safetensors";
    private static final String SUFFIX = ".safetensors";
    private static final String INDEX_SUFFIX = ".safetensors.index.json";
    private static final String JSON_SUFFIX = ".json";

    private final Path path;
    private final List<CheckpointFile> files;
    private final Map<String, TensorInfo> tensors;
    private final Map<String, String> metadata;
    private final List<String> warnings;
    private final long bytes;
    private final long headerNanos;

    private Checkpoint(Path path, List<CheckpointFile> files, List<String> warnings, long headerNanos) {
        this.path = path;
        this.files = List.copyOf(files);
        this.headerNanos = headerNanos;
        Map<String, TensorInfo> byName = new LinkedHashMap<>();
        Map<String, String> merged = new LinkedHashMap<>();
        long sum = 0;
        for (CheckpointFile file : files) {
            for (TensorInfo tensor : file.tensors()) {
                TensorInfo other = byName.putIfAbsent(tensor.name(), tensor);
                if (other != null) {
                    throw CheckpointIndex.inTwoFiles(tensor, other);
                }
                sum += tensor.length();
            }
            file.metadata().forEach(merged::putIfAbsent);
        }
        this.tensors = Collections.unmodifiableMap(byName);
        this.metadata = Collections.unmodifiableMap(merged);
        this.bytes = sum;
        this.warnings = List.copyOf(warnings);
    }

    /**
     * Opens a checkpoint: a {@code .safetensors} file, an index ({@code .json}), or a folder. In a folder its index is
     * taken; without one {@code model.safetensors}; without that every {@code *.safetensors} file together.
     *
     * @throws CheckpointException if there is none, or it breaks a rule; the message is one line
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static Checkpoint open(Path path) {
        Objects.requireNonNull(path, "path");
        long start = System.nanoTime();
        List<String> warnings = new ArrayList<>();
        List<CheckpointFile> files;
        if (HeaderFile.attributes(path).isDirectory()) {
            files = openFolder(path, warnings);
        } else if (path.toString().endsWith(JSON_SUFFIX)) {
            files = openIndex(path, warnings);
        } else {
            files = List.of(HeaderFile.readSafetensors(path));
        }
        return new Checkpoint(path, files, warnings, System.nanoTime() - start);
    }

    private static List<CheckpointFile> openFolder(Path folder, List<String> warnings) {
        List<Path> indexes = new ArrayList<>();
        List<Path> singles = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder)) {
            for (Path entry : entries) {
                String name = String.valueOf(entry.getFileName());
                if (name.startsWith(".")) {
                    continue;
                }
                if (name.endsWith(INDEX_SUFFIX)) {
                    indexes.add(entry);
                } else if (name.endsWith(SUFFIX)) {
                    singles.add(entry);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw HeaderFile.failure(folder, e.getCause());
        } catch (IOException e) {
            throw HeaderFile.failure(folder, e);
        }
        Path index = folder.resolve(INDEX_NAME);
        if (indexes.contains(index)) {
            return openIndex(index, warnings);
        }
        if (indexes.size() == 1) {
            return openIndex(indexes.getFirst(), warnings);
        }
        if (indexes.size() > 1) {
            throw CheckpointException.of(
                    CheckpointRule.NO_CHECKPOINT,
                    folder,
                    "the folder holds %d indexes and none is %s; name one of them"
                            .formatted(indexes.size(), INDEX_NAME));
        }
        Path single = folder.resolve(SINGLE_NAME);
        if (singles.contains(single)) {
            return List.of(HeaderFile.readSafetensors(single));
        }
        if (singles.isEmpty()) {
            throw CheckpointException.of(
                    CheckpointRule.NO_CHECKPOINT,
                    folder,
                    "the folder holds neither %s nor a *%s file".formatted(INDEX_NAME, SUFFIX));
        }
        Collections.sort(singles);
        List<CheckpointFile> files = new ArrayList<>(singles.size());
        for (Path file : singles) {
            files.add(HeaderFile.readSafetensors(file));
        }
        return files;
    }

    private static List<CheckpointFile> openIndex(Path path, List<String> warnings) {
        CheckpointIndex index = CheckpointIndex.read(path);
        List<Path> shards = new ArrayList<>();
        for (String name : index.fileNames()) {
            Path shard = resolve(path, name);
            if (!Files.exists(shard)) {
                throw CheckpointException.of(
                        CheckpointRule.MISSING_SHARD,
                        path,
                        "the index names %s, which is not there".formatted(CheckpointException.quote(name)));
            }
            shards.add(shard);
        }
        List<CheckpointFile> files = new ArrayList<>(shards.size());
        for (Path shard : shards) {
            files.add(HeaderFile.readSafetensors(shard));
        }
        index.check(files);
        OptionalLong total = index.totalSize();
        long sum = 0;
        for (CheckpointFile file : files) {
            for (TensorInfo tensor : file.tensors()) {
                sum += tensor.length();
            }
        }
        if (total.isPresent() && total.getAsLong() != sum) {
            warnings.add("%s: total_size is %s, but the tensors have %d bytes"
                    .formatted(path, Long.toUnsignedString(total.getAsLong()), sum));
        }
        return files;
    }

    private static Path resolve(Path index, String name) {
        try {
            return index.resolveSibling(name);
        } catch (InvalidPathException e) {
            throw CheckpointException.of(
                    CheckpointRule.INDEX_FILE_NAME,
                    index,
                    "this machine cannot name a file %s: %s".formatted(CheckpointException.quote(name), e.getReason()));
        }
    }

    /** What was opened. */
    public Path path() {
        return path;
    }

    /** The format of its files. */
    public CheckpointFormat format() {
        return CheckpointFormat.SAFETENSORS;
    }

    /** Its files, in the order in which they are loaded. */
    public List<CheckpointFile> files() {
        return files;
    }

    /** Its tensors by name, file by file in the order of their data. */
    public Map<String, TensorInfo> tensors() {
        return tensors;
    }

    /** {@code __metadata__} of all files together; where two disagree, the first one holds. */
    public Map<String, String> metadata() {
        return metadata;
    }

    /** What is odd, but no error: an index whose {@code total_size} is not that of the tensors. One line each. */
    public List<String> warnings() {
        return warnings;
    }

    /** Bytes of all tensors together, without headers. */
    public long bytes() {
        return bytes;
    }

    /** Begins a plan that loads every tensor into host memory, or as its methods say. */
    public LoadPlan plan() {
        return new LoadPlan(this, LoadOptions.DEFAULTS);
    }

    /** Time that {@link #open} took. */
    long headerNanos() {
        return headerNanos;
    }

    @Override
    public String toString() {
        return "Checkpoint[%s, %d tensors, %d bytes in %d files]".formatted(path, tensors.size(), bytes, files.size());
    }
}
