package io.gds4j.error;

import io.gds4j.internal.text.InertText;
import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A failure of gds4j: the cuFile function, file and range, with cuFile's code and the kernel's errno.
 *
 * <pre>{@code
 * try {
 *     handle.write(memory, 0);
 * } catch (CuFileException e) {
 *     if (e.errno().orElse(0) == Errno.ENOSPC) {
 *         makeRoom();
 *     }
 * }
 * }</pre>
 *
 * <p>
 * A RuntimeException, unlike {@link java.io.IOException}: a {@code catch (IOException e)} does not catch it.
 * {@link #isNotFound} and {@link #isAccessDenied} answer what NoSuchFileException and AccessDeniedException tell there.
 *
 * <p>
 * Instances are immutable; threads may share them.
 *
 * @since 0.1
 */
public class CuFileException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** cuFile's code. */
    private final CuFileError error;
    /** The kernel's errno, or 0. */
    private final int errno;
    /** The C function. */
    private final String function;
    /** The file, or null. */
    private final transient @Nullable Path path;
    /** First byte of the request in the file, or negative. */
    private final long fileOffset;
    /** Requested bytes, or negative. */
    private final long size;
    /** The contiguous count. */
    private final long bytesTransferred;
    /** Description of the failure. */
    private final String detail;

    /**
     * For subclasses; programs use {@link #of} or {@link #builder}.
     *
     * @param builder describes the failure
     */
    protected CuFileException(Builder builder) {
        super(builder.message(), builder.cause);
        this.error = builder.error;
        this.errno = builder.errno;
        this.function = builder.function;
        this.path = builder.path;
        this.fileOffset = builder.fileOffset;
        this.size = builder.size;
        this.bytesTransferred = builder.bytesTransferred;
        this.detail = builder.detail;
    }

    /**
     * Makes a failure without a file, such as an invalid argument.
     *
     * @param error cuFile's code
     * @param function the C function
     * @param detail a sentence that describes the failure
     * @return the exception
     */
    public static CuFileException of(CuFileError error, String function, String detail) {
        return builder(function).error(error).detail(detail).build();
    }

    /**
     * Makes a failure with an error number of the kernel.
     *
     * @param error cuFile's code
     * @param errno the error number, as in {@link Errno}
     * @param function the C function
     * @param detail a sentence that describes the failure
     * @return the exception
     */
    public static CuFileException of(CuFileError error, int errno, String function, String detail) {
        return builder(function).error(error).errno(errno).detail(detail).build();
    }

    /**
     * Makes a failure of a file.
     *
     * @param error cuFile's code
     * @param function the C function
     * @param path the file's name
     * @param detail a sentence that describes the failure
     * @return the exception
     */
    public static CuFileException of(CuFileError error, String function, Path path, String detail) {
        return of(error, function, Optional.of(path), detail);
    }

    /**
     * Makes a failure of a file whose name may be unknown.
     *
     * @param error cuFile's code
     * @param function the C function
     * @param path the file's name
     * @param detail a sentence that describes the failure
     * @return the exception
     */
    public static CuFileException of(CuFileError error, String function, Optional<Path> path, String detail) {
        return builder(function).error(error).path(path).detail(detail).build();
    }

    /**
     * Makes a failure for an argument that is not allowed ({@link CuFileError#INVALID_VALUE}).
     *
     * @param function the C function
     * @param detail a sentence that says what was given and what is allowed
     * @return the exception
     */
    public static CuFileException invalid(String function, String detail) {
        return of(CuFileError.INVALID_VALUE, function, detail);
    }

    /**
     * Begins the description of a failure.
     *
     * @param function C name of the cuFile function, for example {@code cuFileRead}
     * @return a builder
     */
    public static Builder builder(String function) {
        return new Builder(function);
    }

    /** {@return cuFile's code} */
    public CuFileError error() {
        return error;
    }

    /** {@return the number of cuFile's code, such as 5001} */
    public int code() {
        return error.code();
    }

    /** {@return the kernel's errno, if a system call failed (see {@link Errno})} */
    public OptionalInt errno() {
        return errno == 0 ? OptionalInt.empty() : OptionalInt.of(errno);
    }

    /**
     * Tells whether a file or a folder of its path does not exist (ENOENT, ENOTDIR).
     *
     * @return true if so
     */
    public boolean isNotFound() {
        return errno == Errno.ENOENT || errno == Errno.ENOTDIR;
    }

    /**
     * Tells whether the kernel denied access to the file (EACCES, EPERM). False for what gds4j refuses itself, such as
     * a transfer without the {@code BufferRight} that it needs: that is {@link CuFileError#PERMISSION_DENIED} without an errno.
     *
     * @return true if so
     */
    public boolean isAccessDenied() {
        return errno == Errno.EACCES || errno == Errno.EPERM;
    }

    /**
     * Tells whether the same call may succeed later though the program changes nothing: something was busy, late or short for a while (EAGAIN,
     * EBUSY, EINTR, ENOMEM, EMFILE, ENFILE, ETIMEDOUT, {@link CuFileError#NOMEM_ERROR}, {@link CuFileError#BATCH_FULL},
     * {@link CuFileError#GPU_MEMORY_PINNING_FAILED}). gds4j repeats by itself what kernels and servers ask to repeat; this is what is left.
     *
     * @return true if so
     */
    public boolean isRetryable() {
        return switch (errno) {
            case Errno.EAGAIN, Errno.EBUSY, Errno.EINTR, Errno.ENOMEM, Errno.EMFILE, Errno.ENFILE, Errno.ETIMEDOUT ->
                true;
            default -> error == CuFileError.NOMEM_ERROR || error == CuFileError.BATCH_FULL
                    || error == CuFileError.GPU_MEMORY_PINNING_FAILED;
        };
    }

    /** {@return the C name of the cuFile function that failed} */
    public String function() {
        return function;
    }

    /** {@return the file, if there is one and its name is known} */
    public Optional<Path> path() {
        return Optional.ofNullable(path);
    }

    /** {@return first byte of the request in the file} */
    public OptionalLong fileOffset() {
        return fileOffset < 0 ? OptionalLong.empty() : OptionalLong.of(fileOffset);
    }

    /** {@return requested bytes} */
    public OptionalLong size() {
        return size < 0 ? OptionalLong.empty() : OptionalLong.of(size);
    }

    /**
     * Returns the bytes that were certainly moved, counted from the request's first byte without a gap. Parallel pieces may
     * have moved some of the later bytes.
     *
     * @return the contiguous count
     */
    public long bytesTransferred() {
        return bytesTransferred;
    }

    /** {@return the description of the failure, without code, file and range} */
    public String detail() {
        return detail;
    }

    /** Collects the description of a failure; not thread-safe. */
    public static final class Builder {
        private final String function;
        private CuFileError error = CuFileError.INTERNAL_ERROR;
        private int errno;
        private @Nullable Path path;
        private long fileOffset = -1;
        private long size = -1;
        private long bytesTransferred;
        private String detail = "";
        private @Nullable Throwable cause;

        private Builder(String function) {
            this.function = Objects.requireNonNull(function, "function");
        }

        /**
         * Sets the code; the default is INTERNAL_ERROR.
         *
         * @param error cuFile's code
         * @return this builder
         */
        public Builder error(CuFileError error) {
            this.error = Objects.requireNonNull(error, "error");
            return this;
        }

        /**
         * Sets the errno.
         *
         * @param errno a positive errno value, 0 for none
         * @return this builder
         */
        public Builder errno(int errno) {
            this.errno = errno;
            return this;
        }

        /**
         * Sets the file.
         *
         * @param path the file's name
         * @return this builder
         */
        public Builder path(Path path) {
            this.path = Objects.requireNonNull(path, "path");
            return this;
        }

        /**
         * Sets the file, if it is known.
         *
         * @param path the file's name
         * @return this builder
         */
        public Builder path(Optional<Path> path) {
            this.path = path.orElse(null);
            return this;
        }

        /**
         * Sets the range; negative numbers stand for unknown ones.
         *
         * @param fileOffset first byte of the request in the file
         * @param size requested bytes
         * @return this builder
         */
        public Builder range(long fileOffset, long size) {
            this.fileOffset = fileOffset;
            this.size = size;
            return this;
        }

        /**
         * Sets the bytes that were moved before the failure.
         *
         * @param bytes the contiguous count
         * @return this builder
         */
        public Builder transferred(long bytes) {
            this.bytesTransferred = bytes;
            return this;
        }

        /**
         * Sets the description of the failure. Control characters are escaped, so that the message is one line.
         *
         * @param detail a sentence
         * @return this builder
         */
        public Builder detail(String detail) {
            this.detail = InertText.line(Objects.requireNonNull(detail, "detail"));
            return this;
        }

        /**
         * Sets the cause.
         *
         * @param cause the failure that caused this one
         * @return this builder
         */
        public Builder cause(Throwable cause) {
            this.cause = cause;
            return this;
        }

        /** {@return the exception} */
        public CuFileException build() {
            return new CuFileException(this);
        }

        /** {@return the same failure as an interruption} */
        public CuFileInterruptedException buildInterrupted() {
            return new CuFileInterruptedException(this);
        }

        private String message() {
            StringBuilder text = new StringBuilder(160).append(function).append(": ");
            text.append(detail.isEmpty() ? error.text() : detail);
            if (path != null) {
                text.append(", file=").append(InertText.name(path.toString()));
            }
            if (fileOffset >= 0) {
                text.append(", offset=").append(fileOffset);
            }
            if (size >= 0) {
                text.append(", size=").append(size);
            }
            if (bytesTransferred > 0) {
                text.append(", transferred=").append(bytesTransferred);
            }
            text.append(" (").append(error.cName()).append(' ').append(error.code());
            if (errno != 0) {
                text.append(", ").append(Errno.name(errno)).append(": ").append(Errno.text(errno));
            }
            return text.append(')').toString();
        }
    }
}
