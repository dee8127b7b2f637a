package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The end of a request ({@code ibv_wc}).
 *
 * @since 0.1
 */
@Experimental
public final class Completion {
    private final Parts parts;

    Completion(long id, RdmaOperation operation, CompletionStatus status, int bytes, OptionalInt immediate,
            int vendorError) {
        parts = new Parts(id, operation, status, bytes, immediate, vendorError);
    }

    /** {@return what the request was posted with} */
    public long id() {
        return parts.id;
    }

    /** {@return what it asked for} */
    public RdmaOperation operation() {
        return parts.operation;
    }

    /** {@return how it ended; every request that was posted later fails, too, once one has failed} */
    public CompletionStatus status() {
        return parts.status;
    }

    /** {@return bytes received; 0 for other operations and after a failure} */
    public int bytes() {
        return parts.bytes;
    }

    /** {@return what the peer sent with the message, if it did} */
    public OptionalInt immediate() {
        return parts.immediate;
    }

    /** {@return the device's own code of the failure} */
    public int vendorError() {
        return parts.vendorError;
    }

    /** {@return whether the request succeeded} */
    public boolean succeeded() {
        return parts.status == CompletionStatus.SUCCESS;
    }

    /**
     * Returns this completion if the request succeeded.
     *
     * @return this
     * @throws CuFileException with the status if the request failed: PERMISSION_DENIED (EACCES) for keys, ranges and rights,
     *         IO_ERROR with ETIMEDOUT if the peer does not answer, ECANCELED if it was flushed, EIO otherwise
     */
    public Completion check() {
        if (succeeded()) {
            return this;
        }
        int errno = switch (parts.status) {
            case REM_ACCESS_ERR, LOC_PROT_ERR, MW_BIND_ERR -> Errno.EACCES;
            case RETRY_EXC_ERR, RNR_RETRY_EXC_ERR, RESP_TIMEOUT_ERR -> Errno.ETIMEDOUT;
            case WR_FLUSH_ERR -> Errno.ECANCELED;
            default -> Errno.EIO;
        };
        CuFileError error = errno == Errno.EACCES ? CuFileError.PERMISSION_DENIED : CuFileError.IO_ERROR;
        throw RdmaFailure.of(
                error, parts.operation.verb(), errno,
                "%s %s: %s (IBV_WC_%s)".formatted(parts.operation.text(), parts.id, parts.status.text(), parts.status));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Completion that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "Completion");
    }

    private record Parts(long id, RdmaOperation operation, CompletionStatus status, int bytes, OptionalInt immediate,
            int vendorError) {
    }
}
