package io.gds4j.loader;

import io.gds4j.error.CuFileException;
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
    private static final int LONGEST_NAME = 120;
    private static final int LONGEST_DETAIL = 600;

    private final CheckpointRule rule;
    private final @Nullable String tensor;

    private CheckpointException(CuFileException.Builder builder, CheckpointRule rule, @Nullable String tensor) {
        super(builder);
        this.rule = rule;
        this.tensor = tensor;
    }

    /**
     * Creates the exception.
     *
     * @param offset byte in the file, or -1
     * @param tensor name of the tensor concerned, or null
     * @param errno of the system call that failed, or 0
     */
    static CheckpointException of(
            CheckpointRule rule, Path file, long offset, @Nullable String tensor, int errno, String detail) {
        CuFileException.Builder builder = CuFileException.builder(FUNCTION)
                .error(rule.error())
                .errno(errno)
                .path(file)
                .range(offset, -1)
                .detail(oneLine(detail, LONGEST_DETAIL));
        return new CheckpointException(builder, rule, tensor);
    }

    static CheckpointException of(CheckpointRule rule, Path file, String detail) {
        return of(rule, file, -1, null, 0, detail);
    }

    /** Returns the exception for a tensor that occurs in two files. */
    static CheckpointException inTwoFiles(String tensor, Path file, Path other) {
        return of(
                CheckpointRule.TENSOR_IN_TWO_FILES,
                file,
                -1,
                tensor,
                0,
                "tensor %s is also in %s".formatted(quote(tensor), other));
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
        path().ifPresent(file -> text.append(oneLine(file.toString(), LONGEST_DETAIL)).append(": "));
        if (!detail().equals(rule.text())) {
            text.append(rule.text()).append(": ");
        }
        text.append(detail()).append(" (").append(rule.variant());
        fileOffset().ifPresent(offset -> text.append(" at byte ").append(offset));
        return text.append(')').toString();
    }

    /** Returns a name from a file in quotes, safe for one line of a message. */
    static String quote(String name) {
        return "'" + oneLine(name, LONGEST_NAME) + "'";
    }

    /** Returns the text with control characters escaped, cut after {@code longest} characters. */
    static String oneLine(String text, int longest) {
        StringBuilder line = new StringBuilder(Math.min(text.length(), longest) + 16);
        for (int i = 0; i < text.length();) {
            if (line.length() >= longest) {
                return line.append("…").toString();
            }
            int c = text.codePointAt(i);
            i += Character.charCount(c);
            int type = Character.getType(c);
            if (Character.isISOControl(c)
                    || type == Character.LINE_SEPARATOR
                    || type == Character.PARAGRAPH_SEPARATOR
                    || type == Character.FORMAT
                    || type == Character.SURROGATE) {
                line.append(String.format("\\u%04x", c));
            } else {
                line.appendCodePoint(c);
            }
        }
        return line.toString();
    }
}
