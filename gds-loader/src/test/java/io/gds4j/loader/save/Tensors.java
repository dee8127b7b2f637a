package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.ReferenceBackend;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;

/** Tensors in memory whose bytes a seed decides, so that every byte of a saved checkpoint can be checked. */
final class Tensors implements AutoCloseable {
    private record Tensor(String name, DType dtype, long[] shape, MemoryAllocation memory) {
    }

    private final CuFileDriver driver;
    private final long seed;
    private final MemoryKind kind;
    private final List<Tensor> tensors = new ArrayList<>();

    Tensors(CuFileDriver driver, long seed) {
        this(driver, seed, MemoryKind.HOST);
    }

    Tensors(CuFileDriver driver, long seed, MemoryKind kind) {
        this.driver = driver;
        this.seed = seed;
        this.kind = kind;
    }

    Tensors add(String name, DType dtype, long... shape) {
        long bytes = dtype.bytes(Arrays.stream(shape).boxed().toList()).orElseThrow();
        MemoryAllocation memory = driver.allocator().allocate(kind, Math.max(1, bytes));
        byte[] content = new byte[(int) bytes];
        new TensorPattern(seed).fill(name, 0, MemorySegment.ofArray(content));
        driver.allocator().copyFromHost(MemorySegment.ofArray(content), memory.range());
        tensors.add(new Tensor(name, dtype, shape, memory));
        return this;
    }

    /** Five tensors: two of whole pages, two that share pages, and one without bytes. */
    static Tensors small(CuFileDriver driver, long seed) {
        return new Tensors(driver, seed)
                .add("embed", DType.BF16, 64, 4096)
                .add("norm", DType.F32, 100)
                .add("head", DType.F32, 16, 1024)
                .add("bias", DType.U8, 5)
                .add("none", DType.F16, 0, 7);
    }

    SavePlan.Builder plan() {
        return plan(tensor -> true);
    }

    /** Returns a plan of the tensors that are {@code here}. */
    SavePlan.Builder plan(Predicate<String> here) {
        SavePlan.Builder builder = SavePlan.builder();
        for (Tensor tensor : tensors) {
            long bytes = tensor.dtype.bytes(Arrays.stream(tensor.shape).boxed().toList()).orElseThrow();
            if (here.test(tensor.name)) {
                builder.tensor(tensor.name, tensor.dtype, tensor.memory.range().slice(0, bytes), tensor.shape);
            }
        }
        return builder;
    }

    int count() {
        return tensors.size();
    }

    void fill(byte value) {
        tensors.forEach(tensor -> driver.allocator().fill(tensor.memory.range(), value));
    }

    void copyFrom(Tensors other) {
        for (int i = 0; i < tensors.size(); i++) {
            driver.allocator().copy(other.tensors.get(i).memory.range(), tensors.get(i).memory.range());
        }
    }

    /** Loads a checkpoint and checks every byte. */
    void check(Path path) {
        assertThat(seedOf(path)).as("seed of " + path).isEqualTo(seed);
        assertThat(Checkpoint.open(path).tensors()).hasSize(tensors.size());
    }

    /** Returns the seed of all tensors of a checkpoint, or -1 if they have none of these. */
    static long seedOf(Path path, long... seeds) {
        try (CuFileDriver driver = CuFileDriver.open(new ReferenceBackend());
                LoadedTensors loaded = Checkpoint.open(path).plan().load(driver)) {
            for (long seed : seeds) {
                if (loaded.tensors().stream().allMatch(tensor -> has(tensor, seed))) {
                    return seed;
                }
            }
        }
        return -1;
    }

    private long seedOf(Path path) {
        return seedOf(path, seed);
    }

    private static boolean has(LoadedTensor tensor, long seed) {
        return tensor.length() == 0
                || new TensorPattern(seed).mismatch(tensor.info().name(), 0, tensor.segment()) < 0;
    }

    @Override
    public void close() {
        tensors.forEach(tensor -> tensor.memory.close());
    }
}
