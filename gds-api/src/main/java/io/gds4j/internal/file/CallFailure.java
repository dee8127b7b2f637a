package io.gds4j.internal.file;

import io.gds4j.error.Errno;
import java.nio.file.FileSystemException;
import java.nio.file.Path;

/** A call of libc that failed. */
public final class CallFailure extends FileSystemException {
    private static final long serialVersionUID = 1L;

    private final int errno;

    CallFailure(Path path, int errno) {
        super(path.toString(), null, Errno.text(errno));
        this.errno = errno;
    }

    /** {@return the error number of the call} */
    public int errno() {
        return errno;
    }
}
