package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.SafetensorsText;
import io.gds4j.loader.internal.load.LoadOptions;
import io.gds4j.loader.internal.search.CheckpointFiles;
import io.gds4j.loader.internal.search.Formats;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.loader.save.SaveReport;
import io.gds4j.source.SourcePath;
import java.net.URI;
import java.nio.file.FileVisitOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

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
 * Reads a single file, an index ({@code *.index.json}) with its shards, or a folder with either, in any format of
 * {@link #formats}. Checks every rule of the format (see {@link io.gds4j.loader.format.CheckpointRule}). Immutable and
 * thread-safe. A checkpoint holds nothing to close: {@link #close} is there for programs that open all they use in one {@code try}.
 *
 * @since 0.1
 */
public final class Checkpoint implements SavePlan.CheckpointContent, Iterable<TensorInfo>, AutoCloseable {
    private final Path path;
    private final CheckpointFormat format;
    private final List<CheckpointFile> files;
    private final Map<String, TensorInfo> tensors;
    private final Metadata metadata;
    private final List<String> warnings;
    private final long bytes;
    private final boolean hasIndex;
    private final long headerNanos;
    private final boolean followLinks;
    /** Finds the files and reads their headers. */
    private final Supplier<CheckpointFiles> look;

    private Checkpoint(Path path, boolean followLinks, Supplier<CheckpointFiles> look) {
        long start = System.nanoTime();
        CheckpointFiles found = look.get();
        this.headerNanos = System.nanoTime() - start;
        this.path = path;
        this.followLinks = followLinks;
        this.look = look;
        this.hasIndex = found.hasIndex();
        this.format = found.format();
        this.files = found.files();
        this.warnings = found.warnings();
        List<Metadata> parts = new ArrayList<>(files.size());
        long sum = 0;
        for (CheckpointFile file : files) {
            parts.add(file.typedMetadata());
            long covered = 0;
            for (TensorInfo tensor : file.tensors()) {
                if (!tensor.isInOnePlace()) {
                    sum += tensor.length();
                    continue;
                }
                sum += Math.max(0, tensor.fileEnd() - Math.max(covered, tensor.fileOffset()));
                covered = Math.max(covered, tensor.fileEnd());
            }
        }
        this.tensors = Collections.unmodifiableMap(found.tensors());
        this.metadata = Metadata.merged(parts);
        this.bytes = sum;
    }

    /**
     * Opens a checkpoint: a file, an index of shards ({@code *.index.json}), or a folder. Recognises the format by the content
     * of the files.
     *
     * <p>
     * The path may be a link. Links that it leads to may only lead to files below the folder (that of a file or index) and, in the
     * Hugging Face cache, to the blobs of the same repository.
     *
     * @param links {@link FileVisitOption#FOLLOW_LINKS} if links of the folder may lead anywhere
     * @throws CheckpointException if there is no checkpoint, if no format recognises it, or if it breaks a rule; the message is
     *         one line
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static Checkpoint open(Path path, FileVisitOption... links) {
        Objects.requireNonNull(path, "path");
        boolean follow = List.of(links).contains(FileVisitOption.FOLLOW_LINKS);
        return read(path, follow, () -> CheckpointFiles.open(path, follow));
    }

    /**
     * Opens a checkpoint of a given format: for a folder with checkpoints of two formats, or for a format with settings of the
     * program.
     *
     * @param links as {@link #open(Path, FileVisitOption...)}
     * @throws CheckpointException as {@link #open(Path, FileVisitOption...)}; a file of another format breaks a rule of this one
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static Checkpoint open(Path path, CheckpointFormat format, FileVisitOption... links) {
        Objects.requireNonNull(path, "path");
        Objects.requireNonNull(format, "format");
        boolean follow = List.of(links).contains(FileVisitOption.FOLLOW_LINKS);
        return read(path, follow, () -> CheckpointFiles.open(path, format, follow));
    }

    /**
     * Chooses the files of a variant in folders: {@code Checkpoint.variant("fp16").open(path)} reads {@code model.fp16.safetensors}, its
     * parts, or what {@code model.safetensors.index.fp16.json} names. {@link #open(Path, FileVisitOption...)} reads the files without one.
     *
     * @param name what stands before the ending of file names, or the number of a part
     * @throws CuFileException INVALID_VALUE for a name that is empty or has a slash
     */
    public static Variant variant(String name) {
        if (name.isEmpty() || name.indexOf('/') >= 0) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, "Checkpoint.variant",
                    "a variant is a part of file names, such as fp16, not " + CheckpointException.quote(name));
        }
        return new Variant(name);
    }

    /** A variant of the files of a folder, such as one in half precision. Immutable. */
    public static final class Variant {
        private final String name;

        private Variant(String name) {
            this.name = name;
        }

        /**
         * Opens a folder of a checkpoint.
         *
         * @param links as {@link Checkpoint#open(Path, FileVisitOption...)}
         * @throws CheckpointException as {@link Checkpoint#open(Path, FileVisitOption...)}; NO_CHECKPOINT for a file, or if no file of the
         *         folder has the variant
         * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
         */
        public Checkpoint open(Path folder, FileVisitOption... links) {
            Objects.requireNonNull(folder, "folder");
            boolean follow = List.of(links).contains(FileVisitOption.FOLLOW_LINKS);
            return read(folder, follow, () -> CheckpointFiles.ofVariant(folder, name, follow));
        }

        @Override
        public String toString() {
            return "Checkpoint.Variant[" + name + ']';
        }
    }

    /**
     * Opens a checkpoint of a server: {@code open(SourcePath.of(uri))}. The schemes {@code http}, {@code https}, {@code s3} and {@code hf} need the
     * artifact gds-remote, and have its default settings.
     *
     * @throws CheckpointException as {@link #open(Path, FileVisitOption...)}
     * @throws CuFileException as {@link SourcePath#of}; IO_ERROR if the server does not answer
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static Checkpoint open(URI uri) {
        return open(SourcePath.of(uri));
    }

    /**
     * Loads all tensors of a checkpoint with a driver of their own; {@link #plan()} selects tensors, memory and requests. The tensors, and
     * memory that was taken from them, keep the driver open until they are closed.
     *
     * @return the tensors, in memory of GPU 0, or in host memory where there is no GPU; the caller closes them
     * @throws CheckpointException as {@link #load(Path, CuFileDriver)}
     * @throws CuFileException as {@link #load(Path, CuFileDriver)} and {@link CuFileDriver#open()}
     */
    public static LoadedTensors load(Path path) {
        return open(path).load();
    }

    /**
     * Loads all tensors of a checkpoint of a server, as {@link #load(Path)} does; {@link #plan()} selects tensors, memory and requests.
     *
     * @throws CheckpointException as {@link #load(Path)}
     * @throws CuFileException as {@link #load(Path)} and {@link #open(URI)}
     */
    public static LoadedTensors load(URI uri) {
        return open(uri).load();
    }

    /**
     * Loads all tensors of a checkpoint, as {@link #load(Path)} does, and reports the progress.
     *
     * @param listener as of {@link LoadPlan#load(CuFileDriver, LoadListener)}
     * @throws CheckpointException as {@link #load(Path)}
     * @throws CuFileException as {@link #load(Path)}
     */
    public static LoadedTensors load(Path path, LoadListener listener) {
        return open(path).loadTelling(listener);
    }

    /**
     * Loads all tensors of a checkpoint of a server, as {@link #load(URI)} does, and reports the progress.
     *
     * @param listener as of {@link LoadPlan#load(CuFileDriver, LoadListener)}
     * @throws CheckpointException as {@link #load(URI)}
     * @throws CuFileException as {@link #load(URI)}
     */
    public static LoadedTensors load(URI uri, LoadListener listener) {
        return open(uri).loadTelling(listener);
    }

    private LoadedTensors loadTelling(LoadListener listener) {
        Objects.requireNonNull(listener, "listener");
        return LoadedTensors.byOwnDriver(driver -> plan().toBest(driver).load(driver, listener));
    }

    /**
     * Loads all tensors with a driver of their own, as {@link #load(Path)} does.
     *
     * @return the tensors, which the caller closes
     * @throws CheckpointException as {@link LoadPlan#load(CuFileDriver)}
     * @throws CuFileException as {@link LoadPlan#load(CuFileDriver)} and {@link CuFileDriver#open()}
     */
    public LoadedTensors load() {
        return LoadedTensors.byOwnDriver(this::load);
    }

    /**
     * Loads all tensors of a checkpoint: {@code open(path).plan().toBest(driver).load(driver)}. {@link #plan()} selects tensors, memory and
     * requests.
     *
     * @param driver the driver that loads, into memory of GPU 0, or into host memory where it has no GPU
     * @return the tensors, which the caller closes
     * @throws CheckpointException as {@link #open(Path, FileVisitOption...)} and {@link LoadPlan#load(CuFileDriver)}
     * @throws CuFileException as {@link LoadPlan#load(CuFileDriver)}
     */
    public static LoadedTensors load(Path path, CuFileDriver driver) {
        return load(path, driver, LoadListener.NONE);
    }

    /**
     * Loads all tensors of a checkpoint, as {@link #load(Path, CuFileDriver)} does, and reports the progress.
     *
     * @param listener as of {@link LoadPlan#load(CuFileDriver, LoadListener)}
     * @throws CheckpointException as {@link #load(Path, CuFileDriver)}
     * @throws CuFileException as {@link #load(Path, CuFileDriver)}
     */
    public static LoadedTensors load(Path path, CuFileDriver driver, LoadListener listener) {
        Objects.requireNonNull(driver, "driver");
        return open(path).plan().toBest(driver).load(driver, listener);
    }

    /**
     * Loads all tensors of a checkpoint of a server, as {@link #load(Path, CuFileDriver)} does; {@link #plan()} selects tensors, memory and
     * requests.
     *
     * @throws CheckpointException as {@link #load(Path, CuFileDriver)}
     * @throws CuFileException as {@link #load(Path, CuFileDriver)} and {@link #open(URI)}
     */
    public static LoadedTensors load(URI uri, CuFileDriver driver) {
        Objects.requireNonNull(driver, "driver");
        return open(uri).load(driver);
    }

    /**
     * Loads all tensors of a checkpoint of a server, as {@link #load(Path, CuFileDriver, LoadListener)} does.
     *
     * @throws CheckpointException as {@link #load(Path, CuFileDriver)}
     * @throws CuFileException as {@link #load(Path, CuFileDriver)} and {@link #open(URI)}
     */
    public static LoadedTensors load(URI uri, CuFileDriver driver, LoadListener listener) {
        Objects.requireNonNull(driver, "driver");
        return open(uri).plan().toBest(driver).load(driver, listener);
    }

    /**
     * Reads the headers of a checkpoint and opens a driver, then starts to load all tensors, as {@link #load(Path)} does. A load that fails or
     * is cancelled closes the driver.
     *
     * @return the future, as of {@link LoadPlan#loadAsync(CuFileDriver)}; the caller closes the tensors
     * @throws CheckpointException as {@link #open(Path, FileVisitOption...)}; the future reports what the load throws
     * @throws CuFileException as {@link CuFileDriver#open()}
     */
    public static CompletableFuture<LoadedTensors> loadAsync(Path path) {
        return loadAsync(path, LoadListener.NONE);
    }

    /**
     * Starts to load all tensors of a checkpoint of a server, as {@link #loadAsync(Path)} does.
     *
     * @throws CheckpointException as {@link #open(URI)}; the future reports what the load throws
     * @throws CuFileException as {@link #open(URI)} and {@link CuFileDriver#open()}
     */
    public static CompletableFuture<LoadedTensors> loadAsync(URI uri) {
        return loadAsync(uri, LoadListener.NONE);
    }

    /**
     * Starts to load all tensors of a checkpoint, as {@link #loadAsync(Path)} does, and reports the progress:
     *
     * <pre>{@code
     * Checkpoint.loadAsync(path, now -> System.out.println(now.bytesDone() + " of " + now.bytesTotal())).thenAccept(this::use);
     * }</pre>
     *
     * @param listener as of {@link LoadPlan#loadAsync(CuFileDriver, LoadListener)}
     * @throws CheckpointException as {@link #loadAsync(Path)}
     * @throws CuFileException as {@link #loadAsync(Path)}
     */
    public static CompletableFuture<LoadedTensors> loadAsync(Path path, LoadListener listener) {
        return open(path).loadAsyncTelling(listener);
    }

    /**
     * Starts to load all tensors of a checkpoint of a server, as {@link #loadAsync(Path, LoadListener)} does.
     *
     * @throws CheckpointException as {@link #loadAsync(URI)}
     * @throws CuFileException as {@link #loadAsync(URI)}
     */
    public static CompletableFuture<LoadedTensors> loadAsync(URI uri, LoadListener listener) {
        return open(uri).loadAsyncTelling(listener);
    }

    private CompletableFuture<LoadedTensors> loadAsyncTelling(LoadListener listener) {
        Objects.requireNonNull(listener, "listener");
        CuFileDriver driver = CuFileDriver.open();
        return Undo.ifFails(driver::close, () -> plan().toBest(driver).loadAsyncKeeping(driver, listener));
    }

    /**
     * Reads the headers of a checkpoint, then starts to load all its tensors as {@link LoadPlan#loadAsync(CuFileDriver)} does;
     * {@link #plan()} selects tensors, memory and requests.
     *
     * @param driver as of {@link #load(Path, CuFileDriver)}
     * @throws CheckpointException as {@link #open(Path, FileVisitOption...)}; the future reports what the load throws
     */
    public static CompletableFuture<LoadedTensors> loadAsync(Path path, CuFileDriver driver) {
        Objects.requireNonNull(driver, "driver");
        return open(path).plan().toBest(driver).loadAsync(driver);
    }

    /**
     * Reads the headers of a checkpoint of a server, then starts to load all its tensors, as {@link #loadAsync(Path, CuFileDriver)} does.
     *
     * @throws CheckpointException as {@link #open(URI)}; the future reports what the load throws
     * @throws CuFileException as {@link #open(URI)}
     */
    public static CompletableFuture<LoadedTensors> loadAsync(URI uri, CuFileDriver driver) {
        Objects.requireNonNull(driver, "driver");
        return open(uri).plan().toBest(driver).loadAsync(driver);
    }

    /**
     * Loads all tensors: {@code plan().toBest(driver).load(driver)}.
     *
     * @param driver as of {@link #load(Path, CuFileDriver)}
     * @return the tensors, which the caller closes
     * @throws CheckpointException as {@link LoadPlan#load(CuFileDriver)}
     * @throws CuFileException as {@link LoadPlan#load(CuFileDriver)}
     */
    public LoadedTensors load(CuFileDriver driver) {
        return plan().toBest(driver).load(driver);
    }

    /**
     * Maps all tensors of a checkpoint instead of reading them: {@code open(path).plan().map()}. Needs neither a driver nor native access;
     * {@link #plan()} selects tensors.
     *
     * @return the tensors, which the caller closes
     * @throws CheckpointException as {@link #open(Path, FileVisitOption...)} and {@link LoadPlan#map()}
     * @throws CuFileException as {@link LoadPlan#map()}
     */
    public static LoadedTensors map(Path path) {
        return open(path).plan().map();
    }

    /**
     * Saves arrays as F32 tensors of one dimension, without a driver and without native access. Copies the arrays into native memory
     * first. {@link #save(Path, Consumer)} saves other types and shapes.
     *
     * @param path a name that ends with {@code .safetensors} in a folder that exists, or a folder, which the save creates if necessary
     * @param tensors the tensors by name
     * @throws CuFileException as {@link SavePlan#save()}; INVALID_VALUE for a name that no tensor may have
     */
    public static void save(Path path, Map<String, float[]> tensors) {
        // sorted, so that maps without an order give equal files
        save(path, plan -> new TreeMap<>(tensors).forEach((name, values) -> plan.tensor(name, values, values.length)));
    }

    /**
     * Saves tensors of any type and shape, without a driver and without native access: arrays, loaded or mapped tensors in host memory,
     * and those of other checkpoints. {@link #save(Path, CuFileDriver, Consumer)} also saves memory of GPUs.
     *
     * <pre>{@code
     * Checkpoint.save(path, plan -> plan.tensor("weight", values, 2, 3).metadata("step", "1000"));
     * }</pre>
     *
     * @param path as of {@link #save(Path, Map)}
     * @param tensors adds the tensors, metadata and options
     * @return what was written
     * @throws CuFileException as {@link SavePlan#save()} and the methods of {@link SavePlan.Builder}
     */
    public static SaveReport save(Path path, Consumer<SavePlan.Builder> tensors) {
        return plan(path, tensors).save();
    }

    /**
     * Saves tensors of any type and shape, also from memory of GPUs:
     *
     * <pre>{@code
     * Checkpoint.save(path, driver, plan -> plan.tensor("weight", values, 2, 3).tensor("bias", DType.BF16, memory, 3));
     * }</pre>
     *
     * @param path as of {@link #save(Path, Map)}
     * @param driver the driver that writes
     * @param tensors adds the tensors, metadata and options
     * @return what was written
     * @throws CuFileException as {@link SavePlan#save(CuFileDriver)} and the methods of {@link SavePlan.Builder}
     */
    public static SaveReport save(Path path, CuFileDriver driver, Consumer<SavePlan.Builder> tensors) {
        return plan(path, tensors).save(driver);
    }

    private static SavePlan plan(Path path, Consumer<SavePlan.Builder> tensors) {
        SavePlan.Builder builder = SavePlan.builder();
        tensors.accept(builder);
        return path.toString().endsWith(".safetensors") ? builder.toFile(path) : builder.toFolder(path);
    }

    private static Checkpoint read(Path path, boolean followLinks, Supplier<CheckpointFiles> look) {
        try {
            return new Checkpoint(path, followLinks, look);
        } catch (OutOfMemoryError e) {
            // safetensors and pickles count what they make; indexes and other formats do not, and the program may have filled the heap
            throw CheckpointException.of(
                    CheckpointRule.HEADER_LIMIT,
                    path,
                    "the headers do not fit into the heap of this JVM, %s MiB (-Xmx)"
                            .formatted(Runtime.getRuntime().maxMemory() >> 20));
        }
    }

    /** Returns the formats that {@link #open(Path, FileVisitOption...)} recognises: those of gds4j first, then those of the program. */
    public static List<CheckpointFormat> formats() {
        return Formats.all();
    }

    /** Returns the path that was opened. */
    public Path path() {
        return path;
    }

    /** Returns the format of the files. */
    @Override
    public CheckpointFormat format() {
        return format;
    }

    /** Returns the files in the order in which they are loaded. */
    @Override
    public List<CheckpointFile> files() {
        return files;
    }

    /** Returns the tensors by name, file by file in the order of their data. */
    public Map<String, TensorInfo> tensors() {
        return tensors;
    }

    /**
     * Returns the description of a tensor: name, type, shape, size and place in its file.
     *
     * @throws CuFileException INVALID_VALUE if the checkpoint has no tensor of this name
     */
    public TensorInfo tensor(String name) {
        TensorInfo found = tensors.get(Objects.requireNonNull(name, "name"));
        if (found == null) {
            throw CuFileException.invalid("Checkpoint.tensor",
                    "%s has no tensor %s".formatted(path, CheckpointException.quote(name)));
        }
        return found;
    }

    /** Returns the names of the tensors, file by file in the order of their data. */
    public Set<String> names() {
        return tensors.keySet();
    }

    /** Returns the number of tensors. */
    public int size() {
        return tensors.size();
    }

    /** Returns an iterator of the tensors' descriptions, file by file in the order of their data. It cannot remove any. */
    @Override
    public Iterator<TensorInfo> iterator() {
        return tensors.values().iterator();
    }

    /**
     * Returns the metadata that is text, such as {@code __metadata__} of safetensors. If a key occurs in several files, the first
     * one counts.
     */
    public Map<String, String> metadata() {
        return metadata.strings();
    }

    /** Returns the metadata of all files with its types. If a key occurs in several files, the first one counts. */
    @Override
    public Metadata typedMetadata() {
        return metadata;
    }

    /** Returns findings that are no errors, one line each, such as a {@code total_size} that the tensors do not have. */
    public List<String> warnings() {
        return warnings;
    }

    /** Returns the bytes of all tensors, without headers; bytes that several tensors share count once. */
    public long bytes() {
        return bytes;
    }

    /**
     * Returns a plan that loads the tensors whose names the filter accepts, into host memory: {@link #plan()} with
     * {@link LoadPlan#filter}.
     *
     * @param names as of {@link LoadPlan#filter}
     */
    public LoadPlan filter(Predicate<String> names) {
        return plan().filter(names);
    }

    /** Returns a plan that loads every tensor into host memory; its methods change that. */
    public LoadPlan plan() {
        return new LoadPlan(this, LoadOptions.DEFAULTS);
    }

    /**
     * Opens the path again, after a save replaced the shards.
     *
     * @param changed thrown if no index names the files, or if there is no checkpoint now that a plan of this one fits
     */
    Checkpoint again(CheckpointException changed) {
        if (!hasIndex) {
            throw changed;
        }
        Checkpoint now;
        try {
            now = read(path, followLinks, look);
        } catch (CheckpointException e) {
            changed.addSuppressed(e);
            throw changed;
        }
        if (!describesSameAs(now)) {
            throw changed;
        }
        return now;
    }

    /** Returns whether both have the same tensors and metadata, wherever their bytes are; checksums are of the bytes. */
    private boolean describesSameAs(Checkpoint other) {
        return tensors.keySet().equals(other.tensors.keySet())
                && tensors.values().stream().allMatch(tensor -> isSame(tensor, other.tensors.get(tensor.name())))
                && withoutChecksums().equals(other.withoutChecksums());
    }

    private static boolean isSame(TensorInfo one, TensorInfo other) {
        return one.dtype().equals(other.dtype())
                && one.shape().equals(other.shape())
                && one.order().equals(other.order())
                && one.length() == other.length();
    }

    private Map<String, String> withoutChecksums() {
        Map<String, String> texts = new HashMap<>(metadata());
        texts.remove(SafetensorsText.CHECKSUMS);
        return texts;
    }

    /** Returns how the path was opened. */
    List<FileVisitOption> links() {
        return followLinks ? List.of(FileVisitOption.FOLLOW_LINKS) : List.of();
    }

    /** Returns the time of {@link #open} in nanoseconds. */
    long headerNanos() {
        return headerNanos;
    }

    /** Does nothing, like closing a stream without files: plans and tensors of the checkpoint stay usable. */
    @Override
    public void close() {
        // open() leaves no file open
    }

    @Override
    public String toString() {
        return "Checkpoint[%s, %s tensors, %s bytes in %s files]".formatted(path, tensors.size(), bytes, files.size());
    }
}
