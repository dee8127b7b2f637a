package io.gds4j.engine.staging;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The CUDA contexts that a session's requests have used. Thread-safe. */
public final class PreparedGpus {
    private final CudaContexts contexts;
    private final BouncePool pool;

    /** The newest first. Contexts that the program has destroyed leave. Replaced under its own lock, which no thread holds while it waits. */
    private volatile PreparedGpu[] known = {};
    private final Object adding = new Object();
    private final PeerLinks links;

    /** GPUs that were prepared by their numbers, whose links to each other are known. */
    private final Map<Integer, PreparedGpu> linked = new TreeMap<>();

    /** Number of calls of {@link #prepare}. A GPU is known only once its context is made. */
    private final AtomicInteger preparing = new AtomicInteger();

    private volatile Helpers helpers = (gpu, work) -> {
        // until there are threads that help
    };

    /** Idle threads. */
    public interface Helpers {
        /**
         * Has each run the work once; returns at once.
         *
         * @param gpu the work is for; negative if that is not known
         */
        void run(int gpu, Runnable work);
    }

    public PreparedGpus(CudaContexts contexts, BouncePool pool) {
        this(contexts, pool, System::nanoTime);
    }

    /** @param clock returns nanoseconds, in which links between GPUs are measured */
    public PreparedGpus(CudaContexts contexts, BouncePool pool, LongSupplier clock) {
        this.contexts = contexts;
        this.pool = pool;
        this.links = new PeerLinks(contexts, pool, clock);
    }

    public CudaContexts contexts() {
        return contexts;
    }

    public PeerLinks links() {
        return links;
    }

    /** Sets the threads that help. */
    public void helpedBy(Helpers threads) {
        helpers = threads;
    }

    /**
     * Returns the context of memory, of which nothing may be made yet. Allocates nothing for one that is known.
     *
     * @throws CuFileException CUDA_POINTER_INVALID if the driver does not know the address
     */
    public PreparedGpu of(MemoryRange memory) {
        return of(contexts.contextOf(memory.address(), memory.device()));
    }

    /** Returns the context with this handle. */
    public PreparedGpu of(long handle) {
        long id = contexts.idOf(handle);
        PreparedGpu found = find(handle, id);
        return found == null ? add(handle, id) : found;
    }

    private @Nullable PreparedGpu find(long handle, long id) {
        for (PreparedGpu gpu : known) {
            if (gpu.isOf(handle, id)) {
                return gpu;
            }
        }
        return null;
    }

    private PreparedGpu add(long handle, long id) {
        synchronized (adding) {
            PreparedGpu found = find(handle, id);
            if (found == null) {
                found = new PreparedGpu(contexts, pool, handle, id, used -> {
                    long since = pool.trims();
                    helpers.run(-1, () -> help(used, since));
                });
                List<PreparedGpu> all = new ArrayList<>(List.of(found));
                for (PreparedGpu other : known) {
                    if (other.handle() != handle && !other.isGone()) { // drivers reuse handles of destroyed contexts
                        all.add(other);
                    }
                }
                known = all.toArray(PreparedGpu[]::new);
            }
            return found;
        }
    }

    /**
     * Begins to prepare a GPU on idle threads, whose primary context may not exist yet. Making it takes longer than making slabs, which
     * need it only to be pinned.
     */
    public void expect(int gpu) {
        pool.serveGpus();
        long since = pool.trims();
        helpers.run(gpu, () -> {
            if (pool.trims() == since) {
                pool.pinNext();
                help(of(contexts.primary(gpu)), since);
            }
        });
    }

    /**
     * Prepares a GPU and returns once all is made. Waits until no stream waits for this process.
     *
     * @throws CuFileException DEVICE_NOT_FOUND if there is no such GPU; CUDA_DRIVER_ERROR if the driver refuses
     */
    public void prepare(int gpu) {
        preparing.incrementAndGet();
        try {
            expect(gpu);
            PreparedGpu prepared = of(contexts.primary(gpu));
            prepared.prepare();
            link(gpu, prepared);
        } finally {
            preparing.decrementAndGet();
        }
    }

    /** Measures the links to the GPUs that were prepared before, now that nothing else uses them. */
    private synchronized void link(int gpu, PreparedGpu context) {
        if (context != linked.put(gpu, context)) {
            pool.waits().awaitNone();
            linked.forEach((other, peer) -> {
                if (other != gpu) {
                    links.isFaster(context, gpu, peer, other);
                    links.isFaster(peer, other, context, gpu);
                }
            });
        }
    }

    /**
     * Calls nothing in a context that is prepared: the program may have destroyed it when this thread comes.
     *
     * @param since number of trims when the help was asked for: threads that come late make nothing again
     */
    private static void help(PreparedGpu gpu, long since) {
        try {
            gpu.help(since);
        } catch (CuFileException e) {
            // the request that needs this meets the same failure and reports it
        }
    }

    /**
     * Returns whether a GPU is in use for which not all is made, its context included: that may take seconds in the CUDA driver.
     */
    public boolean isPreparing() {
        PreparedGpu[] all = known;
        return preparing.get() > 0
                || pool.servesGpus() && (all.length == 0 || !Arrays.stream(all).allMatch(PreparedGpu::isPrepared));
    }

    /** Frees everything but slabs; no request may be at work. */
    public void close() {
        for (PreparedGpu gpu : known) {
            gpu.close();
        }
        known = new PreparedGpu[0];
    }
}
