package app;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import java.nio.file.Path;
import java.util.Map;

/** Saves a checkpoint and loads it into GPU memory, or into host memory without a GPU. */
public final class App {
    private App() {
    }

    public static void main(String[] args) {
        Path path = Path.of("model.safetensors");
        Checkpoint.save(path, Map.of("weight", new float[]{1, 2, 3}));
        try (CuFileDriver driver = CuFileDriver.open(); LoadedTensors tensors = Checkpoint.load(path, driver)) {
            LoadedTensor weight = tensors.get("weight");
            System.out.println("loaded " + weight.name() + " " + weight.shape() + " by " + driver.backendName());
        }
    }
}
