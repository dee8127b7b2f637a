import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import java.nio.file.Path;
import java.util.Map;

/** Saves a small checkpoint, or takes the one that the first argument names, and loads it into GPU 0 or host memory. */
void main(String[] args) {
    Path path = Path.of(args.length > 0 ? args[0] : "try.safetensors");
    if (args.length == 0) {
        Checkpoint.save(path, Map.of("weight", new float[]{1, 2, 3}, "bias", new float[]{4}));
    }
    try (CuFileDriver driver = CuFileDriver.open(); LoadedTensors tensors = Checkpoint.load(path, driver)) {
        for (LoadedTensor tensor : tensors) {
            IO.println(tensor.name() + " " + tensor.dtype() + " " + tensor.shape());
        }
        IO.println(driver.backendName() + ", " + tensors.report().ioPaths());
    }
}
