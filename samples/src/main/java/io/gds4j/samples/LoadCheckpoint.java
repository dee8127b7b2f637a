package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import java.nio.file.Path;

/** Loads a checkpoint with a driver into GPU memory, or into host memory without a GPU. */
final class LoadCheckpoint {
    private LoadCheckpoint() {
    }

    /** Loads the checkpoint named by the first argument. */
    public static void main(String[] args) {
        try (CuFileDriver driver = CuFileDriver.open();
                LoadedTensors tensors = Checkpoint.load(Path.of(args[0]), driver)) {
            tensors.forEach(tensor -> System.out.println(tensor.info()));
            System.out.println(tensors.report()); // in GPU 0, or in host memory
        }
    }
}
