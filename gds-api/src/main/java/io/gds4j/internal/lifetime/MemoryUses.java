package io.gds4j.internal.lifetime;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What only gds4j's own modules may do with memory. The package {@code io.gds4j.memory} implements and publishes it;
 * {@code io.gds4j.internal.memory.MemoryAccess} names the types, which are parameters here because this package is below both.
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

    /**
     * Keeps the memory from being freed for the time of a call of this thread, inside which freeing it is an error.
     *
     * @throws io.gds4j.error.CuFileException CUDA_POINTER_INVALID if it is freed already, or its arena closed or confined to another thread
     */
    public abstract void enter(R range, ThreadState here);

    /** Ends what {@link #enter} began, innermost first. */
    public abstract void exit(R range, ThreadState here);

    /**
     * Like {@link #enter}, but freeing the memory is an error until {@link #unclaim}. For registrations, entries of batches and loans to
     * other runtimes, whose end no thread can wait for.
     */
    public abstract void claim(R range);

    /** Ends what {@link #claim} began. */
    public abstract void unclaim(R range);

    /**
     * Lends memory to code outside of Java: freeing it is an error until the loan is closed, and the error names the borrower.
     *
     * @param borrower its text names who lent it, and to whom
     * @throws io.gds4j.error.CuFileException as {@link #claim}; INVALID_VALUE for a segment of an arena that the program can close
     */
    public abstract Loan lend(R range, Object borrower);

    /** Returns the lifetime of a dma-buf, for claims. Their owner must refer to the dma-buf, which keeps it reachable. */
    public abstract Lifetime lifetime(D buffer);

    /** Returns the lifetime of an allocation, to give it to another runtime. */
    public abstract Lifetime lifetimeOf(A allocation);

    /**
     * Adds a listener that hears when the memory is freed, after its last use and before its address can come again. Called during a use of
     * the memory.
     *
     * @param listener takes the first address, once, on the thread that frees; must not throw, nor refer to the allocation; adding it twice
     *         has no effect
     */
    public abstract void beforeFree(A allocation, LongConsumer listener);

    /** Lets an allocation copy and fill itself; called before the program has it. */
    public abstract void copiedBy(A allocation, Copies<R> copies);

    /**
     * Returns the CUDA context of an allocation if this source, compared by identity, has remembered it, or 0. Asking the driver takes each
     * request 0.1 µs.
     */
    public abstract long cudaContext(A allocation, Object source);

    /** Remembers the CUDA context of an allocation, which is not 0; the last source replaces any other. */
    public abstract void rememberCudaContext(A allocation, Object source, long context);

    /**
     * Copies and fills memory, for allocations that do so themselves. The methods are those of an allocator.
     *
     * @param <R> a range of memory
     */
    public interface Copies<R> {
        /** Copies {@code to.byteSize()} bytes from the start of a range to the host. */
        void copyToHost(R from, MemorySegment to);

        /** Copies {@code from.byteSize()} bytes of the host to the start of a range. */
        void copyFromHost(MemorySegment from, R to);

        /** Sets every byte of a range. */
        void fill(R range, byte value);
    }
}
