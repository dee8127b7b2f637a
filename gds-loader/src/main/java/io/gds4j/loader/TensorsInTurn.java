package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.Workers;
import io.gds4j.loader.internal.load.LoadFuture;
import io.gds4j.loader.internal.load.LoadJob;
import io.gds4j.loader.internal.load.LoadOptions.Target;
import io.gds4j.loader.internal.load.LoadRun;
import io.gds4j.loader.internal.load.Ranges;
import io.gds4j.loader.internal.load.TurnRing;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryAllocator;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Tensors that take turns in memory of a limited size; {@link LoadPlan#inTurn(CuFileDriver, Budget)} loads them. They come in their
 * order, and are closed in any.
 *
 * <pre>{@code
 * try (TensorsInTurn tensors = plan.inTurn(driver, Budget.bytes(2L << 30))) {
 *     for (TensorInTurn turn : tensors) {
 *         engine.upload(turn.tensor().name(), turn.tensor().segment());
 *     }
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe: several threads may take tensors and close them. An iterator belongs to one thread. The driver stays open longer.
 *
 * @since 0.1
 */
public final class TensorsInTurn implements Iterable<TensorInTurn>, AutoCloseable {
    private static final String FUNCTION = "TensorsInTurn";
    /** How long {@link #next} waits while open tensors leave no room for the next one. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final TurnRing ring;
    private final MemoryAllocator allocator;
    private final LoadFuture<Loaded> load;
    private final AtomicReference<@Nullable LoadReport> report;
    /** Open tensors of iterators. */
    private final Set<TensorInTurn> lent = ConcurrentHashMap.newKeySet();
    /** Ends a load that the program forgot: its threads wait for room. */
    private final Lifetime lifetime;

    /** The result of a load whose tensors went to the consumer. */
    private record Loaded() implements AutoCloseable {
        @Override
        public void close() {
        }
    }

    /**
     * What is loaded, and where to.
     *
     * @param slices returns the slices of a plan in their order
     * @param targets memory by rank, of one rank
     */
    record Choice(Function<LoadPlan, List<TensorSlice>> slices, SortedMap<Integer, Target> targets, Ranges ranges) {
        TurnPlan within(Budget budget, CuFileDriver driver, LoadPlan plan) {
            return TurnPlan.of(plan.checkpoint().files(), slices.apply(plan), targets, plan.options(), ranges,
                    new TurnPlan.Budget(budget.bytes(), bounceBuffers(driver)));
        }

        /** Returns the bytes of all bounce buffers of a driver; 0 for a backend without any. */
        private static long bounceBuffers(CuFileDriver driver) {
            try {
                return driver.posixPoolSlabs().totalBytes();
            } catch (CuFileException e) {
                return 0;
            }
        }
    }

    private TensorsInTurn(
            TurnRing ring, CuFileDriver driver, LoadRun<Loaded> run, AtomicReference<@Nullable LoadReport> report) {
        this.ring = ring;
        this.report = report;
        this.allocator = driver.allocator();
        LoadFuture<Loaded> started = ring.start(run);
        this.load = started;
        this.lifetime = Lifetime.of(this, "TensorsInTurn", () -> end(ring, started));
    }

    private static void end(TurnRing ring, LoadFuture<Loaded> load) {
        ring.close();
        load.cancel(true);
    }

    static TensorsInTurn start(
            LoadPlan plan, CuFileDriver driver, Budget budget, ProgressListener listener, Choice choice) {
        return start(plan, driver, budget, listener, choice, PATIENCE);
    }

    /** With another patience, for tests. */
    static TensorsInTurn start(LoadPlan plan, CuFileDriver driver, Budget budget, ProgressListener listener,
            Choice choice, Duration patience) {
        Objects.requireNonNull(driver, "driver");
        Objects.requireNonNull(budget, "budget");
        Objects.requireNonNull(listener, "listener");
        Target target = choice.targets.get(choice.targets.firstKey());
        if (target.into() != null || target.destinations() != null) {
            throw CuFileException.invalid("LoadPlan", "tensors in turn have memory of the loader; %s is for load"
                    .formatted(target.into() != null ? "into" : "destinations"));
        }
        TurnPlan first = choice.within(budget, driver, plan);
        if (target.kind().isCuda()) {
            first.requireConversions(driver.allocator());
        }
        TurnRing ring = new TurnRing(driver, target, first.options(), first.ringBytes(), patience);
        AtomicReference<@Nullable LoadReport> report = new AtomicReference<>();
        return new TensorsInTurn(ring, driver, new LoadRun<>(
                job(plan, first, ring, driver, listener, report::set), changed -> {
                    LoadPlan now = plan.again(changed);
                    return job(now, choice.within(budget, driver, now), ring, driver, listener, report::set);
                }), report);
    }

    private static LoadJob<Loaded> job(LoadPlan plan, TurnPlan turns, TurnRing ring, CuFileDriver driver,
            ProgressListener listener, Consumer<LoadReport> result) {
        return new LoadJob<>(plan.with(turns.options()).order(
                turns.layout(), ring, turns.layout().tensors().size(), turns.layout().tensorBytes(), listener, () -> {
                    if (listener instanceof LoadListener all) {
                        all.started(plan);
                    }
                }, (job, report) -> {
                    result.accept(report);
                    return new Loaded();
                }), driver);
    }

    /**
     * Waits for the next tensor and returns it. The caller closes it.
     *
     * @return the tensor; empty after the last one
     * @throws CheckpointException FILE_CHANGED if a file is gone or changed after its header was read
     * @throws CuFileException as {@link LoadPlan#load(CuFileDriver, LoadListener)}, once the tensors before the failure were returned; IO_ERROR
     *         (ETIMEDOUT) if open tensors leave no room for the next one in one piece, for 30 s; INVALID_VALUE (EBADF) after close
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set, and no tensor is lost
     */
    public Optional<TensorInTurn> next() {
        try {
            return ring.<RuntimeException>next().map(this::turn);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Workers.interrupted(FUNCTION);
        }
    }

    private TensorInTurn turn(TurnRing.Turn turn) {
        TensorInfo read = LoadedTensors.info(turn.slice(), turn.names());
        TensorInfo info = turn.conversion().map(conversion -> new TensorInfo(read.name(), conversion.type(),
                read.shape(), read.file(), read.fileOffset(), turn.memory().length(), read.order())).orElse(read);
        return new TensorInTurn(ring, turn, new LoadedTensor(info, turn.memory().range(), allocator));
    }

    private TensorInTurn lent(TensorInTurn taken) {
        lent.add(taken);
        if (!lifetime.isOpen()) {
            taken.close();
        }
        return taken;
    }

    /**
     * Returns an iterator of the tensors from the next one on. It closes a tensor before it waits for the next one; {@link #close} closes
     * the tensor of a loop that ended early. Loops of several threads share the tensors.
     *
     * @return an iterator for one thread; {@code hasNext} waits and throws as {@link #next}
     */
    @Override
    public Iterator<TensorInTurn> iterator() {
        return new Iterator<>() {
            private @Nullable TensorInTurn current;
            private @Nullable TensorInTurn ahead;

            @Override
            public boolean hasNext() {
                if (ahead == null) {
                    closeCurrent();
                    ahead = TensorsInTurn.this.next().map(TensorsInTurn.this::lent).orElse(null);
                }
                return ahead != null;
            }

            @Override
            public TensorInTurn next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                TensorInTurn taken = Objects.requireNonNull(ahead);
                current = taken;
                ahead = null;
                return taken;
            }

            private void closeCurrent() {
                if (current != null) {
                    current.close();
                    lent.remove(current);
                    current = null;
                }
            }
        };
    }

    /** Returns what the load did; empty until all tensors are read. */
    public Optional<LoadReport> report() {
        return Optional.ofNullable(report.get());
    }

    /**
     * Ends the load: waits for reads in flight and closes the files. Tensors that the program still holds stay valid, except the tensor of
     * an iterator, which it closes; the memory is freed when the last is closed and its stream has passed. Waits for the streams of
     * tensors if all are closed. Idempotent.
     *
     * @throws CuFileException as {@link TensorInTurn#close()} for the tensor of an iterator
     */
    @Override
    public void close() {
        end(ring, load);
        // after it: a listener may close, too, while this thread waits for it
        lifetime.close(this, FUNCTION);
        Closing.all(lent, TensorInTurn::close);
        ring.awaitFreed();
    }
}
