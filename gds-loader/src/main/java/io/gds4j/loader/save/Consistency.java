package io.gds4j.loader.save;

/**
 * How a save keeps the program from changing tensors that are not written yet.
 *
 * @since 0.1
 */
public enum Consistency {
    /** The program waits, or at least leaves the tensors alone, until all bytes are written. Needs no memory. */
    STOP,
    /**
     * The save copies the tensors within their memory (GPU tensors on their own GPU) and writes the copies in the background.
     * Shortest stall; needs as much free memory as the tensors have.
     */
    DEVICE_SNAPSHOT,
    /** The save copies the tensors to host memory, pinned if there is a GPU, and writes the copies in the background. */
    HOST_SNAPSHOT
}
