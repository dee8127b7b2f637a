package io.gds4j.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadDestination;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.ParallelLoadPlan;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/**
 * Loads a checkpoint for one and several GPUs, again and again, for {@code parallel.sh} and {@code first.sh} of
 * {@code benchmarks/scripts}. Prints a line for each case: name, GB/s delivered to all GPUs (median), CPU milliseconds for each delivered
 * GB.
 *
 * <pre>
 * ParallelFigures create FOLDER GIB SHARDS               writes layers in the shape of Llama-3-8B
 * ParallelFigures measure CHECKPOINT PASSES host|gpu N   into the same memory
 * ParallelFigures loads CHECKPOINT PASSES host|gpu N     into memory that is allocated each time, and into the same
 * </pre>
 */
final class ParallelFigures {
    private static final double GB = 1e9;
    private static final int LAYERS_OF_A_GIB = 2;
    private static final ParallelPlan SLICES = ParallelPlan.llama(new AttentionHeads(32, 8));

    private final Checkpoint checkpoint;
    private final CuFileDriver driver;
    private final int passes;
    private final List<LoadDestination> targets;
    private final OperatingSystemMXBean system =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private ParallelFigures(Checkpoint checkpoint, CuFileDriver driver, int passes, List<LoadDestination> targets) {
        this.checkpoint = checkpoint;
        this.driver = driver;
        this.passes = passes;
        this.targets = targets;
    }

    public static void main(String[] words) {
        if (words.length == 4 && words[0].equals("create")) {
            create(Path.of(words[1]), Integer.parseInt(words[2]), Integer.parseInt(words[3]));
            return;
        }
        if (words.length != 5) {
            System.err.println("usage: ParallelFigures create FOLDER GIB SHARDS"
                    + " | measure|loads CHECKPOINT PASSES host|gpu N");
            System.exit(2);
        }
        List<LoadDestination> targets = IntStream.range(0, Integer.parseInt(words[4]))
                .mapToObj(gpu -> words[3].equals("gpu") ? LoadDestination.gpu(gpu) : LoadDestination.host())
                .toList();
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.load(), "compat")) {
            ParallelFigures figures = new ParallelFigures(
                    Checkpoint.open(Path.of(words[1])), driver, Integer.parseInt(words[2]), targets);
            if (words[0].equals("loads")) {
                figures.loads();
            } else {
                figures.run();
            }
        }
    }

    private static void create(Path folder, int gib, int shards) {
        int layers = gib * LAYERS_OF_A_GIB;
        TensorPattern content = new TensorPattern(1);
        for (int shard = 0; shard < shards; shard++) {
            SavePlan.Builder plan = SavePlan.builder();
            if (shard == 0) {
                plan.generated("model.embed_tokens.weight", DType.BF16, content, 128256, 4096);
            }
            for (int i = layers * shard / shards; i < layers * (shard + 1) / shards; i++) {
                String layer = "model.layers." + i + ".";
                plan.generated(layer + "self_attn.q_proj.weight", DType.BF16, content, 4096, 4096)
                        .generated(layer + "self_attn.k_proj.weight", DType.BF16, content, 1024, 4096)
                        .generated(layer + "self_attn.v_proj.weight", DType.BF16, content, 1024, 4096)
                        .generated(layer + "self_attn.o_proj.weight", DType.BF16, content, 4096, 4096)
                        .generated(layer + "mlp.gate_proj.weight", DType.BF16, content, 14336, 4096)
                        .generated(layer + "mlp.up_proj.weight", DType.BF16, content, 14336, 4096)
                        .generated(layer + "mlp.down_proj.weight", DType.BF16, content, 4096, 14336)
                        .generated(layer + "input_layernorm.weight", DType.BF16, content, 4096)
                        .generated(layer + "post_attention_layernorm.weight", DType.BF16, content, 4096);
            }
            plan.toFile(folder.resolve("model-%s-of-%s.safetensors".formatted(shard + 1, shards))).save();
        }
    }

    /** Slices only where the names are Llama's. */
    private void loads() {
        ParallelPlan all = ParallelPlan.replicate();
        anew("allocated", all);
        shared("kept", targets, all);
        if (targets.size() > 1 && checkpoint.tensors().containsKey("model.embed_tokens.weight")) {
            anew("sharded-allocated", SLICES);
            shared("sharded-kept", targets, SLICES);
        }
    }

    private void anew(String name, ParallelPlan rules) {
        ParallelLoadPlan plan = checkpoint.plan().across(targets, rules);
        measure(name, plan.deliveredBytes(), () -> plan.load(driver).close());
    }

    private void run() {
        ParallelPlan all = ParallelPlan.replicate();
        before();
        shared("one", targets.subList(0, 1), all);
        separate();
        shared("replicated", targets, all);
        // Pool memory is not passed on from GPU to GPU.
        shared("both", targets.stream()
                .map(target -> target.kind().isCuda()
                        ? LoadDestination.of(MemoryKind.CUDA_POOL, target.device())
                        : target)
                .toList(), all);
        shared("sharded", targets, SLICES);
    }

    /** Loads to one GPU without ranks. */
    private void before() {
        LoadPlan plan = checkpoint.plan();
        try (MemoryAllocation memory = allocate(targets.getFirst(), plan.destinationBytes())) {
            LoadPlan into = plan.into(memory.range());
            measure("before", checkpoint.bytes(), () -> into.load(driver).close());
        }
    }

    /** Loads everything to each GPU by itself, at the same time. */
    private void separate() {
        List<MemoryAllocation> memories = new ArrayList<>();
        try {
            List<LoadPlan> plans = new ArrayList<>();
            for (LoadDestination target : targets) {
                memories.add(allocate(target, checkpoint.plan().destinationBytes()));
                plans.add(checkpoint.plan().into(memories.getLast().range()));
            }
            measure("separate", targets.size() * checkpoint.bytes(), () -> CompletableFuture.allOf(
                    plans.stream().map(plan -> plan.loadAsync(driver)).toArray(CompletableFuture[]::new)).join());
        } finally {
            memories.forEach(MemoryAllocation::close);
        }
    }

    private void shared(String name, List<LoadDestination> destinations, ParallelPlan rules) {
        ParallelLoadPlan sizes = checkpoint.plan().across(destinations, rules);
        List<MemoryAllocation> memories = new ArrayList<>();
        try {
            List<LoadDestination> into = new ArrayList<>();
            for (int rank : sizes.ranks()) {
                memories.add(allocate(sizes.destination(rank), sizes.destinationBytes(rank)));
                into.add(LoadDestination.into(memories.getLast().range()));
            }
            ParallelLoadPlan plan = checkpoint.plan().across(into, rules);
            measure(name, plan.deliveredBytes(), () -> plan.load(driver).close());
        } finally {
            memories.forEach(MemoryAllocation::close);
        }
    }

    private MemoryAllocation allocate(LoadDestination target, long bytes) {
        int device = target.kind() == MemoryKind.HOST ? MemoryRange.NO_DEVICE : target.device();
        return driver.allocator().allocate(target.kind(), bytes, device);
    }

    private void measure(String name, long delivered, Runnable load) {
        load.run();
        load.run();
        double[] seconds = new double[passes];
        long used = system.getProcessCpuTime();
        for (int i = 0; i < passes; i++) {
            long begun = System.nanoTime();
            load.run();
            seconds[i] = (System.nanoTime() - begun) / GB;
        }
        used = system.getProcessCpuTime() - used;
        Arrays.sort(seconds);
        System.out.printf(
                Locale.ROOT, "%s %.1f %.0f%n", name, delivered / GB / seconds[passes / 2],
                used / 1e6 / passes / (delivered / GB));
    }
}
