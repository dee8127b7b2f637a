package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import java.nio.file.Path;

/** The second example of the README: loads the layers of a checkpoint into GPU memory, or into host memory without a GPU. */
public final class LoadCheckpoint {
    private LoadCheckpoint() {
    }

    /** Loads the checkpoint named by the first argument. */
    public static void main(String[] args) {
        try (CuFileDriver driver = CuFileDriver.open()) {
            LoadPlan plan = Checkpoint.open(Path.of(args[0])).plan().include("layers\\.").toBest(driver);
            try (LoadedTensors tensors = plan.load(driver)) {
                for (LoadedTensor tensor : tensors.tensors()) {
                    System.out.printf("%s %s 0x%x%n", tensor.info().name(), tensor.info().dtype(), tensor.address());
                }
                System.out.println(tensors.report());
            }
        }
    }
}
