package io.gds4j.loader.parallel;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import io.gds4j.loader.internal.text.StrictJson.Token;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The number of attention heads of a model.
 *
 * @param heads query heads; 0 if unknown
 * @param keyValueHeads heads of keys and values; 0 if unknown
 * @since 0.1
 */
public record AttentionHeads(long heads, long keyValueHeads) {
    /** Heads whose number is unknown. */
    public static final AttentionHeads UNKNOWN = new AttentionHeads(0, 0);

    private static final String NAME = "config.json";
    /** Largest file that is read, in bytes; real ones have a few KiB. */
    private static final long LARGEST = 16L << 20;
    private static final long MOST_HEADS = 1L << 20;

    /**
     * Reads {@code num_attention_heads} and {@code num_key_value_heads} from the {@code config.json} of a checkpoint.
     *
     * @param checkpoint folder of the checkpoint, or a file in it
     * @return {@link #UNKNOWN} if there is no such file
     * @throws CheckpointException INVALID_PLAN if the file is no JSON or a number is out of range
     * @throws CuFileException if the file cannot be read
     */
    public static AttentionHeads of(Path checkpoint) {
        Path file = Files.isDirectory(checkpoint) ? checkpoint.resolve(NAME) : checkpoint.resolveSibling(NAME);
        return Files.isRegularFile(file) ? read(file) : UNKNOWN;
    }

    private static AttentionHeads read(Path file) {
        Counts counts = new Counts();
        try {
            counts.object(StrictJson.ofPython(PlanFile.bytes(file, LARGEST)), false);
        } catch (Malformed e) {
            throw CheckpointException.of(ParallelPlan.INVALID_PLAN, file, e.offset(), e.detail());
        } catch (IOException e) {
            throw CheckpointException.of(file, e);
        }
        return counts.heads == 0
                ? UNKNOWN
                : new AttentionHeads(counts.heads, counts.keyValueHeads == 0 ? counts.heads : counts.keyValueHeads);
    }

    private static final class Counts {
        private long heads;
        private long keyValueHeads;

        /** Reads an object; models of text and images have the numbers in {@code text_config}. */
        private void object(StrictJson in, boolean nested) throws Malformed {
            if (!nested) {
                in.expect(Token.START_OBJECT, "a configuration", "one JSON object");
            }
            while (in.next() == Token.NAME) {
                String name = in.text();
                Token token = in.next();
                if (name.equals("num_attention_heads") && token == Token.NUMBER) {
                    heads = count(in, name);
                } else if (name.equals("num_key_value_heads") && token == Token.NUMBER) {
                    keyValueHeads = count(in, name);
                } else if (name.equals("text_config") && token == Token.START_OBJECT && !nested) {
                    object(in, true);
                } else {
                    in.skip();
                }
            }
        }

        private static long count(StrictJson in, String name) throws Malformed {
            long count = in.unsigned(name);
            if (count < 1 || count > MOST_HEADS) {
                throw in.here("%s is %s; allowed are 1 to %d".formatted(name, in.text(), MOST_HEADS));
            }
            return count;
        }
    }
}
