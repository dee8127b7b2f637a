package io.gds4j.testkit.random;

/**
 * The program's own use of a GPU in a {@link Campaign}, by other means than gds4j. Thread-safe.
 *
 * @since 0.1
 */
public interface ProgramGpu {
    /** Creates a stream of the first GPU. */
    ProgramStream newStream();

    /** Runs work while a kernel of the program occupies the GPU, which ends only when the work has ended. */
    void occupied(Runnable work);

    /**
     * Runs work while another thread of the program captures a graph in global mode.
     *
     * @throws AssertionError if the work has ended the capture
     */
    void captured(Runnable work);

    /**
     * Checks that no rule of CUDA was broken. Called whenever a driver has been closed.
     *
     * @throws AssertionError that lists broken rules
     */
    void check();
}
