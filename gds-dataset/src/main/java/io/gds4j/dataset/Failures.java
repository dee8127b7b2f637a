package io.gds4j.dataset;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.util.ArrayList;
import java.util.List;

/** Makes the exceptions of this package, and collects them. */
final class Failures {
    static final String FUNCTION = "RecordLoader";

    private Failures() {
    }

    static CuFileException invalid(String detail) {
        return CuFileException.builder(FUNCTION)
                .error(CuFileError.INVALID_VALUE)
                .errno(Errno.EINVAL)
                .detail(detail)
                .build();
    }

    static CuFileException heap(String detail) {
        return CuFileException.of(CuFileError.NOMEM_ERROR, FUNCTION, detail);
    }

    static CuFileException closed() {
        return CuFileException.builder(FUNCTION)
                .error(CuFileError.INVALID_VALUE)
                .errno(Errno.EBADF)
                .detail("the loader is closed")
                .build();
    }

    /** Runs all of these, though some fail, and then throws the first failure. */
    static void runAll(List<Runnable> steps) {
        List<RuntimeException> failures = new ArrayList<>();
        for (Runnable step : steps) {
            try {
                step.run();
            } catch (RuntimeException e) {
                failures.add(e);
            }
        }
        if (!failures.isEmpty()) {
            RuntimeException first = failures.removeFirst();
            failures.forEach(first::addSuppressed);
            throw first;
        }
    }
}
