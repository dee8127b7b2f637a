import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import java.nio.file.Path;

/** Loads a checkpoint into GPU 0, or into host memory. */
void main(String[] args) {
    try (LoadedTensors tensors = Checkpoint.load(Path.of(args[0]))) {
        tensors.forEach(tensor -> IO.println(tensor.info()));
        IO.println(tensors.report());
        // 291 tensors, 17.18 GB in 0.395 s, 43.50 GB/s into GPU 0 …
    }
}
