package io.gds4j.loader;

import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A model checkpoint, as its headers describe it. Opening reads and checks the headers only: it reads no tensor data, needs no
 * GPU, and leaves no file open.
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
 * Reads safetensors: a single file, an index ({@code *.index.json}) with its shards, or a folder with either. Checks every rule
 * of the reference implementation and some more (see {@link CheckpointRule}). Immutable and thread-safe.
 *
 * @since 0.1
 */
public final class Checkpoint {
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
                    throw CheckpointException.inTwoFiles(tensor.name(), tensor.file(), other.file());
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
     * Opens a checkpoint: a {@code .safetensors} file, an index ({@code .json}), or a folder. In a folder it reads the index;
     * without an index {@code model.safetensors}; without that all {@code *.safetensors} files together.
     *
     * @throws CheckpointException if there is no checkpoint or it breaks a rule; the message is one line
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static Checkpoint open(Path path) {
        Objects.requireNonNull(path, "path");
        long start = System.nanoTime();
        SafetensorsFiles found = SafetensorsFiles.open(path);
        return new Checkpoint(path, found.files(), found.warnings(), System.nanoTime() - start);
    }

    /** Returns the path that was opened. */
    public Path path() {
        return path;
    }

    /** Returns the format of the files. */
    public CheckpointFormat format() {
        return CheckpointFormat.SAFETENSORS;
    }

    /** Returns the files in the order in which they are loaded. */
    public List<CheckpointFile> files() {
        return files;
    }

    /** Returns the tensors by name, file by file in the order of their data. */
    public Map<String, TensorInfo> tensors() {
        return tensors;
    }

    /** Returns {@code __metadata__} of all files; if a key occurs in several files, the first one counts. */
    public Map<String, String> metadata() {
        return metadata;
    }

    /** Returns findings that are no errors, one line each, such as a {@code total_size} that the tensors do not have. */
    public List<String> warnings() {
        return warnings;
    }

    /** Returns the bytes of all tensors, without headers. */
    public long bytes() {
        return bytes;
    }

    /** Returns a plan that loads every tensor into host memory; its methods change that. */
    public LoadPlan plan() {
        return new LoadPlan(this, LoadOptions.DEFAULTS);
    }

    /** Returns the time of {@link #open} in nanoseconds. */
    long headerNanos() {
        return headerNanos;
    }

    @Override
    public String toString() {
        return "Checkpoint[%s, %d tensors, %d bytes in %d files]".formatted(path, tensors.size(), bytes, files.size());
    }
}
