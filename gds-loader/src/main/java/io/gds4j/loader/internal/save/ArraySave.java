package io.gds4j.loader.internal.save;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.internal.ArraySaver;
import io.gds4j.loader.save.SavePlan;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;

/** Saves arrays by a driver of its own. */
public final class ArraySave implements ArraySaver {
    @Override
    public void save(Path path, Map<String, float[]> tensors) {
        SavePlan.Builder builder = SavePlan.builder();
        // Sorted, so that maps without an order give equal files.
        new TreeMap<>(tensors).forEach((name, values) -> builder.tensor(name, values, values.length));
        SavePlan plan = path.toString().endsWith(".safetensors") ? builder.toFile(path) : builder.toFolder(path);
        try (CuFileDriver driver = CuFileDriver.open()) {
            plan.save(driver);
        }
    }
}
