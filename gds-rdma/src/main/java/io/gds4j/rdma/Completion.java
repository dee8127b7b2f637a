package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.util.OptionalInt;

/**
 * The end of a request ({@code ibv_wc}).
 *
 * @param id what the request was posted with
 * @param operation what it asked for
 * @param status how it ended; every request that was posted later fails, too, once one has failed
 * @param bytes bytes received; 0 for other operations and after a failure
 * @param immediate what the peer sent with the message, if it did
 * @param vendorError the device's own code of the failure
 *
 * @since 0.1
 */
@Experimental
public record Completion(
        long id, RdmaOperation operation, CompletionStatus status, int bytes, OptionalInt immediate, int vendorError) {
    /** {@return whether the request succeeded} */
    public boolean succeeded() {
        return status == CompletionStatus.SUCCESS;
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
        int errno = switch (status) {
            case REM_ACCESS_ERR, LOC_PROT_ERR, MW_BIND_ERR -> Errno.EACCES;
            case RETRY_EXC_ERR, RNR_RETRY_EXC_ERR, RESP_TIMEOUT_ERR -> Errno.ETIMEDOUT;
            case WR_FLUSH_ERR -> Errno.ECANCELED;
            default -> Errno.EIO;
        };
        CuFileError error = errno == Errno.EACCES ? CuFileError.PERMISSION_DENIED : CuFileError.IO_ERROR;
        throw RdmaFailure.of(
                error, operation.verb(), errno,
                "%s %s: %s (IBV_WC_%s)".formatted(operation.text(), id, status.text(), status));
    }
}
