package io.gds4j.tools.load;

import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Units;

/** Says before a command begins that tensors need far more bytes than their files have, because they share them. */
public final class Growth {
    private static final long USUAL = 2;
    private static final long SMALL = 64L << 20;

    private Growth() {
    }

    /**
     * Prints a note if a command moves more than twice the bytes of the files.
     *
     * @param bytes bytes that it loads or writes
     * @param purpose for example {@code "memory"}
     */
    public static void note(Output output, Checkpoint checkpoint, long bytes, String purpose) {
        long files = checkpoint.files().stream().mapToLong(CheckpointFile::size).sum();
        // 64 MiB more are no surprise, and a division cannot overflow
        if (bytes - SMALL > files && bytes / USUAL > files) {
            output.note("the tensors share bytes and need %s of %s, %s times the %s of the files"
                    .formatted(Units.bytes(bytes), purpose, bytes / Math.max(1, files), Units.bytes(files)));
        }
    }
}
