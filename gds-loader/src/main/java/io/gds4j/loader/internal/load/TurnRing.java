package io.gds4j.loader.internal.load;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.lifetime.Closing;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.loader.internal.Conversion;
import io.gds4j.loader.internal.load.Layout.BlockSpec;
import io.gds4j.loader.internal.load.Layout.Placed;
import io.gds4j.loader.internal.load.Layout.Work;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import java.lang.System.Logger.Level;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Memory in which the tensors of a load take turns. The load places blocks in their order, each as soon as there is room, and reads ahead
 * as far as the memory reaches. Tensors leave in the same order, and come back in any. One lock guards everything.
 */
public final class TurnRing {
    /** Value of a marker's result until its stream has passed it. No result of an operation is as low. */
    private static final long PENDING = Long.MIN_VALUE;
    /** Time between two looks at streams that use memory which the load waits for. */
    private static final long POLL_MILLIS = 1;

    /** A tensor in its turn; its memory belongs to the consumer, who closes it. */
    public record Turn(TensorSlice slice, Map<String, String> names, Optional<Conversion> conversion,
            MemoryAllocation memory, Room room) {
    }

    /** What a tensor becomes, and where among the results of its block. */
    private record Converted(Conversion conversion, long offset, long bytes) {
    }

    /** A block of the layout and its place in the ring. */
    public static final class Room {
        private final BlockSpec spec;
        private final long alignment;
        /** Tensors to convert. */
        private final Map<Placed, Converted> converted = new IdentityHashMap<>();
        private final List<CuFileStream.Cells> markers = new ArrayList<>();
        private @Nullable DestinationBlock block;
        private long offset;
        /** First byte of the results in the ring, and their bytes. */
        private long results;
        private long resultBytes;
        private int works;
        private int tensors;
        private boolean ready;

        private Room(BlockSpec spec, long alignment) {
            this.spec = spec;
            this.alignment = alignment;
        }

        private void add(Placed placed, LoadOptions options) {
            tensors++;
            if (placed.slice().bytes() == 0) {
                return;
            }
            options.conversion(placed.slice().tensor().dtype()).ifPresent(conversion -> {
                long size = conversion.bytes(placed.slice().bytes());
                converted.put(placed, new Converted(conversion, resultBytes, size));
                resultBytes += Pages.up(size, alignment);
            });
        }

        private long bytes() {
            return Pages.up(spec.bytes() + (resultBytes == 0 ? 0 : alignment + resultBytes));
        }

        private boolean hasPassed() {
            markers.removeIf(marker -> marker.bytesDone() != PENDING);
            return markers.isEmpty();
        }
    }

    private final CuFileDriver driver;
    private final MemoryAllocator allocator;
    private final LoadOptions.Target target;
    private final LoadOptions options;
    private final long bytes;
    private final Duration patience;
    private final FreeRanges free = new FreeRanges();
    /** Rooms whose tensors are closed, but which streams may still use. */
    private final List<Room> passing = new ArrayList<>();
    private List<Room> rooms = List.of();
    private @Nullable Layout layout;
    private @Nullable MemoryAllocation memory;
    private @Nullable CuFileHandle markerFile;
    /** The block that is placed next. */
    private int next;
    /** Bytes for it that the load waits for; 0 if it does not wait. */
    private long lacking;
    private int delivered;
    /** Tensors that the consumer has. */
    private int open;
    private long changed = System.nanoTime();
    /** Frees the memory when streams have passed, for a consumer that does not wait for them. */
    private @Nullable Thread freeing;
    private boolean closed;
    private boolean ended;
    private @Nullable Throwable failure;

    /**
     * @param target kind and device of the memory
     * @param bytes largest size of the memory
     * @param patience how long a consumer waits while open tensors hold all memory
     */
    public TurnRing(CuFileDriver driver, LoadOptions.Target target, LoadOptions options, long bytes,
            Duration patience) {
        this.options = options;
        this.driver = driver;
        this.allocator = driver.allocator();
        this.target = target;
        this.bytes = bytes;
        this.patience = patience;
    }

    // ---- the load

    /** Starts the load that fills the memory. */
    public <R extends AutoCloseable> LoadFuture<R> start(LoadFuture.Job<R> load) {
        return LoadFuture.start(new LoadFuture.Job<>() {
            @Override
            public R run() {
                try {
                    R result = load.run();
                    end(null);
                    return result;
                } catch (Throwable e) {
                    end(e);
                    throw e;
                }
            }

            @Override
            public void cancel() {
                load.cancel();
            }

            @Override
            public boolean isOwnThread() {
                return load.isOwnThread();
            }
        });
    }

    /** Allocates the memory for a layout whose blocks have one turn each. */
    void begin(Layout planned) {
        List<Room> all = planned.blocks().stream().map(spec -> new Room(spec, options.alignment())).toList();
        planned.slices().forEach(placed -> all.get(placed.block()).add(placed, options));
        planned.works().forEach(work -> all.get(work.block()).works++);
        all.forEach(room -> room.ready = room.works == 0);
        long sum = all.stream().mapToLong(Room::bytes).sum();
        long size = Math.max(Pages.SIZE, Math.min(Pages.down(bytes), sum));
        if (all.stream().anyMatch(room -> room.bytes() > size)) {
            throw new AssertionError("a turn needs more than the " + size + " bytes of the ring");
        }
        MemoryAllocation allocated = allocator.allocate(target.kind(), size, target.device());
        synchronized (this) {
            memory = allocated;
            layout = planned;
            rooms = all;
            free.give(0, size);
            skipEmpty();
            notifyAll();
        }
        MemoryRange none = allocated.range().slice(0, 0);
        // loads the kernel before any tensor is out: later, its loading might wait for the stream of one
        all.stream().flatMap(room -> room.converted.values().stream()).findFirst()
                .ifPresent(any -> any.conversion.convert(none, none, allocator));
    }

    /** Goes to the next block that has bytes. */
    private void skipEmpty() {
        while (next < rooms.size() && rooms.get(next).works == 0) {
            next++;
        }
    }

    /** Gives a block its place; waits for those before it, and for room. */
    synchronized DestinationBlock place(int index) throws InterruptedException {
        Room room = rooms.get(index);
        while (index != next) {
            wait();
        }
        while (!reserve(room)) {
            lack(room.bytes());
            wait(passing.isEmpty() ? 0 : POLL_MILLIS);
        }
        lacking = 0;
        next++;
        skipEmpty();
        notifyAll();
        MemoryRange place = Objects.requireNonNull(memory).range().slice(room.offset, room.spec.bytes());
        DestinationBlock block = DestinationBlock.of(
                BlockSpec.of(room.spec.rank(), place, room.spec.alignment()), allocator);
        room.block = block;
        long base = place.address() - room.offset;
        room.results = Pages.up(place.address() + room.spec.bytes(), room.alignment) - base;
        return block;
    }

    private boolean reserve(Room room) {
        reap();
        OptionalLong offset = free.take(room.bytes());
        offset.ifPresent(at -> room.offset = at);
        return offset.isPresent();
    }

    /** Begins the time that a consumer has to make room. */
    private void lack(long wanted) {
        if (lacking == 0) {
            lacking = wanted;
            change();
        }
    }

    /** Takes the memory of rooms back that streams have passed. */
    private void reap() {
        for (int i = passing.size() - 1; i >= 0; i--) {
            if (passing.get(i).hasPassed()) {
                Room passed = passing.remove(i);
                if (passed.block != null) {
                    free.give(passed.offset, passed.bytes());
                }
                change();
            }
        }
    }

    private void change() {
        changed = System.nanoTime();
        notifyAll();
    }

    /** Counts a unit of work whose bytes are in place. */
    void done(Work work) {
        Room room;
        synchronized (this) {
            room = rooms.get(work.block());
            if (--room.works > 0) {
                return;
            }
        }
        room.converted.forEach((placed, to) -> convert(room, placed, to));
        synchronized (this) {
            room.ready = true;
            notifyAll();
        }
    }

    private void convert(Room room, Placed placed, Converted to) {
        MemoryRange from = Objects.requireNonNull(room.block).range(placed.offset(), placed.slice().bytes());
        to.conversion.convert(from, result(room, to), allocator);
    }

    private MemoryRange result(Room room, Converted to) {
        return Objects.requireNonNull(memory).range().slice(room.results + to.offset, to.bytes);
    }

    /** Ends the load: no thread of it uses the memory any more. */
    private void end(@Nullable Throwable reason) {
        synchronized (this) {
            ended = true;
            failure = reason;
            notifyAll();
        }
        freeIfOver();
    }

    // ---- the consumer

    /**
     * Waits for the next tensor; empty after the last one.
     *
     * @param <E> what has ended the load, which may be a checked exception of a listener
     */
    public synchronized <E extends Throwable> Optional<Turn> next() throws InterruptedException, E {
        long start = System.nanoTime();
        while (true) {
            if (closed) {
                throw CuFileException.of(CuFileError.INVALID_VALUE, Errno.EBADF, "TensorsInTurn", "it is closed");
            }
            if (isReady()) {
                return Optional.of(deliver());
            }
            if (ended) {
                throwFailure();
                return Optional.empty();
            }
            if (stalls()) {
                long left = patience.toNanos() - (System.nanoTime() - Math.max(start, changed));
                if (left <= 0) {
                    throw CuFileException.of(CuFileError.IO_ERROR, Errno.ETIMEDOUT, "TensorsInTurn",
                            ("%s tensors are open and leave no room for the next one, for %s ms: of %s bytes, %s are free in one piece;"
                                    + " close each tensor").formatted(
                                            open, patience.toMillis(), lacking, free.longest()));
                }
                wait(TimeUnit.NANOSECONDS.toMillis(left) + 1);
            } else {
                wait();
            }
        }
    }

    @SuppressWarnings("unchecked")
    private <E extends Throwable> void throwFailure() throws E {
        if (failure != null) {
            throw (E) failure;
        }
    }

    private boolean isReady() {
        return layout != null && delivered < layout.slices().size() && room(delivered).ready;
    }

    private Room room(int tensor) {
        return rooms.get(Objects.requireNonNull(layout).slices().get(tensor).block());
    }

    /** Returns whether the next tensor waits for memory that only the consumer can give back. */
    private boolean stalls() {
        return lacking > 0 && open > 0 && passing.isEmpty()
                && Objects.requireNonNull(layout).slices().get(delivered).block() >= next;
    }

    private Turn deliver() {
        Layout planned = Objects.requireNonNull(layout);
        Placed placed = planned.slices().get(delivered);
        Room room = room(delivered);
        Converted converted = room.converted.get(placed);
        MemoryRange range;
        if (placed.slice().bytes() == 0) {
            // it has no place: its block may have none, or end where the memory does
            range = Objects.requireNonNull(memory).range().slice(0, 0);
        } else if (converted != null) {
            range = result(room, converted);
        } else {
            range = Objects.requireNonNull(room.block).range(placed.offset(), placed.slice().bytes());
        }
        MemoryAllocation own = MemoryAllocation.of(range, () -> release(room));
        delivered++;
        open++;
        change();
        return new Turn(placed.slice(), planned.names(),
                options.conversion(placed.slice().tensor().dtype()), own, room);
    }

    /** Lets a stream tell when it has passed its work with a tensor so far. */
    public void mark(Turn turn, CuFileStream stream) {
        CuFileHandle file;
        MemoryRange all;
        synchronized (this) {
            if (!turn.memory.isOpen() || memory == null) {
                return;
            }
            if (markerFile == null) {
                markerFile = driver.openFile(Objects.requireNonNull(layout).files().getFirst().path());
            }
            file = markerFile;
            all = memory.range();
        }
        CuFileStream.Cells marker = CuFileStream.Cells.of(0, 0, 0);
        marker.result().set(ValueLayout.JAVA_LONG, 0, PENDING);
        stream.read(file, all, marker);
        synchronized (this) {
            turn.room.markers.add(marker);
        }
    }

    private void release(Room room) {
        List<Runnable> last;
        synchronized (this) {
            open--;
            change();
            if (--room.tensors == 0) {
                passing.add(room);
                reap();
            }
            last = takeIfOver();
            if (!last.isEmpty() && !passing.isEmpty()) {
                // the caller may be who lets the streams go on
                List<Runnable> late = last;
                freeing = Thread.ofPlatform().daemon().name("gds-load-free").start(() -> freeLate(late));
                return;
            }
        }
        Closing.all(last, Runnable::run);
    }

    private static void freeLate(List<Runnable> last) {
        try {
            Closing.all(last, Runnable::run);
        } catch (RuntimeException e) {
            System.getLogger("io.gds4j").log(Level.WARNING,
                    "memory of tensors in turn is not freed: " + e.getMessage());
        }
    }

    /** Waits for memory that is freed when streams have passed. */
    public void awaitFreed() {
        Thread last;
        synchronized (this) {
            last = freeing;
        }
        if (last != null) {
            Uninterruptibly.await(last::join);
        }
    }

    /** Delivers no more tensors. The memory goes when the load has ended, the last open tensor is closed and streams have passed. */
    public void close() {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        freeIfOver();
    }

    private void freeIfOver() {
        // outside the lock: both wait for the streams
        Closing.all(takeIfOver(), Runnable::run);
    }

    /** Returns what frees the memory to the first caller after its last use; others get nothing. */
    private synchronized List<Runnable> takeIfOver() {
        List<Runnable> last = new ArrayList<>();
        if (!closed || !ended || open > 0) {
            return last;
        }
        if (memory != null) {
            last.add(memory::close);
            memory = null;
        }
        if (markerFile != null) {
            last.add(markerFile::close);
            markerFile = null;
        }
        return last;
    }
}
