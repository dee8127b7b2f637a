package consumer;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Saves an array as a checkpoint, loads it, and prints it. */
final class Program {
    private Program() {
    }

    public static void main(String[] arguments) throws Exception {
        Path model = Files.createTempDirectory("consumer").resolve("model.safetensors");
        Checkpoint.save(model, Map.of("bias", new float[] {1, 2, 3}));
        try (CuFileDriver driver = CuFileDriver.open(); LoadedTensors tensors = Checkpoint.load(model, driver)) {
            System.out.println("sum " + (int) sum(tensors.get("bias").toFloatArray()));
        }
    }

    private static float sum(float[] values) {
        float sum = 0;
        for (float value : values) {
            sum += value;
        }
        return sum;
    }
}
