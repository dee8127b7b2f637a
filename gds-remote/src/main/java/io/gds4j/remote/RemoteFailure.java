package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.net.URI;
import org.jspecify.annotations.Nullable;

/** Makes the exceptions of this module: one line with the URL and the range. */
final class RemoteFailure {
    private RemoteFailure() {
    }

    static CuFileException of(URI uri, long offset, long size, int errno, String why, @Nullable Throwable cause) {
        CuFileException.Builder builder = CuFileException.builder("GET")
                .error(CuFileError.IO_ERROR)
                .errno(errno)
                .range(offset, size)
                .detail("%s, bytes %s to %s: %s".formatted(ObjectName.shown(uri), offset, offset + size - 1, why));
        return cause == null ? builder.build() : builder.cause(cause).build();
    }

    static int errno(int status) {
        return switch (status) {
            case 401, 403, 407 -> Errno.EACCES;
            case 404, 410 -> Errno.ENOENT;
            case 412 -> Errno.ESTALE;
            case 408, 504 -> Errno.ETIMEDOUT;
            default -> Errno.EIO;
        };
    }

    static String meaning(int status) {
        return switch (status) {
            case 401 -> "status 401: the server wants credentials";
            case 403 -> "status 403: the server refuses access";
            case 404, 410 -> "status %s: there is no such object".formatted(status);
            case 412 -> "status 412: the object changed while it was read";
            case 416 -> "status 416: the object has no such range";
            case 429 -> "status 429: too many requests";
            default -> "status " + status;
        };
    }
}
