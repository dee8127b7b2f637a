package io.gds4j.tools.power;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** Checkpoints whose bytes the number of a round decides, so that a mixture of two is seen. */
final class Rounds implements AutoCloseable {
    /** Whole pages, parts of pages that tensors share, and a tensor that ends within a page. */
    private static final Map<String, Integer> TENSORS =
            new TreeMap<>(Map.of("embed", 40_960, "norm", 400, "head", 12_288, "bias", 5));
    private static final String ROUND = "round";
    /** Files of a checkpoint in shards. */
    static final long SHARD = 13_000;

    private final CuFileDriver driver;
    private final List<MemoryAllocation> memory = new ArrayList<>();

    Rounds(CuFileDriver driver) {
        this.driver = driver;
    }

    /** Returns a plan of the tensors of a round that are {@code here}. */
    SavePlan.Builder plan(int round, SaveOptions options, Predicate<String> here) {
        SavePlan.Builder builder = SavePlan.builder().metadata(ROUND, Integer.toString(round)).options(options);
        TENSORS.forEach((name, bytes) -> {
            if (here.test(name)) {
                MemoryAllocation tensor = driver.allocator().allocate(MemoryKind.HOST, bytes);
                memory.add(tensor);
                new TensorPattern(round).fill(name, 0, tensor.segment());
                builder.tensor(name, DType.U8, tensor, bytes);
            }
        });
        return builder;
    }

    /** Writes the round as one file. */
    static void write(Path file, int round) {
        SavePlan.Builder plan = SavePlan.builder().metadata(ROUND, Integer.toString(round));
        TENSORS.forEach((name, bytes) -> plan.generated(name, DType.U8, new TensorPattern(round), bytes));
        plan.toFile(file).save();
    }

    /** Returns the round of a checkpoint after it has compared every byte. */
    int verify(Path path) {
        Checkpoint checkpoint = Checkpoint.open(path);
        int round = Integer.parseInt(checkpoint.metadata().get(ROUND));
        try (LoadedTensors loaded = checkpoint.plan().load(driver)) {
            assertThat(loaded.tensors()).as(path + ": tensors").hasSize(TENSORS.size());
            for (LoadedTensor tensor : loaded.tensors()) {
                long at = new TensorPattern(round).mismatch(tensor.info().name(), 0, tensor.segment());
                assertThat(at).as("%s: first wrong byte of %s in round %s", path, tensor.info().name(), round)
                        .isEqualTo(-1);
            }
        }
        return round;
    }

    /** Returns the round of a checkpoint that is whole and one of these two; the first may be 0, which is none. */
    int verify(Path path, int old, int next) throws IOException {
        if (old == 0 && visible(path).isEmpty()) {
            return 0;
        }
        int round = verify(path);
        assertThat(round).as("%s: round", path).isIn(old, next);
        return round;
    }

    /** Returns the names in a folder, or of a file, that are not hidden. */
    static List<String> visible(Path path) throws IOException {
        return names(path).stream().filter(name -> !name.startsWith(".")).toList();
    }

    /** Returns the hidden names in a folder: what a crash may leave. */
    static List<String> hidden(Path path) throws IOException {
        return names(path).stream().filter(name -> name.startsWith(".")).toList();
    }

    private static List<String> names(Path path) throws IOException {
        if (!Files.isDirectory(path)) {
            return Files.exists(path) ? List.of(path.getFileName().toString()) : List.of();
        }
        try (Stream<Path> entries = Files.list(path)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }

    @Override
    public void close() {
        memory.forEach(MemoryAllocation::close);
    }
}
