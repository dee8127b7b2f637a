package io.gds4j.benchmarks;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import java.nio.file.Path;
import java.time.Instant;

/** The shortest program that loads a checkpoint into a GPU, for measurements of whole processes. Prints when each stage ended. */
final class WholeLoad {
    private WholeLoad() {
    }

    /** @param arguments the checkpoint, and when the process began, in seconds since 1970 */
    public static void main(String[] arguments) {
        double began = arguments.length > 1 ? Double.parseDouble(arguments[1]) : seconds();
        double main = seconds();
        double driverOpen;
        double opened;
        double loaded;
        double freed;
        try (CuFileDriver driver = CuFileDriver.open()) {
            driverOpen = seconds();
            Checkpoint checkpoint = Checkpoint.open(Path.of(arguments[0]));
            opened = seconds();
            LoadedTensors tensors = checkpoint.plan().toGpu(0).load(driver);
            loaded = seconds();
            tensors.close();
            freed = seconds();
        }
        System.out.printf(
                "{\"main\":%.3f,\"driverOpen\":%.3f,\"headers\":%.3f,\"loaded\":%.3f,\"freed\":%.3f,\"closed\":%.3f}%n",
                main - began, driverOpen - began, opened - began, loaded - began, freed - began, seconds() - began);
    }

    private static double seconds() {
        Instant now = Instant.now();
        return now.getEpochSecond() + now.getNano() * 1e-9;
    }
}
