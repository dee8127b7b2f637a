package io.gds4j.internal.registration;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.AllocationTag;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.CuFileBackend;
import java.lang.System.Logger.Level;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntToLongFunction;
import java.util.function.LongConsumer;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Registers memory for callers that do not: the whole allocation at its first request. The allocation stays registered, because
 * registering is slow. The cache evicts the least recently used registrations that no I/O uses. It serves a backend, for memory
 * of GPUs, and domains of RDMA devices.
 *
 * <p>
 * An allocation of gds4j's allocators reports its end. Other memory has a tag, which each use compares: this detects memory
 * that was freed and allocated again at the same address before the request began. Memory without a tag is not cached.
 *
 * <p>
 * A hit takes no lock and allocates nothing. Misses are served one at a time.
 */
public final class RegistrationCache {
    private static final CachedRegistration[] NONE = {};

    private final Registrar registrar;
    private final Predicate<MemoryKind> kinds;
    private final MemoryAllocator allocator;
    private final long budgetBytes;
    private final long pageBytes;
    private final IntToLongFunction limitOfDevice;
    private final LongSupplier clock;
    private final LongConsumer listener = new Forget(new WeakReference<>(this));
    private final LongAdder hits = new LongAdder();
    private final LongAdder misses = new LongAdder();
    private final LongAdder uncacheable = new LongAdder();
    private final LongAdder refused = new LongAdder();
    private final LongAdder evictions = new LongAdder();
    private final LongAdder staleHits = new LongAdder();

    /** Sorted by base, without overlaps. A change replaces the whole array. */
    private volatile CachedRegistration[] byBase = NONE;

    /** Bytes registered with the backend by GPU, including retired registrations that still serve a request. */
    private final Map<Integer, Long> pinnedOfDevice = new HashMap<>();
    private long pinned;
    /** Smallest size in bytes that the backend has refused since the last registration ended. */
    private long refusedFrom = Long.MAX_VALUE;
    private boolean closed;
    /** Base addresses of the memory that the program itself has registered. */
    private final Set<Long> taken = new HashSet<>();

    /** A backend pins memory of GPUs; host memory needs no mapping. */
    private record OfBackend(CuFileBackend backend) implements Registrar {
        @Override
        public void register(MemoryRange whole) {
            backend.bufRegisterNow(whole, 0);
        }

        @Override
        public void deregister(MemoryRange whole) {
            backend.bufDeregister(whole);
        }
    }

    /** Refers to the cache weakly, so that an allocation does not keep an unused cache reachable. */
    private record Forget(WeakReference<RegistrationCache> cache) implements LongConsumer {
        @Override
        public void accept(long base) {
            RegistrationCache known = cache.get();
            if (known != null) {
                known.freed(base);
            }
        }
    }

    /**
     * Makes an empty cache that registers with a backend, within the limits of its GPUs.
     *
     * @param budgetBytes bytes that the cache keeps registered at most
     * @param pageBytes size of the pages that registering maps, a power of two
     */
    public static RegistrationCache of(CuFileBackend backend, long budgetBytes, long pageBytes) {
        return new RegistrationCache(backend, budgetBytes, pageBytes, new PinningLimits(backend.controls()),
                System::nanoTime);
    }

    /**
     * Makes an empty cache that registers memory of all kinds which do not migrate.
     *
     * @param allocator knows the allocations around ranges
     * @param budgetBytes bytes that the cache keeps registered at most
     * @param pageBytes size of the pages that registering maps, a power of two
     */
    public static RegistrationCache of(
            Registrar registrar, MemoryAllocator allocator, long budgetBytes, long pageBytes) {
        return new RegistrationCache(
                registrar, kind -> kind != MemoryKind.CUDA_MANAGED, allocator, budgetBytes, pageBytes,
                device -> Long.MAX_VALUE, System::nanoTime);
    }

    /**
     * @param limitOfDevice bytes of a GPU's memory that may be registered at a time, asked at each miss
     * @param clock tells which use was later
     */
    RegistrationCache(
            CuFileBackend backend,
            long budgetBytes,
            long pageBytes,
            IntToLongFunction limitOfDevice,
            LongSupplier clock) {
        this(
                new OfBackend(backend), kind -> kind.isCuda() && kind != MemoryKind.CUDA_MANAGED, backend.allocator(),
                budgetBytes, pageBytes, limitOfDevice, clock);
    }

    private RegistrationCache(
            Registrar registrar,
            Predicate<MemoryKind> kinds,
            MemoryAllocator allocator,
            long budgetBytes,
            long pageBytes,
            IntToLongFunction limitOfDevice,
            LongSupplier clock) {
        this.clock = clock;
        this.registrar = registrar;
        this.kinds = kinds;
        this.allocator = allocator;
        this.budgetBytes = budgetBytes;
        this.pageBytes = pageBytes;
        this.limitOfDevice = limitOfDevice;
    }

    /**
     * Returns the registration that a request on this memory uses, and counts the request in; null if the memory stays
     * unregistered. {@link CachedRegistration#exit} counts it out.
     *
     * @param range the memory; memory of gds4j's allocators is retained until the request has ended
     */
    public @Nullable CachedRegistration use(MemoryRange range) {
        if (!isCacheable(range)) {
            uncacheable.increment();
            return null;
        }
        CachedRegistration known = find(range);
        if (known != null && enterCurrent(known)) {
            hits.increment();
            return known;
        }
        return miss(range);
    }

    /** Managed memory migrates and cannot be pinned. */
    private boolean isCacheable(MemoryRange range) {
        return kinds.test(range.kind()) && range.length() > 0;
    }

    /** Counts a request in; removes the registration instead if its memory has been freed. */
    private boolean enterCurrent(CachedRegistration known) {
        if (!known.enter()) {
            return false;
        }
        AllocationTag tag = known.tag();
        if (tag == null || allocator.isCurrent(tag)) {
            known.touch(clock.getAsLong());
            return true;
        }
        known.exit();
        if (remove(known)) {
            staleHits.increment();
            known.retire();
        }
        return false;
    }

    private synchronized @Nullable CachedRegistration miss(MemoryRange range) {
        CachedRegistration made = find(range);
        if (made != null && enterCurrent(made)) {
            hits.increment();
            return made;
        }
        CachedRegistration fresh = describe(range);
        if (fresh == null || !fresh.holds(range)) {
            uncacheable.increment();
            return null;
        }
        misses.increment();
        dropOverlapping(fresh.whole());
        boolean may = !closed && !taken.contains(fresh.whole().address());
        if (may && makeRoom(fresh) && register(fresh)) {
            fresh.enter();
            fresh.touch(clock.getAsLong());
            insert(fresh);
            return fresh;
        }
        refused.increment();
        return null;
    }

    /** The allocation around a range, not registered yet; null for memory without a tag. */
    private @Nullable CachedRegistration describe(MemoryRange range) {
        Optional<MemoryAllocation> owner = range.owner();
        if (owner.isPresent()) {
            MemoryRange all = owner.get().range();
            MemoryAccess.USES.beforeFree(owner.get(), listener);
            return entry(all.address(), all.length(), range, null);
        }
        return allocator.allocationOf(range)
                .map(tag -> entry(tag.base(), tag.length(), range, tag))
                .orElse(null);
    }

    private CachedRegistration entry(long base, long length, MemoryRange part, @Nullable AllocationTag tag) {
        MemoryRange whole = MemoryRange.ofAddress(base, length, part.kind(), part.device());
        long first = base & -pageBytes;
        return new CachedRegistration(this, whole, tag, (base + length - first + pageBytes - 1) & -pageBytes);
    }

    /** Removes registrations of memory that was freed before this allocation took its addresses. */
    private void dropOverlapping(MemoryRange whole) {
        for (CachedRegistration old : byBase) {
            if (old.overlaps(whole) && remove(old)) {
                staleHits.increment();
                old.retire();
            }
        }
    }

    private boolean makeRoom(CachedRegistration fresh) {
        int device = fresh.whole().device();
        long limit = limitOfDevice.applyAsLong(device);
        if (fresh.pinnedBytes() > Math.min(limit, budgetBytes) || fresh.pinnedBytes() >= refusedFrom) {
            return false;
        }
        while (pinned > budgetBytes - fresh.pinnedBytes()) {
            if (!evictOne(-1)) {
                return false;
            }
        }
        while (pinnedOf(device) > limit - fresh.pinnedBytes()) {
            if (!evictOne(device)) {
                return false;
            }
        }
        return true;
    }

    private long pinnedOf(int device) {
        return pinnedOfDevice.getOrDefault(device, 0L);
    }

    /** Registers it; if the backend has no room, evicts as many bytes and tries once more. */
    private boolean register(CachedRegistration fresh) {
        if (tryRegister(fresh)) {
            return true;
        }
        if (refusedFrom > fresh.pinnedBytes()) {
            return false; // refused for a reason that eviction does not change
        }
        long wanted = pinned - fresh.pinnedBytes();
        boolean evicted = evictOne(fresh.whole().device());
        while (evicted && pinned > Math.max(0, wanted)) {
            evicted = evictOne(fresh.whole().device());
        }
        return tryRegister(fresh);
    }

    private boolean tryRegister(CachedRegistration fresh) {
        try {
            registrar.register(fresh.whole());
        } catch (CuFileException e) {
            System.getLogger("io.gds4j")
                    .log(Level.DEBUG, "memory stays unregistered: {0}: {1}", fresh.whole(), e.getMessage());
            if (isShortOfRoom(e)) {
                refusedFrom = Math.min(refusedFrom, fresh.pinnedBytes());
            }
            return false;
        }
        refusedFrom = Long.MAX_VALUE;
        pinned += fresh.pinnedBytes();
        pinnedOfDevice.merge(fresh.whole().device(), fresh.pinnedBytes(), Long::sum);
        return true;
    }

    /** Whether a registration failed for lack of room that the eviction of others can make. */
    public static boolean isShortOfRoom(CuFileException e) {
        return e.error() == CuFileError.INVALID_MAPPING_SIZE
                || e.error() == CuFileError.GPU_MEMORY_PINNING_FAILED
                || e.error() == CuFileError.NOMEM_ERROR
                || e.errno().orElse(0) == Errno.ENOMEM;
    }

    /** Evicts the least recently used registration of a GPU (of any if -1); false if all are in use. */
    private synchronized boolean evictOne(int device) {
        CachedRegistration oldest = null;
        for (CachedRegistration one : byBase) {
            boolean eligible = one.isIdle() && (device < 0 || one.whole().device() == device);
            if (eligible && (oldest == null || one.lastUse() - oldest.lastUse() < 0)) {
                oldest = one;
            }
        }
        if (oldest == null || !remove(oldest)) {
            return false;
        }
        evictions.increment();
        oldest.retire();
        return true;
    }

    /** Evicts all idle registrations, to make room for one that the program asked for. */
    public synchronized void evictIdle() {
        boolean evicted;
        do {
            evicted = evictOne(-1);
        } while (evicted);
    }

    /**
     * Ends the cache's registration at this address, because the program registers there itself. Waits for I/O that uses it.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) if entries of batches use it: the thread that would wait may have to take
     *         their completions
     */
    public void giveWay(long base) {
        CachedRegistration known;
        synchronized (this) {
            known = at(base);
            if (known != null && known.isClaimed()) {
                throw busy(base);
            }
            taken.add(base);
            if (known == null || !remove(known)) {
                return;
            }
        }
        known.retire();
        if (!known.awaitEnd()) {
            takeBack(base);
            throw busy(base);
        }
    }

    private static CuFileException busy(long base) {
        return CuFileException.of(CuFileError.IO_NOT_SUPPORTED, Errno.EBUSY, "cuFileBufRegister",
                "entries of a batch use the memory at 0x%x: take their completions first".formatted(base));
    }

    /** Allows registrations at this address again, after the registration of the program has ended. */
    public synchronized void takeBack(long base) {
        taken.remove(base);
    }

    private synchronized void freed(long base) {
        CachedRegistration known = at(base);
        if (known != null && remove(known)) {
            known.retire();
        }
    }

    /** Deregisters a retired registration after its last request. */
    synchronized void ended(CachedRegistration gone) {
        pinned -= gone.pinnedBytes();
        pinnedOfDevice.merge(gone.whole().device(), -gone.pinnedBytes(), Long::sum);
        refusedFrom = Long.MAX_VALUE;
        try {
            registrar.deregister(gone.whole());
        } catch (CuFileException e) {
            System.getLogger("io.gds4j")
                    .log(Level.WARNING, "memory could not be deregistered: {0}: {1}", gone.whole(), e.getMessage());
        }
    }

    /** Retires all registrations; those in use end with their last request. */
    public synchronized void close() {
        closed = true;
        CachedRegistration[] all = byBase;
        byBase = NONE;
        for (CachedRegistration one : all) {
            one.retire();
        }
    }

    /** {@return the counters so far} */
    public synchronized Statistics statistics() {
        return new Statistics(
                hits.sum(),
                misses.sum(),
                uncacheable.sum(),
                refused.sum(),
                evictions.sum(),
                staleHits.sum(),
                byBase.length,
                pinned);
    }

    // ---- the table

    private @Nullable CachedRegistration find(MemoryRange range) {
        CachedRegistration[] now = byBase;
        int at = floor(now, range.address());
        return at >= 0 && now[at].holds(range) ? now[at] : null;
    }

    private @Nullable CachedRegistration at(long base) {
        CachedRegistration[] now = byBase;
        int at = floor(now, base);
        return at >= 0 && now[at].whole().address() == base ? now[at] : null;
    }

    private synchronized void insert(CachedRegistration made) {
        CachedRegistration[] now = byBase;
        int at = floor(now, made.whole().address()) + 1;
        CachedRegistration[] next = Arrays.copyOf(now, now.length + 1);
        System.arraycopy(now, at, next, at + 1, now.length - at);
        next[at] = made;
        byBase = next;
    }

    private synchronized boolean remove(CachedRegistration gone) {
        CachedRegistration[] now = byBase;
        int at = floor(now, gone.whole().address());
        if (at < 0 || now[at] != gone) {
            return false;
        }
        CachedRegistration[] next = Arrays.copyOf(now, now.length - 1);
        System.arraycopy(now, at + 1, next, at, now.length - at - 1);
        byBase = next;
        return true;
    }

    /** Index of the last one that begins at or before an address; -1 if there is none. */
    private static int floor(CachedRegistration[] sorted, long address) {
        int low = 0;
        int high = sorted.length - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            if (Long.compareUnsigned(sorted[middle].whole().address(), address) <= 0) {
                low = middle + 1;
            } else {
                high = middle - 1;
            }
        }
        return high;
    }

    /**
     * Counters of a {@link RegistrationCache}; {@code io.gds4j.RegistrationStatistics} says what each one counts.
     */
    public record Statistics(
            long hits,
            long misses,
            long uncacheable,
            long refused,
            long evictions,
            long staleHits,
            int registrations,
            long bytesPinned) {
    }

    /** What a {@link RegistrationCache} registers whole allocations with. */
    public interface Registrar {
        /**
         * Registers an allocation.
         *
         * @param whole the allocation, without its owner
         * @throws CuFileException if it is refused; the memory stays unregistered then
         */
        void register(MemoryRange whole);

        /**
         * Ends a registration.
         *
         * @param whole the same object as at {@link #register}
         * @throws CuFileException if that fails
         */
        void deregister(MemoryRange whole);
    }
}
