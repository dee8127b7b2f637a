package io.gds4j.error;

import java.nio.file.Path;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Any failure of gds4j: which cuFile function, on which file and range, with cuFile's code and the kernel's errno.
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
 * Instances are immutable and may be handed between threads.
 *
 * @since 0.1
 */
public class CuFileException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final CuFileError error;
    private final int errno;
    private final String function;
    private final transient @Nullable Path path;
    private final long fileOffset;
    private final long size;
    private final long bytesTransferred;
    private final String detail;

    /** For subclasses; programs use {@link #of} or {@link #builder}. */
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

    /** A failure without a file, such as a bad argument. */
    public static CuFileException of(CuFileError error, String function, String detail) {
        return builder(function).error(error).detail(detail).build();
    }

    /** Begins the description of a failure of the named cuFile function (C name, for example {@code cuFileRead}). */
    public static Builder builder(String function) {
        return new Builder(function);
    }

    /** cuFile's code. */
    public CuFileError error() {
        return error;
    }

    /** The kernel's errno, where a system call failed (see {@link Errno}). */
    public OptionalInt errno() {
        return errno == 0 ? OptionalInt.empty() : OptionalInt.of(errno);
    }

    /** The C name of the cuFile function that failed. */
    public String function() {
        return function;
    }

    /** The file, where there is one and its name is known. */
    public Optional<Path> path() {
        return Optional.ofNullable(path);
    }

    /** First byte of the request within the file. */
    public OptionalLong fileOffset() {
        return fileOffset < 0 ? OptionalLong.empty() : OptionalLong.of(fileOffset);
    }

    /** Bytes asked for. */
    public OptionalLong size() {
        return size < 0 ? OptionalLong.empty() : OptionalLong.of(size);
    }

    /**
     * Bytes that were certainly moved, counted from the request's first byte without a gap. Later bytes are unspecified
     * after a failure: parallel pieces may have moved some of them.
     */
    public long bytesTransferred() {
        return bytesTransferred;
    }

    /** What went wrong, without code, file and range; the last part of {@link #getMessage()}. */
    public String detail() {
        return detail;
    }

    /** Collects what is known about a failure; not thread-safe. */
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

        /** cuFile's code; {@link CuFileError#INTERNAL_ERROR} unless set. */
        public Builder error(CuFileError error) {
            this.error = Objects.requireNonNull(error, "error");
            return this;
        }

        /** A positive errno value. */
        public Builder errno(int errno) {
            this.errno = errno;
            return this;
        }

        /** The file's name. */
        public Builder path(Path path) {
            this.path = Objects.requireNonNull(path, "path");
            return this;
        }

        /** The file's name, if known. */
        public Builder path(Optional<Path> path) {
            this.path = path.orElse(null);
            return this;
        }

        /** Offset in the file and number of bytes asked for. */
        public Builder range(long fileOffset, long size) {
            this.fileOffset = fileOffset;
            this.size = size;
            return this;
        }

        /** The contiguous number of bytes moved before the failure. */
        public Builder transferred(long bytes) {
            this.bytesTransferred = bytes;
            return this;
        }

        /** A sentence on what went wrong. */
        public Builder detail(String detail) {
            this.detail = oneLine(Objects.requireNonNull(detail, "detail"));
            return this;
        }

        /** The failure behind this one. */
        public Builder cause(Throwable cause) {
            this.cause = cause;
            return this;
        }

        /** The exception. */
        public CuFileException build() {
            return new CuFileException(this);
        }

        /** The same failure as an interruption; see {@link CuFileInterruptedException}. */
        public CuFileInterruptedException buildInterrupted() {
            return new CuFileInterruptedException(this);
        }

        /** Names of files may hold any character; a message is one line all the same. */
        private static String oneLine(String text) {
            if (text.chars().noneMatch(Character::isISOControl)) {
                return text;
            }
            StringBuilder line = new StringBuilder(text.length() + 16);
            text.chars().forEach(c -> {
                if (Character.isISOControl(c)) {
                    line.append("\\u%04x".formatted(c));
                } else {
                    line.append((char) c);
                }
            });
            return line.toString();
        }

        private String message() {
            StringBuilder text = new StringBuilder(160).append(function).append(": ");
            text.append(detail.isEmpty() ? error.text() : detail);
            if (path != null) {
                text.append(", file=").append(oneLine(path.toString()));
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
