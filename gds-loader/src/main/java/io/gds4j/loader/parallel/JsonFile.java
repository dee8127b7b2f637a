package io.gds4j.loader.parallel;

import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import java.nio.file.Path;

/** A JSON file that plans or models have. */
final class JsonFile {
    /** A file that is not JSON of the expected structure. */
    static final CheckpointRule INVALID = new CheckpointRule("InvalidPlan", "broken parallel plan");
    /** Largest file that is read, in bytes; real ones have a few KiB. */
    private static final int MAX = 16 << 20;

    private JsonFile() {
    }

    /** Reads a file and checks that it is UTF-8. */
    static byte[] bytes(Path file) throws Malformed {
        byte[] bytes;
        // reads no more than the size: some files of /proc look regular and never end
        try (FormatInput in = FormatInput.open(file)) {
            if (in.size() > MAX) {
                throw new Malformed(MAX, "the file has more than %s bytes".formatted(MAX));
            }
            bytes = in.read(0, (int) in.size()).array();
        }
        int bad = StrictJson.checkUtf8(bytes);
        if (bad >= 0) {
            throw new Malformed(bad, "the file is not UTF-8");
        }
        return bytes;
    }
}
