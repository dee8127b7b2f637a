package io.gds4j.benchmarks;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Decodes each tensor of a checkpoint to floats and prints its name and millions of elements per second: the best of the turns.
 * Arguments: checkpoint, turns. See decode.sh.
 */
final class DecodeFigures {
    /** Turns that the compiler needs. */
    private static final int WARM_UP = 5;

    private DecodeFigures() {
    }

    public static void main(String[] arguments) {
        int turns = Integer.parseInt(arguments[1]);
        try (CuFileDriver driver = CuFileDriver.open();
                LoadedTensors tensors = Checkpoint.open(Path.of(arguments[0])).plan().load(driver)) {
            for (LoadedTensor tensor : tensors) {
                float[] to = new float[Math.toIntExact(tensor.elements())];
                long best = Long.MAX_VALUE;
                for (int turn = -WARM_UP; turn < turns; turn++) {
                    long begin = System.nanoTime();
                    tensor.copyFloats(0, to, 0, to.length);
                    best = turn < 0 ? best : Math.min(best, System.nanoTime() - begin);
                }
                System.out.printf(Locale.ROOT, "%s %.0f%n", tensor.name(), 1e3 * to.length / best);
            }
        }
    }
}
