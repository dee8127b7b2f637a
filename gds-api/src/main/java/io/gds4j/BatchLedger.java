package io.gds4j;

import io.gds4j.CuFileBatch.Completion;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.registration.CachedRegistration;
import io.gds4j.internal.registration.RegistrationCache;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Entries of a batch whose completion nobody has taken: they claim their file and their memory. No lock is held while the
 * backend submits, since it may wait for room that only taking completions makes.
 */
final class BatchLedger {
    static final String SUBMIT = "cuFileBatchIOSubmit";

    private final Session session;
    private final int capacity;

    /** A request on its way, the cached registration that it uses, and its event if somebody records. */
    private record Entry(
            CuFileBatch.Request request,
            @Nullable CachedRegistration registration,
            @Nullable BatchEntryEvent event) {
    }

    private final Map<Long, Entry> entries = new ConcurrentHashMap<>();
    private final AtomicInteger taken = new AtomicInteger();
    private final AtomicLong nextCookie = new AtomicLong();

    BatchLedger(Session session, int capacity) {
        this.session = session;
        this.capacity = capacity;
    }

    int outstanding() {
        return taken.get();
    }

    /** Enters all requests or none; they are on their way once the caller has submitted them. */
    List<BatchRequest> enter(List<CuFileBatch.Request> requests) {
        reserve(requests.size());
        List<BatchRequest> entered = new ArrayList<>(requests.size());
        boolean done = false;
        try {
            for (CuFileBatch.Request request : requests) {
                entered.add(enter(request));
            }
            done = true;
            return entered;
        } finally {
            if (!done) {
                remove(entered);
                taken.addAndGet(entered.size() - requests.size());
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
                        "%d requests where %d of %d are outstanding".formatted(count, now, capacity));
            }
        } while (!taken.compareAndSet(now, now + count));
    }

    private BatchRequest enter(CuFileBatch.Request request) {
        CuFileHandle handle = request.handle();
        RequestCheck checked = new RequestCheck(
                SUBMIT,
                handle.path(),
                request.write(),
                request.size(),
                request.fileOffset(),
                request.bufferOffset());
        if (handle.session() != session) {
            throw checked.failure(CuFileError.HANDLE_NOT_REGISTERED)
                    .detail("the handle belongs to another driver session")
                    .build();
        }
        checked.checkWithin(request.memory());
        handle.claim(checked, request.memory());
        CachedRegistration registration = null;
        boolean entered = false;
        try {
            registration = cached(request.memory());
            entered = true;
        } finally {
            if (!entered) {
                handle.unclaim(request.memory());
            }
        }
        long cookie = nextCookie.getAndIncrement();
        entries.put(cookie, new Entry(request, registration, FlightEvents.batchEntry()));
        MemoryRange base = registration == null ? MemoryUse.base(request.memory()) : registration.whole();
        long start = registration == null
                ? MemoryUse.start(request.memory())
                : request.memory().range().address() - base.address();
        return new BatchRequest(
                handle.file(),
                request.write(),
                base,
                request.size(),
                request.fileOffset(),
                start + request.bufferOffset(),
                cookie);
    }

    /** What the cache has registered of plain memory, counted in until the entry leaves. */
    private @Nullable CachedRegistration cached(IoMemory memory) {
        RegistrationCache cache = session.cache();
        CachedRegistration registration =
                cache != null && memory instanceof MemoryRange range ? cache.use(range) : null;
        if (registration != null) {
            registration.claim();
        }
        return registration;
    }

    /** Takes back what the backend refused. */
    void remove(List<BatchRequest> entered) {
        entered.forEach(entry -> leave(entry.cookie()));
    }

    /** What became of entries; each leaves the ledger. */
    List<Completion> complete(List<BatchEvent> events) {
        List<Completion> done = new ArrayList<>(events.size());
        for (BatchEvent event : events) {
            Entry entry = leave(event.cookie());
            if (entry == null) {
                // The completions beside it must not be lost for it.
                System.getLogger("io.gds4j").log(Level.ERROR, "the backend reports an unknown batch entry: " + event);
            } else {
                Completion completion = new Completion(entry.request(), event.status(), event.result());
                if (entry.event() != null) {
                    CuFileBatch.Request request = entry.request();
                    entry.event()
                            .record(
                                    request.handle().file(),
                                    request.write(),
                                    request.fileOffset(),
                                    event.status(),
                                    event.result());
                }
                done.add(completion);
            }
        }
        return done;
    }

    /** After the backend has destroyed the batch. */
    void removeAll() {
        List.copyOf(entries.keySet()).forEach(this::leave);
    }

    private @Nullable Entry leave(long cookie) {
        Entry entry = entries.remove(cookie);
        if (entry != null) {
            if (entry.registration() != null) {
                entry.registration().unclaim();
                entry.registration().exit();
            }
            entry.request().handle().unclaim(entry.request().memory());
            taken.decrementAndGet();
        }
        return entry;
    }
}
