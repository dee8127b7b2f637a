package io.gds4j.tools.load;

import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
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
        long files = files(checkpoint);
        if (isFarMore(bytes, files)) {
            output.note("the tensors share bytes and need %s of %s, %s times the %s of the files"
                    .formatted(Units.bytes(bytes), purpose, bytes / Math.max(1, files), Units.bytes(files)));
        }
    }

    /** As {@link #note(Output, Checkpoint, long, String)} for a load, which is planned only if its tensors may share bytes. */
    static void note(Output output, LoadPlan plan) {
        Checkpoint checkpoint = plan.checkpoint();
        long most = checkpoint.tensors().values().stream().mapToLong(TensorInfo::length).sum();
        if (isFarMore(most, files(checkpoint))) {
            note(output, checkpoint, plan.bytes(), "memory");
        }
    }

    private static long files(Checkpoint checkpoint) {
        return checkpoint.files().stream().mapToLong(CheckpointFile::size).sum();
    }

    /** 64 MiB more are no surprise, and a division cannot overflow. */
    private static boolean isFarMore(long bytes, long files) {
        return bytes - SMALL > files && bytes / USUAL > files;
    }
}
