package io.gds4j.internal.lifetime;

/** Hears that memory is about to be freed, after the last use of it and before its address can come again. */
@FunctionalInterface
public interface FreeListener {
    /**
     * Called once, on the thread that frees; must not throw, nor use the memory again.
     *
     * @param base first byte of the allocation
     */
    void freeing(long base);
}
