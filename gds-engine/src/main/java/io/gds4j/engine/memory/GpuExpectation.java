package io.gds4j.engine.memory;

/** Called before a program uses the memory of a GPU. */
public interface GpuExpectation {
    /** Expects nothing. */
    GpuExpectation NONE = gpu -> {
        // nothing prepares
    };

    /**
     * Called before a large allocation, by its thread. The GPU's primary context may not exist yet, and making it may take longer
     * than any other preparation.
     */
    void expect(int gpu);

    /** Makes all that requests of a GPU need, and returns then. */
    default void prepare(int gpu) {
        expect(gpu);
    }

    /** Called before memory of a GPU is allocated, which synchronises implicitly: other such calls may be made now. */
    default void allocates() {
        // there are none
    }
}
