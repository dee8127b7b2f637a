package io.gds4j;

import io.gds4j.CuFileBatch.Completion;
import io.gds4j.error.CuFileException;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Thrown if requests of {@link CuFileBatch#transferAll} failed. Code, errno, path and range are those of the first failure; the
 * message counts the failures and names up to 8. The others are suppressed exceptions.
 *
 * @since 0.1
 */
@Experimental
public final class CuFileBatchException extends CuFileException {
    private static final long serialVersionUID = 1L;

    /** Number of failures that the message names. */
    private static final int NAMED = 8;

    /** Every failed request; null after deserialization. */
    private final transient List<Completion> failures;

    CuFileBatchException(List<Completion> failures, int requests) {
        super(describe(failures, requests));
        this.failures = List.copyOf(failures);
        failures.forEach(failure -> failure.failure().ifPresent(this::addSuppressed));
    }

    private static Builder describe(List<Completion> failures, int requests) {
        CuFileException first = failures.getFirst().failure().orElseThrow();
        String named = failures.stream()
                .limit(NAMED)
                .map(failure -> "%s at %s: %s"
                        .formatted(
                                failure.request().write() ? "write" : "read",
                                failure.request().fileOffset(),
                                failure.status()))
                .collect(Collectors.joining(", ", "", failures.size() > NAMED ? ", .." : ""));
        return CuFileException.builder(first.function())
                .error(first.error())
                .errno(first.errno().orElse(0))
                .path(first.path())
                .range(first.fileOffset().orElse(-1), first.size().orElse(-1))
                .detail("%s of %s requests of a batch failed: %s".formatted(failures.size(), requests, named))
                .cause(first);
    }

    /** {@return every request that failed; empty after deserialization} */
    public List<Completion> failures() {
        return failures == null ? List.of() : failures;
    }
}
