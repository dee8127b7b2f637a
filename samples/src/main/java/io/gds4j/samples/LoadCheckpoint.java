package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import java.nio.file.Path;

/** The program of the README: loads a checkpoint into GPU memory, or into host memory without a GPU. */
public final class LoadCheckpoint {
    private LoadCheckpoint() {
    }

    /** Loads the checkpoint named by the first argument. */
    public static void main(String[] args) {
        try (CuFileDriver driver = CuFileDriver.open();
                LoadedTensors tensors = Checkpoint.load(Path.of(args[0]), driver)) { // into GPU 0, or host memory
            tensors.forEach(tensor -> System.out.println(tensor.name() + " " + tensor.dtype() + " " + tensor.shape()));
            System.out.println(tensors.report());
        }
    }
}
