package io.gds4j.engine.stream;

/**
 * What threads that serve streams work with: one of these each, made by the backend, used by one thread at a time.
 *
 * @param <L> a lane
 */
public interface StreamLanes<L> {
    /** Makes what operations will need while streams wait for them, before the first of them does. */
    void prepareForWaits();

    /** True if some operations are staged ({@link StreamTransfer#isStaged}): slabs are made for them beforehand. */
    default boolean stages() {
        return false;
    }

    /** A lane; to be given back. */
    L borrow();

    /**
     * A lane that has all it needs for memory of a CUDA context, so that nothing is made while streams wait; to be given back.
     *
     * @throws io.gds4j.error.CuFileException if CUDA refuses; then there is nothing to give back
     */
    L borrow(long context);

    /** Takes it back. */
    void giveBack(L lane);
}
