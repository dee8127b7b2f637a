package io.gds4j.testkit;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;

/**
 * Asserts how a call fails, and returns the exception for further assertions. Each method throws an {@link AssertionError} if the
 * call fails otherwise or not at all.
 *
 * @since 0.1
 */
public final class Failures {
    /**
     * A call that may throw anything.
     *
     * @since 0.1
     */
    @FunctionalInterface
    public interface Attempt {
        /**
         * Makes the call.
         *
         * @throws Throwable whatever the call throws
         */
        void run() throws Throwable;
    }

    private Failures() {
    }

    /** Runs a call that must fail with this code. */
    public static CuFileException expect(CuFileError error, Attempt call) {
        CuFileException failure = expect(call);
        if (failure.error() != error) {
            throw new AssertionError(
                    "code %s, expected %s: %s".formatted(failure.error(), error, failure), failure);
        }
        return failure;
    }

    /** Runs a call that must fail with this code and this errno. */
    public static CuFileException expect(CuFileError error, int errno, Attempt call) {
        return check(errno, expect(error, call));
    }

    /** Runs a call that must fail with this errno and any code. */
    public static CuFileException expectErrno(int errno, Attempt call) {
        return check(errno, expect(call));
    }

    private static CuFileException check(int errno, CuFileException failure) {
        int actual = failure.errno().orElse(0);
        if (actual != errno) {
            throw new AssertionError(
                    "errno %s, expected %s: %s".formatted(Errno.name(actual), Errno.name(errno), failure), failure);
        }
        return failure;
    }

    /** Runs a call that must fail with a CuFileException. */
    public static CuFileException expect(Attempt call) {
        try {
            call.run();
        } catch (CuFileException e) {
            return e;
        } catch (Throwable e) {
            throw new AssertionError("expected a CuFileException, but it failed with " + e, e);
        }
        throw new AssertionError("expected a CuFileException, but it did not fail");
    }
}
