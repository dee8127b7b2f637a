package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/**
 * Asserts how a call fails, and returns the exception for further assertions.
 *
 * @since 0.1
 */
public final class Failures {
    private Failures() {
    }

    /** Runs a call that must fail with this code. */
    public static CuFileException expect(CuFileError error, ThrowingCallable call) {
        CuFileException failure = expect(call);
        assertThat(failure.error()).as("code of: %s", failure).isEqualTo(error);
        return failure;
    }

    /** Runs a call that must fail with this code and this errno. */
    public static CuFileException expect(CuFileError error, int errno, ThrowingCallable call) {
        CuFileException failure = expect(error, call);
        assertThat(Errno.name(failure.errno().orElse(0))).as("errno of: %s", failure).isEqualTo(Errno.name(errno));
        return failure;
    }

    /** Runs a call that must fail with this errno and any code. */
    public static CuFileException expectErrno(int errno, ThrowingCallable call) {
        CuFileException failure = expect(call);
        assertThat(Errno.name(failure.errno().orElse(0))).as("errno of: %s", failure).isEqualTo(Errno.name(errno));
        return failure;
    }

    /** Runs a call that must fail with a CuFileException. */
    public static CuFileException expect(ThrowingCallable call) {
        Throwable failure = catchThrowable(call);
        assertThat(failure).as("a failure").isInstanceOf(CuFileException.class);
        return (CuFileException) failure;
    }
}
