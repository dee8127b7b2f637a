package io.gds4j.loader.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadDestination;
import io.gds4j.loader.ParallelLoadPlan;
import io.gds4j.loader.ParallelTensors;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.SliceBytes;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.faults.Operation.Io;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.RandomBytes;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Operations of the matrix that use several GPUs at a time, which are prepared: the operations with one GPU are not. */
final class SpreadOperations {
    private static final int SIZE = Stage.SIZE;
    private static final int ROUNDS = 2;
    private static final int GPUS = Machine.GPUS;

    private SpreadOperations() {
    }

    static List<Operation> all() {
        List<Operation> all = new ArrayList<>();
        all.add(Operation.of("scatter to GPUs", MemoryKind.CUDA_DEVICE, Io.DIRECT, SpreadOperations::scatter));
        all.add(Operation.of("scatter to GPUs", MemoryKind.CUDA_DEVICE, Io.CACHED, SpreadOperations::scatter));
        all.add(Operation.of("gather of GPUs", MemoryKind.CUDA_DEVICE, Io.DIRECT, SpreadOperations::gather));
        all.add(Operation.of("gather of GPUs", MemoryKind.CUDA_MANAGED, Io.DIRECT, SpreadOperations::gather));
        all.add(Operation.of("replicas", MemoryKind.CUDA_DEVICE, Io.CACHED, SpreadOperations::replicas));
        all.add(Operation.of("load to GPUs", MemoryKind.CUDA_DEVICE, Io.CACHED,
                (stage, kind) -> load(stage, GPUS, ParallelPlan.llama(new AttentionHeads(12, 12)))));
        all.add(Operation.of("load replicas", MemoryKind.CUDA_DEVICE, Io.CACHED,
                (stage, kind) -> load(stage, GPUS - 1, ParallelPlan.replicate())));
        return all;
    }

    private static void prepare(Stage stage) {
        for (int gpu = 0; gpu < GPUS; gpu++) {
            stage.driver().allocator().prepare(MemoryKind.CUDA_DEVICE, gpu);
        }
    }

    /** Rows of the file, of which each GPU receives a column and the host the rest. */
    private static void scatter(Stage stage, MemoryKind kind) throws Exception {
        int width = 100;
        int pitch = width * GPUS;
        int rows = SIZE / pitch;
        List<ScatterCopy> copies = new ArrayList<>();
        GuardedFile file = stage.file();
        try (CuFileHandle handle = stage.open(file); Memories memories = new Memories(stage)) {
            for (int gpu = 0; gpu < GPUS; gpu++) {
                copies.add(new ScatterCopy((long) gpu * width, pitch, width, rows,
                        memories.add(kind, gpu, SIZE), 0, width));
            }
            int tail = SIZE - rows * pitch;
            copies.add(new ScatterCopy((long) rows * pitch, tail,
                    memories.add(MemoryKind.HOST, 0, SIZE), 7));
            read(stage, handle, file, SIZE, memories, copies);
        }
    }

    /** The same bytes for two GPUs, which pass them on to each other. */
    private static void replicas(Stage stage, MemoryKind kind) throws Exception {
        int size = (1 << 20) + 5000;
        GuardedFile file = GuardedFile.create(stage.folder().resolve("replicas"), size, 3);
        try (CuFileHandle handle = stage.open(file); Memories memories = new Memories(stage)) {
            List<ScatterCopy> copies = new ArrayList<>();
            for (int gpu = 0; gpu < 2; gpu++) {
                copies.add(new ScatterCopy(0, size, memories.add(kind, gpu, size), 0));
            }
            read(stage, handle, file, size, memories, copies);
        }
    }

    private static void read(Stage stage, CuFileHandle handle, GuardedFile file, int size, Memories memories,
            List<ScatterCopy> copies) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            Optional<Long> moved = stage.attempt(() -> handle.readScattered(0, size, copies));
            moved.ifPresent(bytes -> assertThat(bytes).as("bytes read").isEqualTo(size));
            long arrived = moved.orElseGet(stage::bytesTransferred);
            for (int i = 0; i < copies.size(); i++) {
                ScatterCopy copy = copies.get(i);
                byte[] actual = memories.bytes(i);
                byte[] expected = memories.expected(i);
                for (long row = 0; row < copy.rows(); row++) {
                    long from = copy.sourceOffset() + row * copy.sourcePitch();
                    int at = Math.toIntExact(copy.destinationOffset() + row * copy.destinationPitch());
                    int count = Math.toIntExact(Math.clamp(arrived - from, 0, copy.width()));
                    System.arraycopy(file.expected(from, count), 0, expected, at, count);
                    int rest = Math.toIntExact(copy.width()) - count; // unspecified after a failure
                    System.arraycopy(actual, at + count, expected, at + count, rest);
                }
                memories.verify(i);
            }
        }
    }

    /** A write of fragments, which lie in memories of all GPUs. */
    private static void gather(Stage stage, MemoryKind kind) throws Exception {
        int fragment = SIZE / 40;
        int all = 40 * fragment;
        GuardedFile file = stage.file();
        try (CuFileHandle handle = stage.open(file); Memories memories = new Memories(stage)) {
            List<MemoryRange> ranges = new ArrayList<>();
            for (int gpu = 0; gpu < GPUS; gpu++) {
                ranges.add(memories.add(kind, gpu, SIZE));
            }
            List<ScatterCopy> fragments = new ArrayList<>();
            byte[] content = new byte[all];
            for (int i = 0; i < 40; i++) {
                int at = (39 - i) * fragment;
                fragments.add(new ScatterCopy((long) i * fragment, fragment, ranges.get(i % GPUS), at));
                System.arraycopy(memories.expected(i % GPUS), at, content, i * fragment, fragment);
            }
            for (int round = 0; round < ROUNDS; round++) {
                Optional<Long> moved = stage.attempt(() -> handle.writeScattered(0, all, fragments));
                Operations.written(stage, moved, content, file);
                IntStream.range(0, GPUS).forEach(memories::verify);
            }
        }
    }

    private static void load(Stage stage, int gpus, ParallelPlan rules) throws Exception {
        TensorPattern pattern = new TensorPattern(17);
        Path path = stage.folder().resolve("llama.safetensors");
        new SafetensorsWriter(path)
                .tensor("model.embed_tokens.weight", DType.BF16, 120, 96)
                .tensor("model.layers.0.self_attn.q_proj.weight", DType.BF16, 96, 96)
                .tensor("model.layers.0.mlp.down_proj.weight", DType.F32, 84, 96)
                .tensor("model.layers.0.input_layernorm.weight", DType.BF16, 251)
                .write(pattern);
        prepare(stage);
        ParallelLoadPlan plan = Checkpoint.open(path).plan()
                .across(IntStream.range(0, gpus).mapToObj(LoadDestination::gpu).toList(), rules);
        for (int round = 0; round < ROUNDS; round++) {
            Optional<ParallelTensors> loaded = stage.attempt(() -> plan.load(stage.driver()));
            if (loaded.isPresent()) {
                try (ParallelTensors tensors = loaded.get()) {
                    for (int rank : plan.ranks()) {
                        for (TensorSlice slice : plan.slices(rank)) {
                            byte[] bytes = new byte[Math.toIntExact(slice.bytes())];
                            tensors.rank(rank).copyToHost(slice.tensor().name(), MemorySegment.ofArray(bytes));
                            assertThat(Arrays.mismatch(bytes, SliceBytes.of(pattern, slice)))
                                    .as("first wrong byte of %s of rank %s", slice.tensor().name(), rank)
                                    .isEqualTo(-1);
                        }
                    }
                }
            }
        }
    }

    /** The memories of an operation, with what they should hold. */
    private static final class Memories implements AutoCloseable {
        private final MemoryAllocator allocator;
        private final List<MemoryAllocation> all = new ArrayList<>();
        private final List<byte[]> expected = new ArrayList<>();

        Memories(Stage stage) {
            prepare(stage);
            allocator = stage.driver().allocator();
        }

        MemoryRange add(MemoryKind kind, int gpu, int size) {
            MemoryAllocation memory = allocator.allocate(kind, size, gpu);
            all.add(memory);
            expected.add(RandomBytes.of(all.size(), size));
            allocator.copyFromHost(MemorySegment.ofArray(expected.getLast()), memory.range());
            return memory.range();
        }

        byte[] expected(int memory) {
            return expected.get(memory);
        }

        byte[] bytes(int memory) {
            byte[] bytes = new byte[expected.get(memory).length];
            allocator.copyToHost(all.get(memory).range(), MemorySegment.ofArray(bytes));
            return bytes;
        }

        void verify(int memory) {
            assertThat(Arrays.mismatch(bytes(memory), expected.get(memory))).as("first wrong byte of memory " + memory)
                    .isEqualTo(-1);
        }

        @Override
        public void close() {
            if (!all.isEmpty()) {
                try (MemoryAllocation last = all.removeLast()) {
                    last.range();
                } finally {
                    close();
                }
            }
        }
    }
}
