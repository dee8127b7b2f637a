package io.gds4j.error;

/**
 * The calling thread was interrupted between two pieces of a request. Pieces in flight have ended, the thread's interrupt flag
 * is still set, the handle stays usable, and {@link #bytesTransferred()} is the contiguous count.
 *
 * @since 0.1
 */
public final class CuFileInterruptedException extends CuFileException {
    private static final long serialVersionUID = 1L;

    CuFileInterruptedException(Builder builder) {
        super(builder);
    }
}
