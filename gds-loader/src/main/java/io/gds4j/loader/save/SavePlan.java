package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.plain.PlainBackend;
import io.gds4j.internal.text.InertText;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.SafetensorsText;
import io.gds4j.loader.internal.metadata.MetadataText;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.FileVersion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SequencedMap;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Named tensors, and the safetensors files to write them to. Immutable and thread-safe; the tensors' memory must stay allocated
 * while the plan is saved.
 *
 * <pre>{@code
 * SavePlan plan = SavePlan.builder()
 *         .tensor("model.norm.weight", DType.BF16, memory, 4096)
 *         .toFolder(Path.of("step-1000"));
 * SaveReport report = plan.save(driver);
 * }</pre>
 *
 * <p>
 * Files are named as Hugging Face names them: {@code model.safetensors}, or {@code model-00001-of-00002.safetensors} and so on
 * with {@code model.safetensors.index.json}. Equal tensors, metadata and options give equal bytes. Tensors are ordered and
 * headers padded so that as many tensors as possible begin at a multiple of {@link SaveOptions#align}.
 *
 * <p>
 * A save writes to hidden temporary files in the same folder, forces them to the disk and then renames them. Until that moment
 * the old checkpoint remains; a crash leaves the old or the new one. The next save of the same name removes what a crash
 * left. Of two simultaneous saves to the same name, one fails with EBUSY.
 *
 * <p>
 * A path of an object store ({@link io.gds4j.source.SourcePath}) receives the bytes in parts from memory, without a copy on the local
 * disk. Its objects appear whole, one after the other and the index last. They replace none: a folder with any part of a checkpoint is
 * refused with EEXIST. A save that fails or is cancelled removes the objects that it has stored. A suppressed exception names those that
 * it cannot remove. With checksums, a save reads the tensors twice.
 *
 * @since 0.1
 */
public final class SavePlan {
    private static final ValueLayout.OfFloat LITTLE_FLOAT =
            ValueLayout.JAVA_FLOAT.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt LITTLE_INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LITTLE_LONG = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);
    /** Begins the metadata key of a tensor whose type safetensors lacks. */
    private static final String FOREIGN_TYPE = "gds4j.type.";
    /** Key of a text that transformers demands in every file. */
    private static final String FORMAT = "format";
    /** Metadata keys that describe the bytes of one file: those of another file would be wrong. */
    private static final Set<String> RESERVED =
            Set.of(SaveFile.CHECKSUMS, MetadataText.TYPES, SafetensorsText.SHARDING);

    private final SaveContent content;

    private SavePlan(SaveContent content) {
        this.content = content;
    }

    /** Returns a builder of a plan without tensors. */
    public static Builder builder() {
        return new Builder();
    }

    /** A tensor in memory, such as {@link io.gds4j.loader.LoadedTensor}. */
    public interface TensorInMemory {
        /** Returns the description of the tensor. */
        TensorInfo info();

        /** Returns exactly its bytes. */
        MemoryRange range();
    }

    /** Files that a save copies from, such as those of a {@link io.gds4j.loader.Checkpoint}. */
    public interface CheckpointContent {
        /** Returns the format of the files. */
        CheckpointFormat format();

        /** Returns the files with their tensors. */
        List<CheckpointFile> files();

        /** Returns the metadata of all files. */
        Metadata typedMetadata();
    }

    /** Collects the tensors of a plan. Not thread-safe. */
    public static final class Builder {
        private final SequencedMap<String, SaveTensor> tensors = new LinkedHashMap<>();
        /** Sorted, so that equal entries give equal bytes. */
        private final SortedMap<String, String> metadata = new TreeMap<>(Map.of(FORMAT, "pt"));
        /** Metadata of checkpoints that is no text. The first file has it: arrays of a tokenizer take megabytes. */
        private final SortedMap<String, MetadataText> typed = new TreeMap<>();
        private final Set<Long> streams = new LinkedHashSet<>();
        private SaveOptions options = SaveOptions.DEFAULTS;

        private Builder() {
        }

        /**
         * Adds a tensor.
         *
         * @param name name in the checkpoint
         * @param dtype element type
         * @param memory exactly its bytes in row-major order, in host memory or on any GPU
         * @param shape dimensions, slowest first, 0 or more each; none for a scalar
         * @throws CuFileException INVALID_VALUE for a name that exists already, is {@code __metadata__} or has an unpaired
         *         surrogate; for a type that safetensors lacks, a negative dimension, a size beyond 2^63 bytes, elements that
         *         do not fill their last block, or memory of another size
         */
        public Builder tensor(String name, DType dtype, IoMemory memory, long... shape) {
            Objects.requireNonNull(memory, "memory");
            String who = "tensor " + InertText.quote(name);
            return add(who, inMemory(who, name, dtype, memory, Optional.empty(), shape));
        }

        /**
         * Adds a tensor in host memory. The save reads a native segment where it lies; its arena must be open to all threads until
         * the end. A segment over a Java array is copied now, into native memory that the plan keeps: later changes of the array are
         * not saved.
         *
         * @param name name in the checkpoint
         * @param dtype element type
         * @param segment exactly the tensor's bytes in row-major order, little-endian
         * @param shape dimensions, slowest first, 0 or more each; none for a scalar
         * @throws CuFileException as {@link #tensor(String, DType, IoMemory, long...)} and {@link MemoryRange#ofSegment(MemorySegment)};
         *         NOMEM_ERROR if the JVM's limit of direct memory leaves too little for the copy
         */
        public Builder tensor(String name, DType dtype, MemorySegment segment, long... shape) {
            return tensor(name, dtype, MemoryRange.ofSegment(segment.isNative() ? segment : copied(segment)), shape);
        }

        /**
         * Adds a tensor from an array. Copies the bytes now, into native memory that the plan keeps: later changes of the array are not
         * saved.
         *
         * @param name name in the checkpoint
         * @param dtype element type
         * @param bytes exactly the tensor's bytes in row-major order, little-endian
         * @param shape dimensions, slowest first, 0 or more each; none for a scalar
         * @throws CuFileException as {@link #tensor(String, DType, MemorySegment, long...)}
         */
        public Builder tensor(String name, DType dtype, byte[] bytes, long... shape) {
            return tensor(name, dtype, MemorySegment.ofArray(bytes), shape);
        }

        /**
         * Adds an F32 tensor from an array. Copies the values now, into native memory that the plan keeps: later changes of the array
         * are not saved.
         *
         * @param name name in the checkpoint
         * @param values the elements in row-major order
         * @param shape dimensions, slowest first, 0 or more each; none for a scalar
         * @throws CuFileException as {@link #tensor(String, DType, MemorySegment, long...)}
         */
        public Builder tensor(String name, float[] values, long... shape) {
            MemorySegment bytes = allocated((long) values.length * Float.BYTES);
            MemorySegment.copy(values, 0, bytes, LITTLE_FLOAT, 0, values.length);
            return tensor(name, DType.F32, bytes, shape);
        }

        /**
         * Adds an I32 tensor from an array, as {@link #tensor(String, float[], long...)} does.
         *
         * @param name name in the checkpoint
         * @param values the elements in row-major order
         * @param shape dimensions, slowest first, 0 or more each; none for a scalar
         * @throws CuFileException as {@link #tensor(String, DType, MemorySegment, long...)}
         */
        public Builder tensor(String name, int[] values, long... shape) {
            MemorySegment bytes = allocated((long) values.length * Integer.BYTES);
            MemorySegment.copy(values, 0, bytes, LITTLE_INT, 0, values.length);
            return tensor(name, DType.I32, bytes, shape);
        }

        /**
         * Adds an I64 tensor from an array, as {@link #tensor(String, float[], long...)} does.
         *
         * @param name name in the checkpoint
         * @param values the elements in row-major order
         * @param shape dimensions, slowest first, 0 or more each; none for a scalar
         * @throws CuFileException as {@link #tensor(String, DType, MemorySegment, long...)}
         */
        public Builder tensor(String name, long[] values, long... shape) {
            MemorySegment bytes = allocated((long) values.length * Long.BYTES);
            MemorySegment.copy(values, 0, bytes, LITTLE_LONG, 0, values.length);
            return tensor(name, DType.I64, bytes, shape);
        }

        private static MemorySegment copied(MemorySegment segment) {
            return allocated(segment.byteSize()).copyFrom(segment);
        }

        private static MemorySegment allocated(long bytes) {
            try {
                return Arena.ofAuto().allocate(bytes, Long.BYTES);
            } catch (OutOfMemoryError e) {
                throw CuFileException.of(
                        CuFileError.NOMEM_ERROR,
                        SaveFailure.FUNCTION,
                        "a copy of %s bytes exceeds the direct memory of this JVM (-XX:MaxDirectMemorySize)"
                                .formatted(bytes));
            }
        }

        private static SaveTensor inMemory(
                String who, String name, DType dtype, IoMemory memory, Optional<TensorInfo> origin, long... shape) {
            long bytes = bytes(who, dtype, shape);
            if (memory.range().length() != bytes) {
                throw CuFileException.invalid(SaveFailure.FUNCTION,
                        "%s of type %s and shape %s has %s bytes, its memory has %s"
                                .formatted(who, dtype, Arrays.toString(shape), bytes, memory.range().length()));
            }
            return new SaveTensor(name, dtype, shape.clone(), bytes, new SaveTensor.InMemory(memory, origin));
        }

        /**
         * Adds a tensor whose bytes the program makes while they are written, so that they take little memory.
         *
         * @param name name in the checkpoint
         * @param dtype element type
         * @param content makes the bytes, little-endian in row-major order; an exception of it ends the save and is thrown as it is
         * @param shape dimensions, slowest first, 0 or more each; none for a scalar
         * @throws CuFileException INVALID_VALUE as {@link #tensor(String, DType, IoMemory, long...)}
         */
        public Builder generated(String name, DType dtype, TensorContent content, long... shape) {
            Objects.requireNonNull(content, "content");
            String who = "tensor " + InertText.quote(name);
            return add(who, new SaveTensor(
                    name, dtype, shape.clone(), bytes(who, dtype, shape), new SaveTensor.Generated(content)));
        }

        /**
         * Adds a tensor that was loaded. Safetensors are row-major: the save transposes a tensor of another
         * {@link TensorInfo#order}. It then takes host memory of the tensor's size while it writes the tensor.
         *
         * @throws CuFileException INVALID_VALUE as {@link #tensor(String, DType, IoMemory, long...)}
         */
        public Builder tensor(TensorInMemory tensor) {
            TensorInfo info = tensor.info();
            String who = "tensor " + InertText.quote(info.name());
            return add(who, inMemory(who, info.name(), info.dtype(), tensor.range(), Optional.of(info), shape(info))
                    .inOrderOf(info));
        }

        /**
         * Adds tensors that were loaded, as {@link #tensor(TensorInMemory)} does.
         *
         * @param tensors such as {@link io.gds4j.loader.LoadedTensors}
         * @throws CuFileException as {@link #tensor(TensorInMemory)}
         */
        public Builder tensors(Iterable<? extends TensorInMemory> tensors) {
            tensors.forEach(this::tensor);
            return this;
        }

        /**
         * Adds all tensors and the metadata of a checkpoint. The save copies their bytes from its files through staging memory, and
         * transposes tensors that are not row-major as {@link #tensor(TensorInMemory)} does.
         *
         * <p>
         * Metadata that describes the files is left out ({@link io.gds4j.loader.format.CheckpointFormat#describesFiles}). What is no
         * text becomes one: numbers in decimal, arrays as JSON. The entry {@code gds4j.metadata} has their types, so that
         * {@link io.gds4j.loader.Checkpoint#typedMetadata} of the copy is equal. The first file has them, every file has the texts. A {@code format}
         * that is no text is left out.
         *
         * <p>
         * Types that safetensors lacks, such as blocks of quantised values, become U8: their last dimension counts bytes. The metadata
         * entry {@code gds4j.type.NAME} then tells type and shape, for example {@code Q8_0 [2, 32]}.
         *
         * <p>
         * Tensors of the same type, shape and bytes of a file, such as tied weights, are written once: the metadata entry
         * {@code gds4j.alias.NAME} has the name of the tensor that is written. Checkpoints that gds4j opens have both names, other
         * readers see one: {@link SavePlan#furtherNames} tells which they miss, {@link #checkpointWithAllNames} writes each.
         *
         * @throws CuFileException INVALID_VALUE for a tensor name that exists already, and for an array in the metadata that exceeds
         *         a header's 100,000,000 bytes
         */
        public Builder checkpoint(CheckpointContent checkpoint) {
            return checkpoint(checkpoint, new HashMap<>());
        }

        /**
         * As {@link #checkpoint}, but writes tensors that share bytes of a file once for each name, as readers without aliases need it.
         *
         * @throws CuFileException as {@link #checkpoint}
         */
        public Builder checkpointWithAllNames(CheckpointContent checkpoint) {
            return checkpoint(checkpoint, null);
        }

        /** @param written collects the tensors that are written, to write none twice; null if each name is written */
        private Builder checkpoint(CheckpointContent checkpoint, @Nullable Map<TensorInfo, String> written) {
            Metadata all = checkpoint.typedMetadata();
            for (String key : all.keys()) {
                if (isCopied(checkpoint, key)) {
                    all.get(key).ifPresent(value -> copy(key, value));
                }
            }
            Map<Path, FileVersion> versions = HashMap.newHashMap(checkpoint.files().size());
            checkpoint.files().forEach(file -> versions.put(file.path(), file.version()));
            for (CheckpointFile file : checkpoint.files()) {
                for (TensorInfo info : file.tensors()) {
                    TensorInfo nameless = info.renamed("");
                    String same =
                            info.length() == 0 || written == null ? null : written.putIfAbsent(nameless, info.name());
                    if (same == null) {
                        add(info, versions);
                    } else {
                        requireNew(info.name());
                        metadata(SafetensorsText.ALIAS + info.name(), same);
                    }
                }
            }
            return this;
        }

        private static boolean isCopied(CheckpointContent checkpoint, String key) {
            return !RESERVED.contains(key)
                    && !key.startsWith(SafetensorsText.ALIAS)
                    && !checkpoint.format().describesFiles(key);
        }

        private void copy(String key, MetadataValue value) {
            if (value instanceof MetadataValue.Text(String text)) {
                metadata(key, text);
            } else if (!key.equals(FORMAT)) {
                SafetensorsText.requireEncodable(SaveFailure.FUNCTION, key);
                MetadataText text = MetadataText.of(SaveFailure.FUNCTION, key, value);
                SafetensorsText.requireEncodable(SaveFailure.FUNCTION, text.text());
                typed.put(key, text);
                metadata.remove(key);
            }
        }

        private void add(TensorInfo info, Map<Path, FileVersion> versions) {
            DType dtype = info.dtype();
            long[] shape = shape(info);
            if (!DType.ofSafetensors().contains(dtype)) {
                metadata(FOREIGN_TYPE + info.name(), "%s %s".formatted(dtype, info.shape()));
                dtype = DType.U8;
                shape = byteShape(shape, info.length());
            }
            add("tensor " + InertText.quote(info.name()),
                    new SaveTensor(
                            info.name(), dtype, shape, info.length(), SaveTensor.InFiles.of(info, versions))
                            .inOrderOf(info));
        }

        /** Returns the shape whose last dimension counts bytes; a single dimension if rows are no whole bytes. */
        private static long[] byteShape(long[] shape, long bytes) {
            if (bytes == 0) {
                return new long[]{0};
            }
            long rows = 1;
            for (int i = 0; i < shape.length - 1; i++) {
                rows *= shape[i];
            }
            if (shape.length == 0 || bytes % rows != 0) {
                return new long[]{bytes};
            }
            long[] inBytes = shape.clone();
            inBytes[shape.length - 1] = bytes / rows;
            return inBytes;
        }

        /**
         * Adds or replaces an entry of {@code __metadata__}; {@code format} is {@code pt} by default, as transformers demands.
         *
         * @throws CuFileException INVALID_VALUE for an unpaired surrogate, or for the keys of the checksums, of types and of slices,
         *         {@code gds4j.crc32c}, {@code gds4j.metadata} and {@code DCP_SHARDING_INFO}
         */
        public Builder metadata(String key, String value) {
            SafetensorsText.requireEncodable(SaveFailure.FUNCTION, key);
            SafetensorsText.requireEncodable(SaveFailure.FUNCTION, value);
            if (RESERVED.contains(key)) {
                throw CuFileException.invalid(SaveFailure.FUNCTION,
                        "the metadata key %s is gds4j's own or torch's, and describes one file".formatted(key));
            }
            metadata.put(key, value);
            typed.remove(key);
            return this;
        }

        /**
         * Makes the save wait for the work that is queued on a stream when it begins.
         *
         * @param stream a raw {@code CUstream}, or the address of a {@link io.gds4j.HostStream}
         */
        public Builder after(long stream) {
            streams.add(stream);
            return this;
        }

        /** Sets the options; {@link SaveOptions#DEFAULTS} by default. */
        public Builder options(SaveOptions newOptions) {
            options = Objects.requireNonNull(newOptions, "options");
            return this;
        }

        /**
         * Returns a plan that writes one file.
         *
         * @param file a name that ends with {@code .safetensors} in a folder that exists
         * @throws CuFileException INVALID_VALUE for another name, if the header exceeds 100,000,000 bytes, or if a tensor has a name
         *         of more than 4,096 characters or more than 64 dimensions
         */
        public SavePlan toFile(Path file) {
            SaveTarget target = SaveTarget.file(file);
            return plan(target, List.of(file(0, List.copyOf(tensors.values()))));
        }

        /**
         * Returns a plan that writes to a folder: one file, or several with an index if the tensors exceed
         * {@link SaveOptions#maxShardBytes}. Other files of the folder remain.
         *
         * @param folder the folder, which the save creates if necessary
         * @throws CuFileException INVALID_VALUE if a header exceeds 100,000,000 bytes, there are more than 99,999 files, or a tensor
         *         has a name of more than 4,096 characters or more than 64 dimensions
         */
        public SavePlan toFolder(Path folder) {
            SaveTarget target = SaveTarget.folder(folder);
            List<List<SaveTensor>> shards = Shards.of(tensors.values(), options.maxShardBytes());
            List<SaveFile> files = new ArrayList<>(shards.size());
            for (List<SaveTensor> shard : shards) {
                files.add(file(files.size(), shard));
            }
            return plan(target, files);
        }

        private SaveFile file(int number, List<SaveTensor> shard) {
            SortedMap<String, String> entries = new TreeMap<>(metadata);
            if (number == 0 && !typed.isEmpty()) {
                typed.forEach((key, value) -> entries.put(key, value.text()));
                entries.put(MetadataText.TYPES, MetadataText.types(typed));
            }
            return new SaveFile(PageOrder.of(shard, options.align()), entries, options);
        }

        private SavePlan plan(SaveTarget target, List<SaveFile> files) {
            return new SavePlan(new SaveContent(target, options, files, List.copyOf(streams), Optional.empty()));
        }

        private Builder add(String who, SaveTensor tensor) {
            SafetensorsText.requireEncodable(SaveFailure.FUNCTION, tensor.name());
            if (tensor.name().equals(SafetensorsText.METADATA)) {
                throw CuFileException.invalid(SaveFailure.FUNCTION,
                        "no tensor may be named " + SafetensorsText.METADATA);
            }
            if (!DType.ofSafetensors().contains(tensor.dtype())) {
                throw CuFileException.invalid(SaveFailure.FUNCTION,
                        "%s has type %s; safetensors has %s".formatted(who, tensor.dtype(), DType.ofSafetensors()));
            }
            requireNew(tensor.name());
            tensors.put(tensor.name(), tensor);
            return this;
        }

        private void requireNew(String name) {
            if (tensors.containsKey(name) || metadata.containsKey(SafetensorsText.ALIAS + name)) {
                throw CuFileException.invalid(SaveFailure.FUNCTION,
                        "tensor " + InertText.quote(name) + " exists already");
            }
        }

        private static long bytes(String who, DType dtype, long... shape) {
            boolean negative = Arrays.stream(shape).anyMatch(dimension -> dimension < 0);
            OptionalLong bytes = negative ? OptionalLong.empty() : dtype.bytes(Arrays.stream(shape).boxed().toList());
            return bytes.orElseThrow(() -> CuFileException.invalid(SaveFailure.FUNCTION,
                    "%s of type %s has no valid size: %s".formatted(who, dtype, Arrays.toString(shape))));
        }

        private static long[] shape(TensorInfo info) {
            return info.shape().stream().mapToLong(Long::longValue).toArray();
        }
    }

    /** Returns the same tensors in the same layout for another folder or file, as {@link #target} is one. */
    public SavePlan withTarget(Path path) {
        boolean folder = content.target().isFolder();
        return new SavePlan(content.withTarget(folder ? SaveTarget.folder(path) : SaveTarget.file(path)));
    }

    /**
     * Returns the same plan with memory for its snapshots, which then take no time to allocate.
     *
     * @param memory memory for one save at a time; it stays the property of the program
     */
    public SavePlan withSnapshotMemory(SnapshotMemory memory) {
        return new SavePlan(content.withSnapshotBlocks(memory.blocks()));
    }

    /** Returns the folder or file that the plan writes to. */
    public Path target() {
        return content.target().path();
    }

    /** Returns the names of the files with tensors. */
    public List<String> fileNames() {
        return content.target().names(content.files().size());
    }

    /** Returns the number of tensors. */
    public int tensors() {
        return content.tensors();
    }

    /** Returns the names, sorted, that metadata gives tensors that are written under another name: other readers do not see them. */
    public List<String> furtherNames() {
        return content.files().stream().flatMap(file -> file.metadata().keySet().stream())
                .filter(key -> key.startsWith(SafetensorsText.ALIAS))
                .map(key -> key.substring(SafetensorsText.ALIAS.length())).distinct().sorted().toList();
    }

    /** Returns the bytes of all tensors, without headers. */
    public long bytes() {
        return content.bytes();
    }

    /** Returns the number of tensors that begin at a multiple of 4096 in their file, or of the alignment if that is larger. */
    public int alignedTensors() {
        return content.alignedTensors();
    }

    /** Returns the options. */
    public SaveOptions options() {
        return content.options();
    }

    /**
     * Saves by java.nio, without a driver and without native access, on every system that Java runs on. Tensors are arrays, host
     * segments, those of other checkpoints, or what the program generates.
     *
     * @return what was written
     * @throws CuFileException as {@link #save(CuFileDriver, SaveListener)}; CUDA_POINTER_INVALID for memory of a GPU, and for that of an arena
     *         that is confined to a thread
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public SaveReport save() {
        try (CuFileDriver driver = CuFileDriver.open(new PlainBackend())) {
            return save(driver);
        }
    }

    /** Saves without a listener; see {@link #save(CuFileDriver, SaveListener)}. */
    public SaveReport save(CuFileDriver driver) {
        return save(driver, SaveListener.NONE);
    }

    /**
     * Writes the files, or throws and leaves the old checkpoint as it was. A failure after the new checkpoint has replaced the old one
     * says "the new checkpoint is in place": readers get it, and the next save of this name tidies up. After an interrupt of the calling
     * thread the save waits for the writes in flight, removes its files and throws, unless the new checkpoint is already complete.
     *
     * @param listener receives progress; an exception of it ends the save and is thrown as it is
     * @return what was written
     * @throws io.gds4j.loader.format.CheckpointException FILE_CHANGED if a file of {@link Builder#checkpoint} is gone or
     *         changed after its header was read
     * @throws CuFileException with an errno: ENOSPC or EDQUOT before the first byte is written where the file system reserves
     *         space, EBUSY if another save writes to the same name, EACCES or EROFS in a read-only folder, ENOENT if the
     *         folder is missing or disappears, EIO; NOMEM_ERROR if there is no room for a snapshot; as
     *         {@link io.gds4j.CuFileHandle#write(IoMemory, long, long, long)}
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public SaveReport save(CuFileDriver driver, SaveListener listener) {
        return start(driver, listener, SystemFileCalls.ofProcess()).await();
    }

    /** Saves without a listener; see {@link #saveAsync(CuFileDriver, SaveListener)}. */
    public CompletableFuture<SaveReport> saveAsync(CuFileDriver driver) {
        return saveAsync(driver, SaveListener.NONE);
    }

    /**
     * Starts a save and returns its future. With a snapshot, this call returns when the tensors may change again. With
     * {@link Consistency#STOP} it returns at once, and the tensors may change after {@link SaveListener#released} or when the
     * future is done.
     *
     * <p>
     * {@code cancel} of this future (not of a dependent one) waits for the writes in flight and removes the files before it
     * returns; its argument has no effect. The future is done then, not before, unless a listener cancels. It returns false if the new
     * checkpoint is already complete. A failure of the snapshot
     * is reported by the future, too.
     *
     * @param listener receives progress
     */
    public CompletableFuture<SaveReport> saveAsync(CuFileDriver driver, SaveListener listener) {
        SaveFuture future = start(driver, listener, SystemFileCalls.ofProcess());
        if (options().consistency() != Consistency.STOP) {
            future.awaitReleased();
        }
        return future;
    }

    /** Starts a save whose file system calls a test may replace. */
    SaveFuture start(CuFileDriver driver, SaveListener listener, FileCalls calls) {
        Objects.requireNonNull(driver, "driver");
        Objects.requireNonNull(listener, "listener");
        return SaveFuture.start(released -> content.target().isStore()
                ? new ObjectSave(content, driver, listener, calls, released)
                : new WholeSave(content, driver, listener, calls, released));
    }

    SaveContent content() {
        return content;
    }

    @Override
    public String toString() {
        return "SavePlan[%s tensors, %s bytes in %s files to %s]".formatted(tensors(), bytes(), content.files().size(),
                target());
    }
}
