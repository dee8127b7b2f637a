package io.gds4j.dataset;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStream;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.OpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.Spliterator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * Reads the records of a data set into GPU or host memory, batch by batch, ahead of the consumer.
 *
 * <pre>{@code
 * try (RecordLoader loader = RecordLoader.builder(driver, source, 256).order(RecordOrder.shuffled(42)).epochs(3).open()) {
 *     for (RecordBatch batch : loader) {
 *         train(batch.memory(), batch.count());   // queues kernels on a stream
 *         batch.close(stream);                    // without it the loop closes the batch before the next one
 *     }
 * }
 * }</pre>
 *
 * <p>
 * The order depends on seed, epoch, rank and world size only. {@link RecordBatch#state} is all that a program saves to resume, also with
 * another number of ranks.
 * All batches share memory that is allocated once, within {@link Builder#memory(long)}. The loader reads as far ahead as that memory
 * allows, also into the next epoch. A consumer that closes no batch gets an error (ETIMEDOUT) from {@link #next}.
 *
 * <p>
 * Known elsewhere as DataLoader (PyTorch).
 *
 * <p>
 * Thread-safe: several threads may take batches and close them. An iterator or stream of batches belongs to one thread.
 *
 * @since 0.1
 */
public final class RecordLoader implements Iterable<RecordBatch>, AutoCloseable {
    /** Most records of a batch. */
    static final int MAX_BATCH = 1 << 24;

    private final BatchRing ring;
    private final List<Thread> readers;
    private final long recordsPerEpoch;
    /** Open batches of iterators and streams. */
    private final Set<RecordBatch> lent = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    private RecordLoader(BatchRing ring, List<Thread> readers, Itinerary itinerary) {
        this.ring = ring;
        this.readers = readers;
        this.recordsPerEpoch = itinerary.perEpoch();
    }

    /**
     * Begins the description of a loader.
     *
     * @param driver moves the records; it stays open longer than the loader
     * @param source the records
     * @param batch largest number of records of a batch, 1 or more
     * @return a builder with these defaults: sequential order, one epoch, all records, the best memory of the machine
     * @throws CuFileException INVALID_VALUE (EINVAL) for a batch below 1
     */
    public static Builder builder(CuFileDriver driver, RecordSource source, int batch) {
        return new Builder(driver, source, batch);
    }

    /** {@return number of records of this rank in an epoch; fewer in one of which a resumed state has records already} */
    public long recordsPerEpoch() {
        return recordsPerEpoch;
    }

    /** {@return number of records of this rank that have not been delivered yet, over all epochs} */
    public long recordsLeft() {
        return ring.recordsLeft();
    }

    /** {@return the state of this rank after the last delivered record, for {@link Builder#resume}} */
    public LoaderState state() {
        return ring.state();
    }

    /** {@return true until the last record has been delivered, or the loader is closed} */
    public boolean hasNext() {
        return ring.hasNext();
    }

    /**
     * Waits for the next batch and returns it. The caller closes it.
     *
     * @return the next batch in order
     * @throws RecordException if a record could not be read and the policy is {@link ErrorPolicy#STOP}; later calls fail alike
     * @throws CuFileException IO_ERROR (ETIMEDOUT) if all buffers belong to batches that stay open for longer than
     *         {@link Builder#closeTimeout}; INVALID_VALUE (EBADF) after close
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; no batch is lost
     * @throws java.util.NoSuchElementException after the last batch
     */
    public RecordBatch next() {
        CompletableFuture<RecordBatch> taker = ring.take();
        try {
            return taker.get();
        } catch (InterruptedException e) {
            return interrupted(taker, e);
        } catch (ExecutionException e) {
            throw unwrapped(e);
        }
    }

    /**
     * Returns an iterator of the batches from the current position on. It closes a batch before it returns the next one, and after the
     * last; {@link #close} closes the batch of a loop that ended early. A loop that is done with a batch only when a stream is calls
     * {@link RecordBatch#close(CuFileStream)}.
     *
     * @return an iterator for one thread, which throws as {@link #next}
     */
    @Override
    public Iterator<RecordBatch> iterator() {
        return new BatchCursor(this);
    }

    /** {@return what {@link #batches} streams, for one thread: it does not split} */
    @Override
    public Spliterator<RecordBatch> spliterator() {
        return new BatchCursor(this);
    }

    /**
     * Returns the batches from the current position on as a sequential stream. A batch is open while the operations of the stream work on
     * it, and closed before the next one, so that a program collects what it makes of batches, not batches.
     *
     * <pre>{@code
     * try (Stream<RecordBatch> batches = loader.batches()) {
     *     long records = batches.mapToLong(RecordBatch::count).sum();
     * }
     * }</pre>
     *
     * @return a stream that throws as {@link #next}; closing it closes its open batch, not the loader
     */
    public Stream<RecordBatch> batches() {
        BatchCursor cursor = new BatchCursor(this);
        return StreamSupport.stream(cursor, false).onClose(cursor::closeBatch);
    }

    /** Keeps a batch of an iterator until {@link #takeBack}, or closes it if the loader is closed already. */
    void lend(RecordBatch batch) {
        lent.add(batch);
        if (closed) {
            takeBack(batch);
        }
    }

    /** Closes a batch of an iterator. */
    void takeBack(RecordBatch batch) {
        lent.remove(batch);
        batch.close();
    }

    /**
     * Waits for the next batch for a limited time.
     *
     * @param timeout longest wait, 0 or more
     * @return the next batch in order, which the caller closes; empty if the time has passed, and no batch is lost
     * @throws CuFileException as {@link #next}
     * @throws java.util.NoSuchElementException after the last batch
     */
    public Optional<RecordBatch> poll(Duration timeout) {
        long nanos = saturated(timeout);
        CompletableFuture<RecordBatch> taker = ring.take();
        try {
            return Optional.of(taker.get(nanos, TimeUnit.NANOSECONDS));
        } catch (TimeoutException e) {
            return taker.cancel(false) ? Optional.empty() : Optional.of(arrived(taker));
        } catch (InterruptedException e) {
            return Optional.of(interrupted(taker, e));
        } catch (ExecutionException e) {
            throw unwrapped(e);
        }
    }

    private static long saturated(Duration timeout) {
        if (timeout.isNegative()) {
            return 0;
        }
        return timeout.compareTo(Duration.ofNanos(Long.MAX_VALUE)) > 0 ? Long.MAX_VALUE : timeout.toNanos();
    }

    private static RecordBatch interrupted(CompletableFuture<RecordBatch> taker, InterruptedException e) {
        Thread.currentThread().interrupt();
        if (!taker.cancel(false)) {
            return arrived(taker);
        }
        throw CuFileException.builder(Failures.FUNCTION)
                .error(CuFileError.IO_ERROR)
                .errno(Errno.EINTR)
                .detail("interrupted while waiting for a batch")
                .cause(e)
                .buildInterrupted();
    }

    /** Returns what came at the moment of giving up. */
    private static RecordBatch arrived(CompletableFuture<RecordBatch> taker) {
        try {
            return taker.join();
        } catch (CompletionException e) {
            throw unwrapped(e);
        }
    }

    private static RuntimeException unwrapped(Exception e) {
        return switch (e.getCause()) {
            case RuntimeException known -> known;
            case Error known -> throw known;
            case null, default -> new IllegalStateException(e.getCause());
        };
    }

    /**
     * Returns the next batch when it is there. Futures get batches in the order of the calls. A cancelled future leaves its batch to
     * the next one.
     *
     * @return completes with the next batch, which the receiver closes, or as {@link #next} throws. Dependents run on a thread that
     *         reads: they must not wait for another batch, and use the {@code Async} methods for long work
     */
    public CompletableFuture<RecordBatch> nextAsync() {
        return ring.take();
    }

    /** {@return what has been delivered so far, and who waited for whom} */
    public LoaderReport report() {
        return ring.report();
    }

    /**
     * Ends reading: waits for reads in flight, drops batches that were read ahead, and closes the files. Batches that the consumer still
     * holds stay valid, except the batch of an iterator or a stream, which it closes; the memory is freed when the last is closed and its
     * stream has passed. Idempotent.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) from a dependent of {@link #nextAsync} on a thread that reads; nothing changes
     */
    @Override
    public void close() {
        if (readers.contains(Thread.currentThread())) {
            throw CuFileException.of(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, Failures.FUNCTION,
                    "close was called on a thread that reads");
        }
        closed = true;
        lent.forEach(this::takeBack);
        ring.close();
    }

    /**
     * Describes a loader. Not thread-safe.
     *
     * @since 0.1
     */
    public static final class Builder {
        private static final long DEFAULT_MEMORY = 256L << 20;
        private static final int MAX_BUFFERS = 128;
        private static final int MAX_READERS = 256;

        private final CuFileDriver driver;
        private final RecordSource source;
        private final int batch;
        private RecordOrder order = RecordOrder.sequential();
        private Share share = Share.WHOLE;
        private Remainder remainder = Remainder.KEEP;
        private ErrorPolicy policy = ErrorPolicy.STOP;
        private boolean verified;
        private long epochs = 1;
        private Optional<LoaderState> resumed = Optional.empty();
        private long firstEpoch;
        private long memory = DEFAULT_MEMORY;
        /** Most batches in memory: the consumer's, and those that are read ahead. */
        private long maxBuffers = MAX_BUFFERS;
        private Optional<MemoryKind> kind = Optional.empty();
        private int device;
        private int threads = Math.clamp(Runtime.getRuntime().availableProcessors(), 2, 16);
        private Duration closeTimeout = Duration.ofSeconds(30);
        private OpenOption[] options = {};

        private Builder(CuFileDriver driver, RecordSource source, int batch) {
            this.driver = Objects.requireNonNull(driver, "driver");
            this.source = Objects.requireNonNull(source, "source");
            this.batch = (int) inRange("batch", batch, 1, MAX_BATCH);
        }

        private static long inRange(String name, long value, long least, long most) {
            if (value < least || value > most) {
                throw Failures.invalid("%s is %s, allowed: %s to %s".formatted(name, value, least, most));
            }
            return value;
        }

        /**
         * Sets the order of the records; sequential by default.
         *
         * @param value the order
         * @return this builder
         */
        public Builder order(RecordOrder value) {
            order = Objects.requireNonNull(value, "order");
            return this;
        }

        /**
         * Shuffles the records of each epoch anew: {@link #order} with {@link RecordOrder#shuffled}.
         *
         * @param seed decides the order, with the number of the epoch
         * @return this builder
         */
        public Builder shuffle(long seed) {
            return order(RecordOrder.shuffled(seed));
        }

        /**
         * Sets which part of each epoch this process reads; all of it by default.
         *
         * @param value rank and number of ranks
         * @return this builder
         */
        public Builder share(Share value) {
            share = Objects.requireNonNull(value, "share");
            return this;
        }

        /**
         * Sets what happens to records that do not fill whole batches on all ranks; {@link Remainder#KEEP} by default.
         *
         * @param value the choice
         * @return this builder
         */
        public Builder remainder(Remainder value) {
            remainder = Objects.requireNonNull(value, "remainder");
            return this;
        }

        /**
         * Sets what happens to records that cannot be read; {@link ErrorPolicy#STOP} by default.
         *
         * @param value the policy
         * @return this builder
         */
        public Builder onError(ErrorPolicy value) {
            policy = Objects.requireNonNull(value, "policy");
            return this;
        }

        /**
         * Compares the bytes of each record with the checksum that its file has ({@link RecordSource#crc32c}), in the threads that
         * read; a difference is a record that cannot be read. By default records are not compared. Those in GPU memory are copied to
         * the host for it. Files that have one checksum for all records ({@link RecordSource#verifyFiles}) are read and compared when the
         * loader opens.
         *
         * @return this builder
         */
        public Builder verify() {
            verified = true;
            return this;
        }

        /**
         * Sets the number of epochs; 1 by default.
         *
         * @param value 1 or more; {@link Long#MAX_VALUE} for no end
         * @return this builder
         * @throws CuFileException INVALID_VALUE (EINVAL) for a lower number
         */
        public Builder epochs(long value) {
            epochs = inRange("epochs", value, 1, Long.MAX_VALUE);
            return this;
        }

        /**
         * Continues behind what ranks have had. With the number of ranks, batch and remainder of the state, this rank continues where it
         * stopped. Otherwise, what is left of each epoch is divided anew: with KEEP, each record comes once in the epoch; with DROP, at
         * most once, and fewer records than a batch of each rank are left out after all; with PAD, at least once, and the first of
         * the records that were left come again. An epoch that all ranks have ended is not read again.
         *
         * @param value {@link RecordBatch#state} of the last batch that the program has processed, of any rank if all ranks processed as
         *        many batches, or {@link LoaderState#merge} of those of all ranks
         * @return this builder
         */
        public Builder resume(LoaderState value) {
            resumed = Optional.of(value);
            return this;
        }

        /**
         * Skips the epochs before this one; 0 by default. {@link #epochs} counts from epoch 0 nevertheless: to read epoch 5 alone,
         * set {@code firstEpoch(5).epochs(6)}. A later state of {@link #resume} counts.
         *
         * @param value 0 or more
         * @return this builder
         * @throws CuFileException INVALID_VALUE (EINVAL) for a negative number
         */
        public Builder firstEpoch(long value) {
            firstEpoch = inRange("firstEpoch", value, 0, Long.MAX_VALUE);
            return this;
        }

        /**
         * Sets the most memory that batches may take, read ahead and delivered; 256 MiB by default. Their bookkeeping, 37 bytes for
         * each record, takes at most as much again of the Java heap, or what two batches need. Short reads into GPU memory take up to a
         * quarter of that again as pinned host memory, at least 4 KiB and at most 1 MiB for each reader. An order of windows takes at
         * most as much again as host memory for its blocks.
         *
         * @param bytes 1 or more; at least two batches have to fit
         * @return this builder
         * @throws CuFileException INVALID_VALUE (EINVAL) for a lower number
         */
        public Builder memory(long bytes) {
            memory = inRange("memory", bytes, 1, Long.MAX_VALUE);
            return this;
        }

        /**
         * Limits how many batches are read ahead of the one that the consumer has; by default as many as fit into {@link #memory(long)}, 127
         * at most. The loader allocates no more memory than these batches need.
         *
         * @param batches 1 or more; more than {@link #memory(long)} holds have no effect
         * @return this builder
         * @throws CuFileException INVALID_VALUE (EINVAL) for a lower number
         */
        public Builder prefetch(int batches) {
            maxBuffers = (int) inRange("prefetch", batches, 1, Integer.MAX_VALUE) + 1L;
            return this;
        }

        /**
         * Sets the kind of memory; by default {@code allocator().best()}, on GPU 0.
         *
         * @param value kind of memory
         * @param gpu ordinal of the GPU; ignored for host memory
         * @return this builder
         */
        public Builder target(MemoryKind value, int gpu) {
            kind = Optional.of(value);
            device = gpu;
            return this;
        }

        /**
         * Sets how many threads read; by default one for each processor, 2 to 16. The order of records does not depend on it.
         *
         * @param value 1 to 256
         * @return this builder
         * @throws CuFileException INVALID_VALUE (EINVAL) for another number
         */
        public Builder readers(int value) {
            threads = (int) inRange("readers", value, 1, MAX_READERS);
            return this;
        }

        /**
         * Sets how long {@link RecordLoader#next} waits while all buffers belong to open batches, before it throws; 30 seconds by
         * default.
         *
         * @param value longest wait, 0 to 292 years
         * @return this builder
         * @throws CuFileException INVALID_VALUE (EINVAL) for a negative time
         */
        public Builder closeTimeout(Duration value) {
            inRange("closeTimeout", value.isNegative() ? -1 : 0, 0, Long.MAX_VALUE);
            closeTimeout = Duration.ofNanos(saturated(value));
            return this;
        }

        /**
         * Sets how files are opened, for example {@code CuFileOpenOption.DIRECT} to bypass the page cache; for reading by default.
         *
         * @param values options of {@link CuFileDriver#openFile}
         * @return this builder
         */
        public Builder openOptions(OpenOption... values) {
            options = values.clone();
            return this;
        }

        /**
         * Opens the files, allocates the memory and begins to read.
         *
         * @return the loader, which the caller closes
         * @throws CuFileException INVALID_VALUE (EINVAL) if two batches do not fit into the memory, if the state is of other records or
         *         another order, is behind the end, or does not tell what other ranks had; NOMEM_ERROR if the Java heap is too small for the
         *         bookkeeping; otherwise as {@link CuFileDriver#openFile} and the allocator
         */
        public RecordLoader open() {
            long bufferBytes = bufferBytes();
            LoaderState state = state(source.isFixedLength() || bufferBytes / batch >= source.maxLength());
            Itinerary itinerary = Itinerary.of(state.plan(), share.rank(), epochs);
            long begin = Math.max(state.position(share.rank()), itinerary.begin(firstEpoch));
            if (begin > itinerary.end() || state.plan().done().lastEpoch() >= epochs) {
                throw Failures
                        .invalid("the loader begins in epoch %s, allowed: before the end of epoch %s, its last one"
                                .formatted(Math.max(itinerary.epoch(begin), state.plan().done().lastEpoch()),
                                        epochs - 1));
            }
            // Each buffer begins at a page, as direct I/O and GPUs prefer.
            long pages = Math.max(1, Math.ceilDiv(bufferBytes, Pages.SIZE));
            // Short records take less memory than their bookkeeping in the heap, which is bounded, too.
            long most = Math.clamp(memory / BatchBuffer.heapBytes(batch), 2, Math.min(maxBuffers, MAX_BUFFERS));
            long count = Math.min(most, memory / Pages.SIZE / pages);
            if (count < 2) {
                throw Failures.invalid(
                        "a batch takes %s bytes, and two of them do not fit into the %s bytes allowed".formatted(
                                bufferBytes, memory));
            }
            if (verified) { // after all that takes no time
                source.verifyFiles();
            }
            long stride = pages * Pages.SIZE;
            MemoryKind chosen = kind.orElseGet(() -> driver.allocator().best());
            RecordMemory ringMemory = new RecordMemory(
                    driver, source, chosen, chosen.isCuda() ? device : MemoryRange.NO_DEVICE, stride * count, options);
            return Undo.ifFails(ringMemory::close,
                    () -> start(state, itinerary, begin, ringMemory, bufferBytes, stride, (int) count));
        }

        /** Returns the state to begin with. */
        private LoaderState state(boolean areBatchesWhole) {
            RecordPlan plan = new RecordPlan(
                    order, inRange("records of the source", source.records(), 0, Long.MAX_VALUE), DoneRecords.NONE,
                    share.world(), batch, remainder);
            return resumed.map(value -> value.resumed(plan, areBatchesWhole))
                    .orElseGet(() -> new LoaderState(plan, areBatchesWhole, Map.of()));
        }

        /** Returns the bytes of the largest batch. Batches of records of different lengths may end early. */
        private long bufferBytes() {
            long longest = inRange("longest record of the source", source.maxLength(), 0, Long.MAX_VALUE);
            long whole =
                    Math.multiplyHigh(longest, batch) == 0 && longest * batch >= 0 ? longest * batch : Long.MAX_VALUE;
            if (source.isFixedLength()) {
                if (whole > memory) {
                    throw Failures.invalid("a batch of %s records of %s bytes exceeds the %s bytes allowed".formatted(
                            batch, longest, memory));
                }
                return whole;
            }
            long bytes = Math.min(whole, Math.max(longest, Pages.down(memory / 4)));
            if (bytes > memory) {
                throw Failures.invalid("the longest record has %s bytes and exceeds the %s bytes allowed".formatted(
                        longest, memory));
            }
            return bytes;
        }

        private RecordLoader start(
                LoaderState state, Itinerary itinerary, long begin, RecordMemory ringMemory, long bufferBytes,
                long stride, int count) {
            List<BatchBuffer> buffers = buffers(count, stride);
            BatchPlanner planner = new BatchPlanner(
                    source, itinerary, bufferBytes, ringMemory.bytes(), threads);
            Optional<WindowBlocks> blocks = WindowBlocks.of(
                    order, source, ringMemory, memory, planner.longestTask() * threads);
            blocks.ifPresent(known -> ringMemory.closesToo(known::close));
            BatchRing ring = new BatchRing(
                    planner, ringMemory, buffers, position -> state.at(share.rank(), position), begin, closeTimeout);
            List<Thread> readers = new ArrayList<>(threads);
            for (int i = 0; i < threads; i++) {
                readers.add(Thread.ofPlatform().daemon().name("gds4j-records-" + i).unstarted(
                        new BatchReader(
                                ring, new RecordReads(source, ringMemory, policy, planner, verified, blocks))));
            }
            RecordLoader loader = new RecordLoader(ring, List.copyOf(readers), itinerary);
            startAll(ring, readers);
            return loader;
        }

        private List<BatchBuffer> buffers(int count, long stride) {
            long heap = count * BatchBuffer.heapBytes(batch);
            try {
                if (heap > Runtime.getRuntime().maxMemory()) {
                    throw new OutOfMemoryError();
                }
                List<BatchBuffer> buffers = new ArrayList<>(count);
                for (int i = 0; i < count; i++) {
                    buffers.add(new BatchBuffer(i * stride, batch));
                }
                return buffers;
            } catch (OutOfMemoryError e) {
                throw Failures.heap(
                        "%s batches of %s records need %s bytes of the Java heap; raise -Xmx, or read fewer records in a batch"
                                .formatted(count, batch, heap));
            }
        }

        /** Starts the readers. One is enough to deliver everything, so others may fail to start. */
        private static void startAll(BatchRing ring, List<Thread> readers) {
            int started = 0;
            for (Thread reader : readers) {
                ring.readerBegins();
                boolean begun = false;
                try {
                    reader.start();
                    begun = true;
                    started++;
                } catch (OutOfMemoryError e) {
                    if (started == 0) {
                        throw e;
                    }
                } finally {
                    if (!begun) {
                        ring.readerEnds();
                    }
                }
            }
        }
    }
}
