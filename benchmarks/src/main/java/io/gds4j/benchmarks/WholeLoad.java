package io.gds4j.benchmarks;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import java.nio.file.Path;

/** The shortest program that loads a checkpoint into a GPU, for measurements of whole processes. */
public final class WholeLoad {
    private WholeLoad() {
    }

    /** @param arguments the checkpoint */
    public static void main(String[] arguments) {
        try (CuFileDriver driver = CuFileDriver.open();
                LoadedTensors tensors = Checkpoint.open(Path.of(arguments[0])).plan().toGpu(0).load(driver)) {
            System.out.println(tensors.report());
        }
    }
}
