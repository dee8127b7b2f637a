package io.gds4j.internal.lifetime;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What only gds4j's own modules may do with memory. The package {@code io.gds4j.memory} implements and publishes it;
 * {@code io.gds4j.internal.memory.MemoryAccess} names its types. They are parameters here because this package is below both.
 *
 * @param <R> a range of memory
 * @param <A> an allocation
 * @param <D> a dma-buf
 */
public abstract class MemoryUses<R, A, D> {
    private static volatile @Nullable MemoryUses<?, ?, ?> published;

    /** For the implementation. */
    protected MemoryUses() {
    }

    /** Makes the one implementation known. */
    public static void publish(MemoryUses<?, ?, ?> implementation) {
        published = implementation;
    }

    /** {@return the one implementation} */
    public static MemoryUses<?, ?, ?> published() {
        return Objects.requireNonNull(published, "io.gds4j.memory is not initialised");
    }

    /** Begins a call of this thread that uses the range. */
    public abstract void enter(R range, ThreadState here);

    /** Ends what {@link #enter} began. */
    public abstract void exit(R range, ThreadState here);

    /** Makes freeing the memory an error until {@link #unclaim}. */
    public abstract void claim(R range);

    /** Ends what {@link #claim} began. */
    public abstract void unclaim(R range);

    /** Makes closing the dma-buf an error until {@link #unclaimDmaBuf}; false if it is closed already. */
    public abstract boolean claimDmaBuf(D buffer);

    /** Ends what {@link #claimDmaBuf} began. */
    public abstract void unclaimDmaBuf(D buffer);

    /** Adds a listener that hears of the end of an allocation. */
    public abstract void beforeFree(A allocation, FreeListener listener);

    /** {@return the CUDA context that was remembered for this source, or 0} */
    public abstract long cudaContext(A allocation, Object source);

    /** Remembers the CUDA context of an allocation for this source. */
    public abstract void rememberCudaContext(A allocation, Object source, long context);
}
