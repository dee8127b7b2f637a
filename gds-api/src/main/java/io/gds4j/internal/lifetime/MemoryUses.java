package io.gds4j.internal.lifetime;

import java.util.Objects;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What only gds4j's own modules may do with memory. The package {@code io.gds4j.memory} implements and publishes it;
 * {@code io.gds4j.internal.memory.MemoryAccess} describes the methods and names the types, which are parameters here because
 * this package is below both.
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

    public abstract void enter(R range, ThreadState here);

    public abstract void exit(R range, ThreadState here);

    public abstract void claim(R range);

    public abstract void unclaim(R range);

    public abstract Lifetime lifetime(D buffer);

    public abstract Lifetime lifetimeOf(A allocation);

    public abstract void beforeFree(A allocation, LongConsumer listener);

    public abstract long cudaContext(A allocation, Object source);

    public abstract void rememberCudaContext(A allocation, Object source, long context);
}
