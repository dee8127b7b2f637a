package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.internal.registration.CachedRegistration;
import io.gds4j.internal.registration.RegistrationCache;
import io.gds4j.internal.registration.RegistrationCache.Registrar;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * Keeps memory registered that requests use again and again, as the driver does for GPU memory: the whole allocation at its first
 * use, until others need the room (the least recently used goes first) or the memory is freed. Memory of which no allocation is
 * known, and what exceeds the budget, is registered for the time of its lease alone.
 *
 * <pre>{@code
 * try (RegionLease lease = cache.lease(memory)) {
 *     queuePair.write(1, lease.slice(0, 4096), remote);
 *     queuePair.await(Duration.ofSeconds(5)).orElseThrow().check();
 * }
 * }</pre>
 *
 * <p>
 * Thread-safe.
 *
 * @since 0.1
 */
@Experimental
public final class RegionCache implements AutoCloseable {

    /** Registers with the domain. Refers to no cache: the release of that uses it. */
    private static final class Regions implements Registrar {
        private final ProtectionDomain domain;
        private final Set<RdmaAccess> rights;
        private final Map<MemoryRange, MemoryRegion> byMemory = Collections.synchronizedMap(new IdentityHashMap<>());

        Regions(ProtectionDomain domain, Set<RdmaAccess> rights) {
            this.domain = domain;
            this.rights = rights;
        }

        @Override
        public void register(MemoryRange whole) {
            byMemory.put(whole, own(whole));
        }

        /** Registers memory. The claim keeps borrowers, who get at the region by their slices, from closing it. */
        MemoryRegion own(MemoryRange memory) {
            MemoryRegion region = domain.register(memory, rights);
            region.lifetime().claim();
            return region;
        }

        static void disown(MemoryRegion region) {
            region.lifetime().unclaim();
            region.close();
        }

        @Override
        public void deregister(MemoryRange whole) {
            MemoryRegion region = byMemory.remove(whole);
            if (region != null) {
                disown(region);
            }
        }
    }

    private final Regions regions;
    private final RegistrationCache registrations;
    private final Lifetime lifetime;

    private RegionCache(
            ProtectionDomain domain, MemoryAllocator allocator, Set<RdmaAccess> rights, long budgetBytes) {
        RdmaAccess.toBits(rights);
        if (rights.contains(RdmaAccess.WINDOW_BIND) || budgetBytes <= 0) {
            throw RdmaFailure.invalid(
                    "ibv_reg_mr", "a cache with a budget of %s bytes and rights %s: more than 0, without WINDOW_BIND"
                            .formatted(budgetBytes, rights));
        }
        regions = new Regions(domain, Set.copyOf(rights));
        RegistrationCache made = RegistrationCache.of(
                regions, Objects.requireNonNull(allocator, "allocator"), budgetBytes, Pages.SIZE);
        registrations = made;
        lifetime = Lifetime.of(this, "RegionCache of " + domain.handle().device(), made::close);
    }

    /**
     * Makes an empty cache.
     *
     * @param domain where memory is registered
     * @param allocator knows the allocations around ranges: that of the driver
     * @param rights what may be done with the memory; windows cannot be bound to it
     * @param budgetBytes bytes that stay registered at most, in whole pages, more than 0
     * @return the cache, to be closed before the domain
     * @throws CuFileException INVALID_VALUE for WINDOW_BIND, rights that contradict each other, or another budget
     */
    public static RegionCache of(
            ProtectionDomain domain, MemoryAllocator allocator, Set<RdmaAccess> rights, long budgetBytes) {
        return new RegionCache(domain, allocator, rights, budgetBytes);
    }

    /**
     * Registers memory, or finds it registered.
     *
     * @param memory the memory, which cannot be freed before the lease ends
     * @return a lease, to be closed after the completion of the last request that uses it
     * @throws CuFileException as {@link ProtectionDomain#register(MemoryRange, Set)}; MEMORY_NOT_REGISTERED if the cache or its
     *         domain is closed
     */
    public RegionLease lease(MemoryRange memory) {
        DomainHandle.claim(lifetime, "ibv_reg_mr");
        return Undo.ifFails(lifetime::unclaim, () -> {
            MemoryAccess.USES.claim(memory);
            return Undo.ifFails(() -> MemoryAccess.USES.unclaim(memory), () -> lend(memory));
        });
    }

    private RegionLease lend(MemoryRange memory) {
        CachedRegistration cached = registrations.use(memory);
        if (cached == null) {
            MemoryRegion own = regions.own(memory);
            return new RegionLease(own, 0, memory.length(), () -> end(memory, () -> Regions.disown(own)));
        }
        MemoryRange whole = cached.whole();
        return new RegionLease(
                Objects.requireNonNull(regions.byMemory.get(whole)), memory.address() - whole.address(),
                memory.length(), () -> end(memory, cached::exit));
    }

    private void end(MemoryRange memory, Runnable first) {
        try {
            first.run();
        } finally {
            MemoryAccess.USES.unclaim(memory);
            lifetime.unclaim();
        }
    }

    /** {@return bytes that are registered now, in whole pages} */
    public long registeredBytes() {
        return registrations.statistics().bytesPinned();
    }

    /** {@return leases that found their memory registered} */
    public long hits() {
        return registrations.statistics().hits();
    }

    /** {@return registrations that made room for others} */
    public long evictions() {
        return registrations.statistics().evictions();
    }

    /**
     * Deregisters all memory. Idempotent.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, while there are leases
     */
    @Override
    public void close() {
        lifetime.close(this, "ibv_dereg_mr");
    }
}
