package io.gds4j.spark;

import org.jspecify.annotations.Nullable;

/** A rank's failure with the place where it happened, in one line. */
final class JobFailure extends RuntimeException {
    private static final long serialVersionUID = 1L;

    JobFailure(String line, @Nullable Throwable cause) {
        super(line, cause);
    }
}
