package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.config.CuFileKeys;
import io.gds4j.config.SlabArray;
import io.gds4j.spi.BatchStatus;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The double's batches. Entries complete at once; a query delivers their events, unless the test holds them back. */
public final class FakeBatches {
    private static final long MAX_FILE = 1L << 44;
    private static final long PAGE = 4096;

    private final FakeCuFile fake;
    private final Map<Long, Batch> batches = new HashMap<>();
    private final Map<Long, Integer> slabsTaken = new HashMap<>();
    private long nextHandle = 0x7e0000001000L;
    private int mostInside;
    private int refuseSubmits;
    private boolean refusalLoses;
    private boolean held;
    private int failEntries;
    private boolean posixIsFine;
    private long stopEntriesAfter = Long.MAX_VALUE;

    private record Event(long cookie, int status, long result, long slab) {
    }

    private static final class Batch {
        private final int capacity;
        private final Deque<Event> events = new ArrayDeque<>();

        private Batch(int capacity) {
            this.capacity = capacity;
        }
    }

    FakeBatches(FakeCuFile fake) {
        this.fake = fake;
    }

    /** Holds back all events until {@link #release}; entries cancelled meanwhile are delivered as cancelled. */
    public synchronized void hold() {
        held = true;
    }

    public synchronized void release() {
        held = false;
    }

    /** Makes every submission answer this code from now on; 0 for none. */
    public synchronized void refuseSubmits(int code) {
        refuseSubmits = code;
    }

    /** As {@link #refuseSubmits}; a refusal also loses the events of entries in flight, as in the library. */
    public synchronized void refuseAndLose(int code) {
        refuseSubmits = code;
        refusalLoses = true;
    }

    /** For a test that asks for events once, after all entries have ended, and closes nothing before. */
    synchronized void takePosixEntries() {
        posixIsFine = true;
    }

    /** Makes every entry fail with this errno from now on. */
    public synchronized void failEntries(int errno) {
        failEntries = errno;
    }

    /** Makes every entry move at most this number of bytes and report that it is complete. */
    public synchronized void stopEntriesAfter(long bytes) {
        stopEntriesAfter = bytes;
    }

    /** Returns the largest number of entries in flight at a time, over all batches. */
    public synchronized int mostInside() {
        return mostInside;
    }

    public synchronized int open() {
        return batches.size();
    }

    synchronized void closed() {
        if (!batches.isEmpty()) {
            fake.violated("the driver is closed with " + batches.size() + " batches");
        }
        batches.clear();
    }

    synchronized long batchIOSetUp(MemorySegment out, int capacity) {
        if (out.address() == 0) {
            fake.violated("a batch without a place for its handle: crash");
            return 5022;
        }
        if (capacity < 1 || capacity > fake.driver().running().get(CuFileKeys.IO_BATCHSIZE)) {
            return 5022;
        }
        long handle = nextHandle;
        nextHandle += 64;
        batches.put(handle, new Batch(capacity));
        FakeCuFile.at(out, 8).set(JAVA_LONG, 0, handle);
        fake.called("BatchIOSetUp", capacity);
        return 0;
    }

    synchronized long batchIOSubmit(long handle, int count, MemorySegment params, int flags) {
        Batch batch = batches.get(handle);
        if (flags != 0) {
            fake.violated("flags of a submission");
        }
        if (batch == null || params.address() == 0 || count < 1 || count > batch.capacity - batch.events.size()) {
            return 5040;
        }
        if (refuseSubmits != 0) {
            if (refusalLoses) {
                batch.events.clear();
            }
            return refuseSubmits;
        }
        MemorySegment entries = FakeCuFile.at(params, count * 64L);
        List<Event> done = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            MemorySegment entry = entries.asSlice(i * 64L, 64);
            long file = entry.get(JAVA_LONG, 40);
            long fileOffset = entry.get(JAVA_LONG, 16);
            if (entry.get(JAVA_INT, 0) != 1 || !fake.transfers().isFile(file) || fileOffset < 0) {
                return 5040;
            }
            if (!posixIsFine && !isDirect(entry)) {
                fake.violated("an entry by POSIX I/O: a thread goes on with it after its event was taken");
            }
            if (entry.get(JAVA_INT, 48) == 1 && fileOffset > MAX_FILE) {
                fake.violated("an entry that is refused while others are in flight: the heap is spoiled");
                return 5040;
            }
        }
        for (int i = 0; i < count; i++) {
            done.add(run(entries.asSlice(i * 64L, 64)));
        }
        batch.events.addAll(done);
        mostInside = Math.max(mostInside, batches.values().stream().mapToInt(one -> one.events.size()).sum());
        return 0;
    }

    private boolean isDirect(MemorySegment entry) {
        long bits = entry.get(JAVA_LONG, 16) | entry.get(JAVA_LONG, 24) | entry.get(JAVA_LONG, 32);
        return fake.transfers().servesDirectly() && bits % PAGE == 0
                && !fake.transfers().isHost(entry.get(JAVA_LONG, 8));
    }

    private Event run(MemorySegment entry) {
        long size = entry.get(JAVA_LONG, 32);
        long slab = takeSlab(size);
        long result = failEntries != 0 ? -failEntries : fake.transfers()
                .moveEntry(
                        entry.get(JAVA_LONG, 40),
                        entry.get(JAVA_INT, 48) == 1,
                        entry.get(JAVA_LONG, 8) + entry.get(JAVA_LONG, 24),
                        Math.min(size, stopEntriesAfter),
                        entry.get(JAVA_LONG, 16));
        BatchStatus status = result < 0 ? BatchStatus.FAILED : BatchStatus.COMPLETE;
        return new Event(entry.get(JAVA_LONG, 56), status.value(), result, slab);
    }

    private long takeSlab(long size) {
        SlabArray slabs = fake.driver().running().posixPoolSlabs();
        for (int i = 0; i < slabs.sizesKb().size(); i++) {
            long bytes = slabs.sizesKb().get(i) * 1024;
            if (bytes >= size) {
                int taken = slabsTaken.merge(bytes, 1, Integer::sum);
                if (taken > slabs.counts().get(i)) {
                    fake.violated("all slabs of %d bytes are taken: hang".formatted(bytes));
                }
                return bytes;
            }
        }
        fake.violated("an entry of %d bytes, larger than any slab: it fails".formatted(size));
        return 0;
    }

    long batchIOGetStatus(
            long handle, int minimum, MemorySegment count, MemorySegment events, MemorySegment timeout) {
        synchronized (this) {
            Batch batch = batches.get(handle);
            if (batch == null) {
                return 5041;
            }
            if (count.address() == 0) {
                return 5022;
            }
            MemorySegment cell = FakeCuFile.at(count, 4);
            int capacity = cell.get(JAVA_INT, 0);
            if (minimum > capacity) {
                return 5022;
            }
            int delivered = deliver(batch, FakeCuFile.at(events, capacity * 24L), capacity);
            cell.set(JAVA_INT, 0, delivered);
            if (delivered >= minimum) {
                return 0;
            }
        }
        MemorySegment limit = FakeCuFile.at(timeout, 16);
        java.util.concurrent.locks.LockSupport.parkNanos(
                limit.get(JAVA_LONG, 0) * 1_000_000_000L + limit.get(JAVA_LONG, 8));
        return 0;
    }

    private int deliver(Batch batch, MemorySegment events, int capacity) {
        int delivered = 0;
        for (Event event : List.copyOf(batch.events)) {
            boolean ready = !held || event.status == BatchStatus.CANCELED.value();
            if (ready && delivered < capacity) {
                batch.events.remove(event);
                slabsTaken.computeIfPresent(event.slab, (bytes, taken) -> taken - 1);
                MemorySegment out = events.asSlice(delivered * 24L, 24);
                out.set(JAVA_LONG, 0, event.cookie);
                out.set(JAVA_INT, 8, event.status);
                out.set(JAVA_LONG, 16, event.result);
                delivered++;
            }
        }
        return delivered;
    }

    synchronized long batchIOCancel(long handle) {
        fake.called("BatchIOCancel");
        Batch batch = batches.get(handle);
        if (batch != null && !batch.events.isEmpty()) {
            fake.violated("cancelling loses the events of entries in flight");
            batch.events.clear();
        }
        return 0;
    }

    synchronized void batchIODestroy(long handle) {
        fake.called("BatchIODestroy");
        Batch batch = batches.remove(handle);
        if (batch != null && !batch.events.isEmpty()) {
            fake.violated("a batch is destroyed with entries in flight");
        }
    }
}
