package io.gds4j.tools.terminal;

import io.gds4j.config.CuFileConfigException;
import io.gds4j.dataset.source.RecordFormatException;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.file.FileErrno;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * A failure as the user sees it: one line, an exit status, and the fields of {@code error} in the JSON object.
 *
 * @param status exit status
 * @param code cuFile's error code, or null
 * @param name cuFile's name of the error, the violated rule of the format, or a name of the command
 * @param errno errno of the failed system call, or null
 * @param message one line for people, without codes and names of functions
 * @param details one line with all that is known, for the JSON object
 * @param file the file concerned, or null
 * @param offset byte offset in that file, or null
 * @param tensor name of the tensor concerned, at most 256 characters, or null
 */
public record ErrorReport(
        ExitStatus status,
        @Nullable Integer code,
        String name,
        @Nullable Integer errno,
        String message,
        String details,
        @Nullable String file,
        @Nullable Long offset,
        @Nullable String tensor) {

    /** Longest tensor name in an error; a malformed header can hold one of 100 MB. */
    private static final int MAX_NAME_CHARACTERS = 256;

    /** Errno values of a missing, unreadable or wrong path: the input is at fault, not the machine. */
    private static final Set<Integer> INPUT_ERRNOS = Set.of(
            Errno.ENOENT,
            Errno.ENOTDIR,
            Errno.EISDIR,
            Errno.EACCES,
            Errno.EPERM,
            Errno.ELOOP,
            Errno.ENAMETOOLONG);

    private ErrorReport(
            ExitStatus status, String name, @Nullable Integer errno, String message, @Nullable String file) {
        this(status, null, name, errno, message, message, file, null, null);
    }

    /** Classifies a failure. */
    public static ErrorReport of(Throwable failure) {
        return switch (failure) {
            case CommandFailure own -> new ErrorReport(
                    own.status(), own.name(), null, Text.oneLine(text(own)), own.file());
            case CheckpointException broken -> ofCheckpoint(broken);
            case RecordFormatException broken -> ofRecords(broken);
            case CuFileConfigException wrong -> ofConfig(wrong);
            case CuFileException gds -> ofCuFile(gds);
            case UncheckedIOException wrapped -> of(wrapped.getCause());
            case CompletionException wrapped when wrapped.getCause() != null -> of(wrapped.getCause());
            case FileSystemException files -> ofFileSystem(files);
            case IOException io -> new ErrorReport(
                    ExitStatus.IO_FAILURE, "IO_ERROR", null, Text.oneLine(text(io)), null);
            case OutOfMemoryError full -> new ErrorReport(
                    ExitStatus.IO_FAILURE, "OUT_OF_MEMORY", null, outOfMemory(full), null);
            default -> new ErrorReport(
                    ExitStatus.INTERNAL_ERROR,
                    failure.getClass().getSimpleName(),
                    null,
                    Text.oneLine("internal error: " + failure),
                    null);
        };
    }

    private static String outOfMemory(OutOfMemoryError full) {
        String reason = text(full);
        return reason.contains("heap") || reason.contains("GC overhead")
                ? "not enough memory: the Java heap of %s is full; GDS_JAVA_OPTS=-Xmx4g makes it larger"
                        .formatted(Units.bytes(Runtime.getRuntime().maxMemory()))
                : Text.oneLine("not enough memory: " + reason);
    }

    private static ErrorReport ofCheckpoint(CheckpointException failure) {
        boolean input =
                failure.rule() != CheckpointRule.READ_FAILED || INPUT_ERRNOS.contains(failure.errno().orElse(0));
        return about(failure, input ? ExitStatus.BAD_INPUT : ExitStatus.IO_FAILURE, failure.rule().variant(),
                withoutRule(failure))
                .withTensor(failure.tensor().orElse(null));
    }

    private static ErrorReport ofRecords(RecordFormatException failure) {
        boolean input = failure.error() == CuFileError.INVALID_VALUE
                || INPUT_ERRNOS.contains(failure.errno().orElse(0));
        return about(failure, input ? ExitStatus.BAD_INPUT : ExitStatus.IO_FAILURE, failure.error().cName(),
                forPeople(failure));
    }

    private static ErrorReport ofConfig(CuFileConfigException failure) {
        return about(failure, ExitStatus.BAD_INPUT, failure.error().cName(), failure.detail());
    }

    private static ErrorReport ofCuFile(CuFileException failure) {
        ExitStatus status;
        if (failure.error() == CuFileError.INTERNAL_ERROR) {
            status = ExitStatus.INTERNAL_ERROR;
        } else if (INPUT_ERRNOS.contains(failure.errno().orElse(0))
                || failure.error() == CuFileError.INVALID_FILE_TYPE) {
            status = ExitStatus.BAD_INPUT;
        } else {
            status = ExitStatus.IO_FAILURE;
        }
        return about(failure, status, failure.error().cName(), forPeople(failure));
    }

    /** Returns the message of a checkpoint's failure with the byte, but without the name of the rule. */
    private static String withoutRule(CheckpointException failure) {
        String message = text(failure);
        String rule = " (" + failure.rule().variant();
        int end = message.lastIndexOf(rule);
        return end < 0 ? message : message.substring(0, end)
                + (failure.fileOffset().isPresent() ? " (at byte %s)".formatted(failure.fileOffset().getAsLong()) : "");
    }

    /** Returns whether a description names the file. A name such as {@code data} may be a word of it. */
    private static boolean names(String detail, String file) {
        boolean word = file.chars().allMatch(Character::isLetterOrDigit);
        return word ? detail.startsWith(file + ":") : detail.contains(file);
    }

    /** Returns file, description, range and the kernel's reason. */
    private static String forPeople(CuFileException failure) {
        String detail = failure.detail().isEmpty() ? failure.error().text() : failure.detail();
        StringBuilder text = new StringBuilder();
        String file = failure.path().map(Text::name).orElse("");
        if (!file.isEmpty() && !names(detail, file)) {
            text.append(file).append(": ");
        }
        text.append(detail);
        failure.size().ifPresent(size -> text.append(", ").append(Units.bytes(size)));
        failure.fileOffset().ifPresent(offset -> text.append(" at byte ").append(offset));
        if (failure.bytesTransferred() > 0) {
            text.append(", ").append(Units.bytes(failure.bytesTransferred())).append(" moved");
        }
        String reason = failure.errno().isPresent() ? Errno.text(failure.errno().getAsInt()) : "";
        if (!reason.isEmpty() && !detail.toLowerCase(Locale.ROOT).contains(reason.toLowerCase(Locale.ROOT))) {
            text.append(": ").append(reason);
        }
        return text.toString();
    }

    private static ErrorReport about(CuFileException failure, ExitStatus status, String name, String message) {
        OptionalInt errno = failure.errno();
        OptionalLong offset = failure.fileOffset();
        return new ErrorReport(
                status,
                failure.error().code(),
                name,
                errno.isPresent() ? errno.getAsInt() : null,
                Text.oneLine(message),
                Text.oneLine(failure instanceof CuFileConfigException ? message : text(failure)),
                failure.path().map(Path::toString).orElse(null),
                offset.isPresent() ? offset.getAsLong() : null,
                null);
    }

    private ErrorReport withTensor(@Nullable String name) {
        String shown = name == null ? null : Text.shortened(name, MAX_NAME_CHARACTERS);
        return new ErrorReport(status, code, this.name, errno, message, details, file, offset, shown);
    }

    private static ErrorReport ofFileSystem(FileSystemException failure) {
        String file = failure.getFile();
        String reason = failure.getReason();
        int errno = FileErrno.of(failure);
        if (errno == Errno.ENOENT || errno == Errno.EACCES || errno == Errno.ENOTDIR) {
            return new ErrorReport(
                    ExitStatus.BAD_INPUT, "BAD_INPUT", errno, Text.oneLine(file + ": " + Errno.text(errno)), file);
        }
        return new ErrorReport(
                ExitStatus.IO_FAILURE,
                "IO_ERROR",
                errno == Errno.EIO ? null : errno,
                Text.oneLine(file + ": " + (reason == null ? failure.getClass().getSimpleName() : reason)),
                file);
    }

    private static String text(Throwable failure) {
        String message = failure.getMessage();
        return message == null || message.isBlank() ? failure.getClass().getSimpleName() : message;
    }

    /** Returns the JSON object that a failed command prints with {@code --json}. */
    public Map<String, @Nullable Object> toJson(String schema) {
        return Fields.of("schema", schema)
                .and("error", Fields.of("code", code)
                        .and("name", name)
                        .and("errno", errno)
                        .and("message", details)
                        .and("file", file)
                        .and("offset", offset)
                        .and("tensor", tensor)
                        .and("exitStatus", status.code()).map())
                .map();
    }
}
