package io.gds4j.loader;

import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.testkit.random.RandomWork;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Loads a checkpoint, saves its tensors, and loads what was saved, beside whatever other threads do. */
public final class LoadsBesideSaves implements RandomWork {
    private static final int MAX_TENSORS = 6;
    private static final int MAX = 300_000;

    @Override
    public long run(Place place) throws Exception {
        Path folder = Files.createTempDirectory(place.directory(), "checkpoint");
        try {
            TensorPattern pattern = new TensorPattern(place.random().nextLong());
            Path first = folder.resolve("first.safetensors");
            SafetensorsWriter writer = new SafetensorsWriter(first);
            int tensors = place.random().nextInt(1, MAX_TENSORS);
            for (int i = 0; i < tensors; i++) {
                writer.tensor("w" + i, DType.U8, 1 + place.random().nextInt(MAX));
            }
            writer.write(pattern);
            Path second = folder.resolve("second.safetensors");
            try (LoadedTensors loaded = Checkpoint.open(first).plan().to(place.kind(), 0).load(place.driver())) {
                check(loaded, tensors);
                SavePlan.Builder save = SavePlan.builder();
                loaded.tensors().forEach(save::tensor);
                save.options(SaveOptions.DEFAULTS.withDirect(place.random().nextBoolean())).toFile(second)
                        .save(place.driver());
            }
            try (LoadedTensors again = Checkpoint.open(second).plan().to(place.kind(), 0).load(place.driver())) {
                check(again, tensors);
                for (LoadedTensor tensor : again.tensors()) {
                    if (pattern.mismatch(tensor.info().name(), 0, tensor.toHost().segment()) >= 0) {
                        throw new AssertionError("saved and loaded, but changed: " + tensor.info());
                    }
                }
            }
            return 3L * tensors;
        } finally {
            delete(folder);
        }
    }

    private static void check(LoadedTensors loaded, int tensors) {
        if (loaded.tensors().size() != tensors || !CheckpointVerifier.verify(loaded).verified()) {
            throw new AssertionError("loaded, but changed: " + loaded.tensors());
        }
    }

    private static void delete(Path folder) throws IOException {
        List<Path> all;
        try (Stream<Path> paths = Files.walk(folder)) {
            all = paths.sorted(Comparator.reverseOrder()).toList();
        }
        for (Path path : all) {
            Files.delete(path);
        }
    }
}
