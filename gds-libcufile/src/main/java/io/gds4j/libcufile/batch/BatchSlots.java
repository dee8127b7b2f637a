package io.gds4j.libcufile.batch;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.cufile.CuFileResults;
import io.gds4j.ffi.cufile.IoEvents;
import io.gds4j.ffi.cufile.IoParams;
import io.gds4j.ffi.cufile.Timespec;
import io.gds4j.libcufile.process.CurrentContext;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The library's own batch of a {@link LibraryBatch}, whose lock guards it. Each entry that the library works on has a slot;
 * the slot's number is the cookie that the library gets.
 */
final class BatchSlots {
    /** Receives the end of an entry. */
    interface Outcome {
        /** @param moved bytes of a complete entry, or a negative code */
        void of(BatchEntry entry, BatchStatus status, long moved);
    }

    /** Time without an event after which entries are lost, once the library has refused a submission. */
    private static final Duration LOST_AFTER = Duration.ofSeconds(2);
    private static final long NONE = 0;

    private static final Map<Integer, BatchStatus> BY_VALUE =
            Stream.of(BatchStatus.values()).collect(Collectors.toMap(BatchStatus::value, Function.identity()));

    private final OpenLibrary openLibrary;
    private final CuFileLibrary library;
    private final Cuda cuda;
    private final LongSupplier clock;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment params;
    private final MemorySegment events;
    private final MemorySegment count;
    private final MemorySegment timeout;
    private final @Nullable BatchEntry[] slots;
    private int taken;
    /** Made for the first entry that the library gets, because destroying a batch takes the library 0.1 s. */
    private long handle = NONE;
    private long doubtedSince;
    private boolean doubtful;

    /** @param clock returns nanoseconds */
    BatchSlots(OpenLibrary openLibrary, Cuda cuda, int capacity, LongSupplier clock) {
        this.openLibrary = openLibrary;
        this.library = openLibrary.library();
        this.cuda = cuda;
        this.clock = clock;
        this.params = arena.allocate(IoParams.LAYOUT, capacity);
        this.events = arena.allocate(IoEvents.LAYOUT, capacity);
        this.count = arena.allocate(JAVA_INT);
        this.timeout = arena.allocate(Timespec.LAYOUT);
        this.slots = new BatchEntry[capacity];
    }

    /** Entries that the library works on. */
    int taken() {
        return taken;
    }

    /**
     * Submits entries of one CUDA context, for which there are slots.
     *
     * @throws CuFileException as the library refuses; then it has taken none of them
     */
    void submit(List<BatchEntry> run) {
        int[] free = free(run.size());
        for (int i = 0; i < run.size(); i++) {
            BatchEntry entry = run.get(i);
            BatchRequest request = entry.request();
            IoParams.write(
                    params,
                    i,
                    entry.file().handle(),
                    request.write(),
                    request.memory().address(),
                    entry.size(),
                    request.fileOffset(),
                    request.bufferOffset(),
                    free[i]);
        }
        try {
            CurrentContext.with(cuda, run.getFirst().context(), () -> {
                if (handle == NONE) {
                    handle = library.batchIoSetUp(slots.length);
                }
                library.batchIoSubmit(handle, run.size(), params, 0);
                return true;
            });
        } catch (CuFileException e) {
            if (taken > 0) {
                doubtful = true;
                doubtedSince = clock.getAsLong();
            }
            throw e;
        }
        for (int i = 0; i < run.size(); i++) {
            slots[free[i]] = run.get(i);
            taken++;
        }
    }

    private int[] free(int wanted) {
        int[] free = new int[wanted];
        int found = 0;
        for (int slot = 0; found < wanted; slot++) {
            if (slots[slot] == null) {
                free[found++] = slot;
            }
        }
        return free;
    }

    /**
     * Takes the entries that have ended. Waits up to {@code waitNanos} if none has; entries that the library has lost
     * are reported as such.
     */
    void reap(long waitNanos, Outcome outcome, Consumer<BatchEntry> lost) {
        if (taken == 0) {
            return;
        }
        count.set(JAVA_INT, 0, taken);
        Timespec.write(timeout, waitNanos);
        library.batchIoGetStatus(handle, waitNanos > 0 ? 1 : 0, count, events, timeout);
        int reported = Math.clamp(count.get(JAVA_INT, 0), 0, slots.length);
        for (int i = 0; i < reported; i++) {
            deliver(i, outcome);
        }
        if (doubtful) {
            doubt(reported > 0, lost);
        }
    }

    private void deliver(int index, Outcome outcome) {
        long slot = IoEvents.cookie(events, index);
        BatchStatus reported = BY_VALUE.getOrDefault(IoEvents.status(events, index), BatchStatus.FAILED);
        @Nullable BatchEntry entry = slot >= 0 && slot < slots.length ? slots[(int) slot] : null;
        if (entry == null || reported == BatchStatus.PENDING || reported == BatchStatus.WAITING) {
            return;
        }
        slots[(int) slot] = null;
        taken--;
        long moved = CuFileResults.transferred(reported, IoEvents.result(events, index), entry.size());
        outcome.of(entry, reported == BatchStatus.COMPLETE && moved < 0 ? BatchStatus.FAILED : reported, moved);
    }

    /** A refused submission may lose the entries that are inside. After some time without an event they are lost. */
    private void doubt(boolean delivered, Consumer<BatchEntry> lost) {
        if (taken == 0) {
            doubtful = false;
        } else if (delivered) {
            doubtedSince = clock.getAsLong();
        } else if (clock.getAsLong() - doubtedSince > LOST_AFTER.toNanos()) {
            doubtful = false;
            List<BatchEntry> gone = inside();
            Arrays.fill(slots, null);
            taken = 0;
            gone.forEach(lost);
        }
    }

    /** Entries that the library works on, or has lost. */
    List<BatchEntry> inside() {
        List<BatchEntry> inside = new ArrayList<>();
        for (@Nullable BatchEntry entry : slots) {
            if (entry != null) {
                inside.add(entry);
            }
        }
        return inside;
    }

    /** Frees the library's batch; no entry is inside. */
    void destroy() {
        if (handle != NONE) {
            openLibrary.ifAlive(() -> library.batchIoDestroy(handle));
        }
        arena.close();
    }
}
