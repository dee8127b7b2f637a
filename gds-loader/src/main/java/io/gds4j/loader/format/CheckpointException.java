package io.gds4j.loader.format;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.file.FileErrno;
import io.gds4j.internal.file.LinkOutsideException;
import io.gds4j.internal.text.InertText;
import io.gds4j.internal.text.UrlNames;
import io.gds4j.loader.internal.file.RankName;
import io.gds4j.source.FileVersion;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A file is no checkpoint, or breaks a rule. Names the rule, the file, the byte and the tensor. The message is a single line of
 * bounded length, whatever the file contains.
 *
 * <pre>{@code
 * m.safetensors: broken header: tensor 'b' begins at 12, but the tensors before it end at 8 (InvalidOffset at byte 61)
 * }</pre>
 *
 * @since 0.1
 */
public final class CheckpointException extends CuFileException {
    private static final long serialVersionUID = 1L;
    private static final String FUNCTION = "Checkpoint";
    private static final int MAX_DETAIL = 600;

    private final CheckpointRule rule;
    private final @Nullable String tensor;

    private CheckpointException(CuFileException.Builder builder, CheckpointRule rule, @Nullable String tensor) {
        super(builder);
        this.rule = rule;
        this.tensor = tensor;
    }

    private static CheckpointException of(
            CheckpointRule rule, Path file, long offset, @Nullable String tensor, int errno, String detail) {
        CuFileException.Builder builder = CuFileException.builder(FUNCTION)
                .error(rule.error())
                .errno(errno)
                .path(file)
                .range(offset, -1)
                .detail(InertText.line(detail, MAX_DETAIL));
        return new CheckpointException(builder, rule, tensor);
    }

    /** Returns the exception for a file that breaks a rule as a whole. */
    public static CheckpointException of(CheckpointRule rule, Path file, String detail) {
        return of(rule, file, -1, null, 0, detail);
    }

    /**
     * Returns the exception for a place in a file.
     *
     * @param offset byte in the file, or -1 if no byte is at fault
     */
    public static CheckpointException of(CheckpointRule rule, Path file, long offset, String detail) {
        return of(rule, file, offset, null, 0, detail);
    }

    /**
     * Returns the exception for a tensor.
     *
     * @param offset byte in the file, or -1 if no byte is at fault
     * @param tensor name of the tensor; the detail should quote it, too
     */
    public static CheckpointException of(
            CheckpointRule rule, Path file, long offset, String tensor, String detail) {
        return of(rule, file, offset, tensor, 0, detail);
    }

    /** Returns the exception of the loader for an exception of java.nio: FILE_NOT_FOUND, FILE_TYPE, READ_FAILED and others. */
    public static CuFileException of(Path path, IOException e) {
        if (e instanceof LinkOutsideException outside) {
            return of(CheckpointRule.LINK_OUTSIDE, path, -1, null, Errno.EACCES, outside.getReason());
        }
        int errno = FileErrno.of(e);
        return switch (errno) {
            case Errno.EINTR ->
                // the JDK leaves the thread's flag set
                CuFileException.builder(FUNCTION)
                        .error(CuFileError.IO_ERROR)
                        .errno(errno)
                        .path(path)
                        .detail("interrupted while a header was read")
                        .cause(e)
                        .buildInterrupted();
            case Errno.ENOENT ->
                of(CheckpointRule.FILE_NOT_FOUND, path, -1, null, errno,
                        UrlNames.hint(path).orElse("no such file or folder"));
            case Errno.ELOOP -> of(CheckpointRule.FILE_TYPE, path, -1, null, errno, "a loop of links");
            case Errno.EACCES -> of(CheckpointRule.FILE_NOT_READABLE, path, -1, null, errno, "permission denied");
            case Errno.ENOTDIR -> of(CheckpointRule.FILE_TYPE, path, -1, null, errno, "not a folder");
            default -> of(CheckpointRule.READ_FAILED, path, -1, null, errno,
                    e instanceof FileSystemException file && file.getReason() != null
                            ? file.getReason()
                            : String.valueOf(e.getMessage()));
        };
    }

    /**
     * Returns the exception for a file that is not the one whose header was read.
     *
     * @param before version that the header describes
     * @param now version of the file that is open
     */
    public static CheckpointException changed(Path file, FileVersion before, FileVersion now) {
        return of(
                CheckpointRule.FILE_CHANGED,
                file,
                now.size() != before.size()
                        ? "the file had %s bytes when its header was read, now it has %s"
                                .formatted(before.size(), now.size())
                        : "when its header was read, the file had %s; now it has %s".formatted(before, now));
    }

    /** Returns the exception for a tensor that occurs in two files. */
    public static CheckpointException inTwoFiles(String tensor, Path file, Path other) {
        return of(
                CheckpointRule.TENSOR_IN_TWO_FILES,
                file,
                -1,
                tensor,
                0,
                (RankName.areOfOneSet(file, other)
                        ? "tensor %s is also in %s: by their names each file has the slices of a rank; convert them into one checkpoint"
                        : "tensor %s is also in %s; name one of the files, or an index that chooses")
                        .formatted(quote(tensor), other));
    }

    /** Returns the broken rule. */
    public CheckpointRule rule() {
        return rule;
    }

    /** Returns the tensor concerned; empty if the rule is not about one tensor. */
    public Optional<String> tensor() {
        return Optional.ofNullable(tensor);
    }

    @Override
    public String getMessage() {
        StringBuilder text = new StringBuilder(200);
        path().ifPresent(file -> text.append(InertText.name(file.toString(), MAX_DETAIL)).append(": "));
        if (!detail().equals(rule.text())) {
            text.append(rule.text()).append(": ");
        }
        text.append(detail()).append(" (").append(rule.variant());
        fileOffset().ifPresent(offset -> text.append(" at byte ").append(offset));
        return text.append(')').toString();
    }

    /** Returns a name from a file in quotes, with invisible characters and backslashes escaped and at most 120 characters, for messages. */
    public static String quote(String name) {
        return InertText.quote(name);
    }
}
