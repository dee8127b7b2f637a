package io.gds4j.spark;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.ParallelLoadPlan;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The models of an executor. The first task that asks for a model loads it, the others share it.
 *
 * <pre>{@code
 * JavaRDD<String> answers = prompts.mapPartitions(rows -> {
 *     LoadedTensors model = GdsExecutor.current().models().forTask("/models/llama");
 *     return answer(model, rows);
 * });
 * }</pre>
 *
 * <p>
 * A model is what a path, the modification times of its files, a {@link ModelPlan} and a memory lead to. It stays loaded after its last
 * task, until its memory is needed for another model, its files change or the executor ends. Ranks whose rules leave every tensor whole
 * share one model. Thread-safe.
 *
 * @since 0.1
 */
public final class ModelRegistry implements AutoCloseable {
    private static final String FUNCTION = "ModelRegistry.acquire";

    /** @param device ordinal of the GPU, or {@link MemoryRange#NO_DEVICE} */
    private record Key(Path path, ModelPlan plan, int device) {
    }

    private record Loaded(LoadedTensors tensors, CheckpointStamp stamp, long storageBytes) {
    }

    private static final class Entry {
        private final Key key;
        private final CompletableFuture<Loaded> loaded = new CompletableFuture<>();
        private int users;
        /** Bytes of the budget. */
        private long bytes;
        /** No task finds it any more; it goes with its last user. */
        private boolean isStale;

        Entry(Key key) {
            this.key = key;
        }
    }

    /** Learns which models tasks find. */
    interface Listener {
        /** @param isHeld false if later tasks do not find the model any more */
        void changed(Path path, ModelPlan plan, int device, boolean isHeld);
    }

    private final CuFileDriver driver;
    private final ModelBudget budget;
    private final Listener listener;
    /** The least recently used comes first. */
    private final LinkedHashMap<Key, Entry> entries = new LinkedHashMap<>();
    private final Map<Integer, Long> used = new HashMap<>();
    private boolean closed;
    private long loads;
    private long hits;
    private long evictions;
    private long loadNanos;

    ModelRegistry(CuFileDriver driver, ModelBudget budget, Listener listener) {
        this.driver = driver;
        this.budget = budget;
        this.listener = listener;
    }

    /** Returns all tensors of a checkpoint until the task of this thread ends; see {@link #forTask(String, ModelPlan)}. */
    public LoadedTensors forTask(String path) {
        return forTask(path, ModelPlan.WHOLE);
    }

    /**
     * Returns the tensors of a model until the task of this thread ends.
     *
     * @param path as of {@link Checkpoint#open}
     * @throws CuFileException INVALID_VALUE outside a task; otherwise as {@link #acquire}
     */
    public LoadedTensors forTask(String path, ModelPlan plan) {
        TaskContext task = TaskContext.get();
        if (task == null) {
            throw CuFileException.invalid("ModelRegistry.forTask",
                    "this thread runs no Spark task; acquire() works on any thread");
        }
        Model model = acquire(path, plan);
        task.addTaskCompletionListener((TaskCompletionListener) ended -> model.close());
        return model.tensors();
    }

    /**
     * Returns a model, and loads it if no task has done so. Waits while another task loads it.
     *
     * @param path as of {@link Checkpoint#open}
     * @return the model, to be closed
     * @throws CuFileException NOMEM_ERROR if the models in use leave too little of the budget; DEVICE_NOT_FOUND if the plan needs a GPU
     *         and the task has none; otherwise as {@link Checkpoint#open} and {@link LoadPlan#load(CuFileDriver)}
     * @throws CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public Model acquire(String path, ModelPlan plan) {
        Key key = new Key(Path.of(path).toAbsolutePath(), plan.content(), device(plan.target()));
        while (true) {
            Entry own = new Entry(key);
            Entry entry = enter(own);
            if (entry == own) {
                return fill(own);
            }
            Optional<Model> model = share(entry);
            if (model.isPresent()) {
                return model.get();
            }
        }
    }

    private static int device(Target target) {
        OptionalInt device = target == Target.HOST ? OptionalInt.empty() : GdsExecutor.current().device();
        if (target == Target.GPU && device.isEmpty()) {
            GdsExecutor executor = GdsExecutor.current();
            throw CuFileException.of(CuFileError.DEVICE_NOT_FOUND, FUNCTION, GdsExecutor.gpuAddress()
                    .map(address -> "%s has GPU %s of Spark and no CUDA: %s"
                            .formatted(executor, address, executor.noGpu().orElse("unknown reason")))
                    .orElse("Spark assigned no GPU to this task; set spark.task.resource.gpu.amount or use Target.AUTO"));
        }
        return device.orElse(MemoryRange.NO_DEVICE);
    }

    /** Returns the entry of a model with one more user: a known one, or the given one, which this thread fills. */
    private synchronized Entry enter(Entry own) {
        if (closed) {
            throw CuFileException.of(CuFileError.DRIVER_NOT_INITIALIZED, FUNCTION, "the executor ends");
        }
        Entry known = entries.remove(own.key);
        Entry entry = known == null ? own : known;
        entries.put(own.key, entry);
        entry.users++;
        return entry;
    }

    /** Returns empty if the model is out of date, or if the task that loaded it was killed: then try again. */
    private Optional<Model> share(Entry entry) {
        boolean handedOver = false;
        try {
            Loaded loaded = entry.loaded.get();
            if (loaded.stamp().difference().isPresent()) {
                retire(entry);
                return Optional.empty();
            }
            synchronized (this) {
                hits++;
            }
            handedOver = true;
            return Optional.of(new Model(loaded.tensors(), true, loaded.storageBytes(), () -> leave(entry)));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw CuFileException.builder(FUNCTION)
                    .error(CuFileError.IO_ERROR)
                    .errno(Errno.EINTR)
                    .path(entry.key.path())
                    .detail("interrupted while another task loads the model")
                    .buildInterrupted();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof CuFileInterruptedException) {
                return Optional.empty();
            }
            throw e.getCause() instanceof RuntimeException failure ? failure : new IllegalStateException(e.getCause());
        } finally {
            if (!handedOver) {
                leave(entry);
            }
        }
    }

    private Model fill(Entry entry) {
        long start = System.nanoTime();
        try {
            Loaded loaded = load(entry);
            synchronized (this) {
                loads++;
                loadNanos += System.nanoTime() - start;
            }
            // before others can find it out of date, so that the listener learns both in order
            tell(entry, true);
            entry.loaded.complete(loaded);
            return new Model(loaded.tensors(), false, loaded.storageBytes(), () -> leave(entry));
        } catch (RuntimeException | Error e) {
            retire(entry);
            // before others learn of the failure: they try again, and need the bytes
            giveBack(entry);
            entry.loaded.completeExceptionally(e);
            leave(entry);
            throw e;
        }
    }

    private Loaded load(Entry entry) {
        Key key = entry.key;
        Checkpoint checkpoint = Checkpoint.open(key.path());
        CheckpointStamp stamp = CheckpointStamp.of(checkpoint);
        LoadPlan plan = key.device() == MemoryRange.NO_DEVICE
                ? checkpoint.plan()
                : checkpoint.plan().to(MemoryKind.CUDA_DEVICE, key.device());
        if (!key.plan().include().isEmpty()) {
            plan = plan.include(key.plan().include());
        }
        LoadPlan whole = plan;
        LoadedTensors tensors;
        long storage;
        if (key.plan().world() == 1) {
            reserve(entry, plan.destinationBytes());
            tensors = withRoom(entry, () -> whole.load(driver));
            storage = plan.bytes();
        } else {
            int rank = key.plan().rank();
            ParallelLoadPlan slices = plan.rank(rank, key.plan().world(), key.plan().parallel());
            reserve(entry, slices.destinationBytes(rank));
            tensors = withRoom(entry, () -> slices.load(driver).rank(rank));
            storage = slices.storageBytes();
        }
        boolean unchanged = false;
        try {
            Optional<String> difference = stamp.difference();
            if (difference.isPresent()) {
                throw CheckpointException.of(
                        CheckpointRule.FILE_CHANGED, key.path(), "this executor " + difference.get());
            }
            unchanged = true;
            return new Loaded(tensors, stamp, storage);
        } finally {
            if (!unchanged) {
                tensors.close();
            }
        }
    }

    /** Loads, and once more without idle models if others have taken the memory that the budget promises. */
    private LoadedTensors withRoom(Entry entry, Supplier<LoadedTensors> load) {
        try {
            return load.get();
        } catch (CuFileException e) {
            if (e.error() != CuFileError.NOMEM_ERROR || !evict(entry.key.device(), 0)) {
                throw e;
            }
            return load.get();
        }
    }

    /**
     * Frees models without users, the least recently used first, until the models of a memory have at most so many bytes.
     *
     * @return whether it freed any
     */
    private synchronized boolean evict(int device, long most) {
        boolean freed = false;
        for (Entry idle : entries.values().stream().filter(one -> one.users == 0).toList()) {
            if (idle.key.device() == device && used(device) > most) {
                evictions++;
                remove(idle);
                freed = true;
            }
        }
        return freed;
    }

    /** Takes bytes of the budget; models without users make room. */
    private synchronized void reserve(Entry entry, long bytes) {
        int device = entry.key.device();
        long limit = budget.bytes(device);
        if (bytes <= limit) {
            evict(device, limit - bytes);
        }
        if (used(device) + bytes > limit) {
            throw CuFileException.of(CuFileError.NOMEM_ERROR, FUNCTION, entry.key.path(),
                    "the model needs %s bytes; models in use have %s of the %s bytes of %s on this executor"
                            .formatted(bytes, used(device), limit, ModelBudget.key(device)));
        }
        entry.bytes = bytes;
        used.merge(device, bytes, Long::sum);
    }

    private long used(int device) {
        return used.getOrDefault(device, 0L);
    }

    /** Hides an entry from later tasks. */
    private synchronized void retire(Entry entry) {
        entry.isStale = true;
        hide(entry);
    }

    private void hide(Entry entry) {
        if (entries.remove(entry.key, entry) && entry.loaded.isDone()) {
            tell(entry, false);
        }
    }

    private void tell(Entry entry, boolean isHeld) {
        listener.changed(entry.key.path(), entry.key.plan(), entry.key.device(), isHeld);
    }

    private synchronized void leave(Entry entry) {
        entry.users--;
        if (entry.users == 0 && (entry.isStale || closed)) {
            remove(entry);
        }
    }

    private synchronized void giveBack(Entry entry) {
        used.merge(entry.key.device(), -entry.bytes, Long::sum);
        entry.bytes = 0;
    }

    /** Frees an entry without users. */
    private void remove(Entry entry) {
        hide(entry);
        giveBack(entry);
        if (entry.loaded.isDone() && !entry.loaded.isCompletedExceptionally()) {
            entry.loaded.join().tensors().close();
        }
    }

    /** Returns the number of models that tasks loaded. */
    synchronized long loads() {
        return loads;
    }

    /** Returns how often a task shared the model of another one. */
    synchronized long hits() {
        return hits;
    }

    synchronized long evictions() {
        return evictions;
    }

    synchronized long loadNanos() {
        return loadNanos;
    }

    /** {@return bytes of memory that models take, of the host and of all GPUs} */
    public synchronized long bytes() {
        return used.values().stream().mapToLong(Long::longValue).sum();
    }

    /** {@return the number of models, including those without a task} */
    public synchronized int size() {
        return entries.size();
    }

    /** Frees the models without tasks; the others go with their last task. The plugin calls it. Idempotent. */
    @Override
    public synchronized void close() {
        closed = true;
        entries.values().stream().filter(entry -> entry.users == 0).toList().forEach(this::remove);
    }

    @Override
    public synchronized String toString() {
        return "ModelRegistry[%s models, %s bytes]".formatted(entries.size(), bytes());
    }
}
