package io.gds4j;

import io.gds4j.CuFileBatch.Completion;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.registration.CachedRegistration;
import io.gds4j.internal.registration.RegistrationCache;
import io.gds4j.internal.trace.FlightEvents;
import io.gds4j.internal.trace.FlightEvents.BatchEntry;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.TraceRanges;
import io.gds4j.spi.TracedOperation;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The outstanding entries of a batch. Each claims its file and memory until a caller takes its completion. No lock is held while
 * the backend submits: the backend may wait for room, which another thread makes by taking completions.
 *
 * <p>
 * Entries have slots, so that removing one allocates nothing: an exhausted heap loses no claim and no completion.
 */
final class BatchLedger {
    static final String SUBMIT = "cuFileBatchIOSubmit";

    private final Session session;
    private final int capacity;
    private final @Nullable Entry[] slots;
    private final int[] free;
    private int freeSlots;
    private long generation;

    /** Reserved places: entries, and those that {@link #enter} is about to add. */
    private final AtomicInteger taken = new AtomicInteger();

    /** Entries with an {@link Entry#outcome}. */
    private final AtomicInteger kept = new AtomicInteger();

    /** A submitted request, the cached registration that it uses, and its event if a recording is on. */
    private static final class Entry {
        private final long cookie;
        private final CuFileBatch.Request request;
        private final @Nullable CachedRegistration registration;
        private final @Nullable BatchEntry event;
        private final long range;

        /** Its completion, if the heap was exhausted when the backend reported it. */
        private @Nullable BatchEvent outcome;

        Entry(
                long cookie,
                CuFileBatch.Request request,
                @Nullable CachedRegistration registration,
                @Nullable BatchEntry event) {
            this.cookie = cookie;
            this.request = request;
            this.registration = registration;
            this.event = event;
            this.range = TraceRanges.ACTIVE ? beginRange(request) : 0;
        }

        private static long beginRange(CuFileBatch.Request request) {
            return TraceRanges.begin(
                    request.write() ? TracedOperation.BATCH_WRITE : TracedOperation.BATCH_READ,
                    request.handle().file().ioPath().path(),
                    request.size());
        }
    }

    BatchLedger(Session session, int capacity) {
        this.session = session;
        this.capacity = capacity;
        this.slots = new Entry[capacity];
        this.free = new int[capacity];
        for (int slot = 0; slot < capacity; slot++) {
            free[freeSlots++] = slot;
        }
    }

    int outstanding() {
        return taken.get();
    }

    /** {@return entries whose completion the backend has not reported} */
    int awaited() {
        return taken.get() - kept.get();
    }

    /** Checks and enters all requests or none. The caller submits them, or removes them if that fails. */
    List<BatchRequest> enter(List<CuFileBatch.Request> requests) {
        int count = requests.size();
        List<BatchRequest> entered = new ArrayList<>(count);
        reserve(count);
        boolean done = false;
        try {
            for (CuFileBatch.Request request : requests) {
                entered.add(enter(request));
            }
            done = true;
            return entered;
        } finally {
            if (!done) {
                taken.addAndGet(entered.size() - count);
                remove(entered);
            }
        }
    }

    private void reserve(int count) {
        int now;
        do {
            now = taken.get();
            if (count > capacity - now) {
                throw CuFileException.of(
                        CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                        SUBMIT,
                        "%s requests where %s of %s are outstanding".formatted(count, now, capacity));
            }
        } while (!taken.compareAndSet(now, now + count));
    }

    private BatchRequest enter(CuFileBatch.Request request) {
        CuFileHandle handle = request.handle();
        RequestCheck checked = request.check();
        if (handle.session() != session) {
            throw checked.failure(CuFileError.HANDLE_NOT_REGISTERED)
                    .detail("the handle belongs to another driver session")
                    .build();
        }
        checked.checkWithin(request.memory());
        handle.claim(checked, request.memory());
        CachedRegistration registration = null;
        long cookie = -1;
        boolean entered = false;
        try {
            registration = cached(request.memory());
            cookie = takeSlot();
            BatchRequest submitted = submission(request, registration, cookie);
            put(new Entry(cookie, request, registration, FlightEvents.batchEntry()));
            entered = true;
            return submitted;
        } finally {
            if (!entered) {
                if (cookie >= 0) {
                    giveSlotBack(cookie);
                }
                release(request, registration);
            }
        }
    }

    private static BatchRequest submission(
            CuFileBatch.Request request, @Nullable CachedRegistration registration, long cookie) {
        MemoryRange base = registration == null ? MemoryUse.base(request.memory()) : registration.whole();
        long start = registration == null
                ? MemoryUse.start(request.memory())
                : request.memory().range().address() - base.address();
        BatchRequest submitted = new BatchRequest(
                request.handle().file(),
                request.operation(),
                base,
                request.size(),
                request.fileOffset(),
                start + request.bufferOffset(),
                cookie);
        IoResult report = report(request);
        if (report == null) {
            return submitted;
        }
        report.about(submitted.file(), base.kind().isCuda());
        return submitted.reportTo(report.sink());
    }

    /** Takes a slot, which {@link #reserve} guarantees, and returns a cookie that no entry had before. */
    private synchronized long takeSlot() {
        return generation++ * capacity + free[--freeSlots];
    }

    private synchronized void giveSlotBack(long cookie) {
        free[freeSlots++] = (int) (cookie % capacity);
    }

    private synchronized void put(Entry entry) {
        slots[(int) (entry.cookie % capacity)] = entry;
    }

    private synchronized @Nullable Entry find(long cookie) {
        Entry entry = slots[(int) Math.floorMod(cookie, (long) capacity)];
        return entry != null && entry.cookie == cookie ? entry : null;
    }

    /** Returns the cached registration of plain memory, in use until the entry leaves; null if there is none. */
    private @Nullable CachedRegistration cached(IoMemory memory) {
        RegistrationCache cache = session.cache();
        CachedRegistration registration =
                cache != null && memory instanceof MemoryRange range ? cache.use(range) : null;
        if (registration != null) {
            registration.claim();
        }
        return registration;
    }

    /** Removes entries that the backend refused. */
    void remove(List<BatchRequest> entered) {
        for (int i = 0; i < entered.size(); i++) {
            Entry entry = find(entered.get(i).cookie());
            if (entry != null) {
                leave(entry);
            }
        }
    }

    /**
     * Turns events into completions and removes their entries.
     *
     * @throws OutOfMemoryError if the heap has no room for any completion; a later call returns them
     */
    List<Completion> complete(List<BatchEvent> events) {
        List<Completion> done = List.of();
        int next = 0;
        try {
            int earlier = kept.get();
            done = new ArrayList<>(events.size() + earlier);
            deliverKept(earlier, done);
            for (; next < events.size(); next++) {
                deliver(events.get(next), done);
            }
        } catch (OutOfMemoryError e) {
            for (; next < events.size(); next++) {
                keep(events.get(next));
            }
            if (done.isEmpty()) {
                throw e;
            }
        }
        return done;
    }

    private void deliverKept(int most, List<Completion> done) {
        for (int slot = 0; slot < capacity && done.size() < most; slot++) {
            BatchEvent outcome = outcome(slot);
            if (outcome != null) {
                deliver(outcome, done);
            }
        }
    }

    /** Allocates the completion before the entry leaves, so that an exhausted heap does not lose it. */
    private void deliver(BatchEvent event, List<Completion> done) {
        Entry entry = find(event.cookie());
        if (entry == null) {
            // Throwing would lose the other completions.
            System.getLogger("io.gds4j").log(Level.ERROR, "the backend reports an unknown batch entry: " + event);
            return;
        }
        Completion completion = new Completion(entry.request, event.status(), event.result());
        IoResult report = report(entry.request);
        CuFileException failure = report == null ? null : completion.failure().orElse(null);
        if (entry.event != null) {
            CuFileBatch.Request request = entry.request;
            entry.event.record(request.handle().file(), request.operation(), request.fileOffset(), event.status(),
                    event.result());
        }
        if (leave(entry)) {
            if (failure != null && report != null) {
                report.failAfter(0, failure);
            } else if (report != null) {
                report.end(event.result());
            }
            over(report);
            done.add(completion);
        }
    }

    private synchronized void keep(BatchEvent event) {
        Entry entry = find(event.cookie());
        if (entry != null && entry.outcome == null) {
            entry.outcome = event;
            kept.incrementAndGet();
        }
    }

    private synchronized @Nullable BatchEvent outcome(int slot) {
        Entry entry = slots[slot];
        return entry == null ? null : entry.outcome;
    }

    /** Removes every entry; for the time after the backend has destroyed the batch. */
    void removeAll() {
        for (int slot = 0; slot < capacity; slot++) {
            Entry entry = at(slot);
            if (entry != null && leave(entry)) {
                IoResult report = report(entry.request);
                if (report != null) {
                    report.failLater(0, () -> closed(entry.request));
                }
                over(report);
            }
        }
    }

    private static @Nullable IoResult report(CuFileBatch.Request request) {
        return request.report().orElse(null);
    }

    private static void over(@Nullable IoResult report) {
        if (report != null) {
            report.over();
        }
    }

    private static CuFileException closed(CuFileBatch.Request request) {
        return CuFileException.builder(request.operation().function()).error(CuFileError.IO_ERROR)
                .errno(Errno.ECANCELED).path(request.handle().path()).range(request.fileOffset(), request.size())
                .detail("the batch was closed before a caller took the completion").build();
    }

    private synchronized @Nullable Entry at(int slot) {
        return slots[slot];
    }

    private boolean leave(Entry entry) {
        if (!takeOut(entry)) {
            return false;
        }
        if (TraceRanges.ACTIVE) {
            TraceRanges.end(entry.range);
        }
        release(entry.request, entry.registration);
        taken.decrementAndGet();
        return true;
    }

    private synchronized boolean takeOut(Entry entry) {
        int slot = (int) (entry.cookie % capacity);
        if (slots[slot] != entry) {
            return false;
        }
        slots[slot] = null;
        giveSlotBack(entry.cookie);
        if (entry.outcome != null) {
            kept.decrementAndGet();
        }
        return true;
    }

    private static void release(CuFileBatch.Request request, @Nullable CachedRegistration registration) {
        if (registration != null) {
            registration.unclaim();
            registration.exit();
        }
        request.handle().unclaim(request.memory());
    }
}
