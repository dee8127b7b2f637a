package io.gds4j.loader.internal;

import java.nio.file.Path;
import java.util.Map;

/** Saves arrays for the package of checkpoints, which the package of saves depends on. Found as a service. */
public interface ArraySaver {
    /** Saves arrays as F32 tensors of one dimension. */
    void save(Path path, Map<String, float[]> tensors);
}
