package io.gds4j.loader.parallel;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.TensorInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random attention layers of one tower and of several, with numbers of heads that are told for the first one, told in part, or told
 * wrong. A rank has the right bytes, which are gathered here head by head, or the plan is refused.
 * {@code -Dgds4j.property.count} sets the number of plans.
 */
class HeadsOracleTest {
    private static final Path FILE = Path.of("m.safetensors");
    private static final int BYTES = 2;

    @TempDir
    Path folder;

    /** How the outputs of a layer belong to heads. */
    private enum Kind {
        SEPARATE, FUSED, INTERLEAVED, LATENT
    }

    private enum Told {
        TRUTH, TRUTH_AND_SIZE, QUERIES, EQUAL, WRONG, CONFIG, CONFIG_QUERIES, CONFIG_HIDDEN, CONFIG_SIZE, GGUF_QUERIES,
        GGUF_SIZE, GGUF, WRONG_AND_SIZE,
        NOTHING
    }

    /** Where a tower has its numbers of heads from. */
    private enum Source {
        TOLD, RULES, NEXT_TOKEN
    }

    /** A tower with one layer, and the module of its attention. */
    private record Tower(Model model, Source source, String module) {
        private String layer(String name) {
            return module + (model.isGguf()
                    ? "attn_" + (name.equals("o_proj") ? "output" : name.replace("_proj", ""))
                    : name);
        }
    }

    private static final List<String> MODULES = List.of("model.layers.0.self_attn.", "towers.0.layers.0.attn.",
            "stages.0.blocks.0.", "0.attn.", "perceiver.attn.", "");

    /** Adds random towers in any order; returns the one whose heads are told. */
    private static Tower towers(SplittableRandom random, List<Tower> towers) {
        Model model = Model.random(random);
        Tower first = new Tower(model, Source.TOLD,
                model.isGguf() ? "blk.0." : MODULES.get(random.nextInt(MODULES.size())));
        towers.add(first);
        int more = random.nextInt(30) == 0 ? 17 : random.nextInt(3);
        for (int i = 1; i <= more; i++) {
            Source source = Source.values()[random.nextInt(Source.values().length)];
            Model own = switch (source) {
                case TOLD -> model.alike(random);
                case RULES -> Model.random(random);
                case NEXT_TOKEN -> model;
            };
            boolean ruled = source == Source.RULES && own.kind == Kind.SEPARATE;
            String name = source == Source.NEXT_TOKEN ? "mtp%d.".formatted(i) : "tower%d.".formatted(i);
            String module = MODULES.get(random.nextInt(MODULES.size()));
            // the next layers of a list of towers, or a tower of its own
            module = module.startsWith("towers.") || module.startsWith("stages.")
                    ? module.replaceFirst("0", Integer.toString(i))
                    : name + (own.isGguf() ? "blk.0." : module);
            towers.add(new Tower(own, ruled ? Source.RULES
                    : module.startsWith("mtp") ? source : Source.TOLD, module));
        }
        for (int i = towers.size() - 1; i > 0; i--) {
            Collections.swap(towers, i, random.nextInt(i + 1));
        }
        return first;
    }

    /** A layer as its model has it. */
    private record Model(Kind kind, int queries, int keys, int keySize, int valueSize, int hidden, boolean gates,
            boolean bias, boolean norms, boolean keysAreValues, boolean output, boolean gguf) {
        /** Returns a random model, or one that shares widths, or sizes of heads, with this one. */
        private Model alike(SplittableRandom random) {
            int half = random.nextBoolean() ? 2 : 1;
            return switch (random.nextInt(4)) {
                case 0 -> random(random);
                case 1 -> new Model(kind, queries * 2, keys * 2, Math.ceilDiv(keySize, 2), Math.ceilDiv(valueSize, 2),
                        hidden, gates, bias, norms, keysAreValues, output, gguf);
                case 2 -> new Model(kind, Math.ceilDiv(queries, 2), Math.ceilDiv(queries, 2), 2 * keySize,
                        2 * valueSize, hidden, gates, bias, norms, keysAreValues, output, gguf);
                default -> new Model(kind, queries * half, kind == Kind.LATENT ? queries * half : keys, keySize,
                        valueSize, hidden / half, gates, bias, norms,
                        keysAreValues, output, gguf);
            };
        }

        private boolean isGguf() {
            return gguf && kind != Kind.LATENT && kind != Kind.INTERLEAVED;
        }

        private static Model random(SplittableRandom random) {
            int keys = 1 + random.nextInt(8);
            int queries = keys * (1 << random.nextInt(4));
            int keySize = 1 + random.nextInt(6);
            Kind kind = Kind.values()[random.nextInt(8) < 4 ? 0 : random.nextInt(4)];
            boolean keysAreValues = kind == Kind.SEPARATE && random.nextInt(8) == 0;
            int valueSize = keysAreValues || random.nextInt(3) > 0 ? keySize : 1 + random.nextInt(6);
            boolean gates = kind == Kind.SEPARATE && random.nextInt(4) == 0;
            int hidden = random.nextBoolean() ? Math.max(2, queries * keySize) : 2 + random.nextInt(40);
            return new Model(kind, queries, kind == Kind.LATENT ? queries : keys, keySize, valueSize, hidden, gates,
                    random.nextBoolean(), random.nextBoolean(), keysAreValues, random.nextInt(5) > 0,
                    random.nextInt(4) == 0);
        }
    }

    /** A tensor, and the rows or columns that a rank needs of it. */
    private record Layer(TensorInfo info, byte[] data, boolean columns, int[] heads) {
    }

    /** Returns heads of queries (0 and more), of keys (1000 and more) or of values (2000 and more) of each row. */
    private static int[] rows(Model model, String layer) {
        int size = model.gates ? 2 * model.keySize : model.keySize;
        IntStream queries = heads(model.queries, size, 0);
        IntStream keys = heads(model.keys, model.keySize, 1000);
        IntStream values = heads(model.keys, model.valueSize, 2000);
        return (switch (layer) {
            case "q_proj", "q_b_proj" -> queries;
            case "k_proj" -> keys;
            case "v_proj" -> values;
            case "kv_b_proj" -> IntStream.range(0, model.keys).flatMap(head -> IntStream.concat(
                    IntStream.range(0, model.keySize).map(i -> 1000 + head),
                    IntStream.range(0, model.valueSize).map(i -> 2000 + head)));
            case "qkv_proj" -> IntStream.concat(queries, IntStream.concat(keys, values));
            default -> IntStream.range(0, model.keys).flatMap(group -> IntStream.concat(
                    heads(model.queries / model.keys, model.keySize, group * (model.queries / model.keys)),
                    IntStream.concat(
                            IntStream.range(0, model.keySize).map(i -> 1000 + group),
                            IntStream.range(0, model.valueSize).map(i -> 2000 + group))));
        }).toArray();
    }

    private static IntStream heads(int count, int size, int first) {
        return IntStream.range(0, count * size).map(i -> first + i / size);
    }

    private static List<Layer> layers(Tower tower, SplittableRandom random) {
        Model model = tower.model;
        List<String> names = new ArrayList<>(switch (model.kind) {
            case SEPARATE -> model.keysAreValues ? List.of("q_proj", "k_proj") : List.of("q_proj", "k_proj", "v_proj");
            case FUSED -> List.of("qkv_proj");
            case INTERLEAVED -> List.of("query_key_value");
            case LATENT -> List.of("q_b_proj", "kv_b_proj");
        });
        List<Layer> layers = new ArrayList<>();
        long[] offset = {random.nextInt(3) * 64L};
        for (String name : names) {
            int[] rows = rows(model, name);
            layers.add(layer(tower.layer(name) + ".weight", rows, false, offset, random, rows.length, model.hidden));
            if (model.bias) {
                layers.add(layer(tower.layer(name) + ".bias", rows, false, offset, random, rows.length));
            }
        }
        if (model.output) {
            int[] columns = heads(model.queries, model.valueSize, 0).toArray();
            String name = tower.layer(model.kind == Kind.INTERLEAVED ? "dense" : "o_proj");
            layers.add(layer(name + ".weight", columns, true, offset, random, model.hidden, columns.length));
        }
        if (model.norms) {
            layers.add(layer(tower.layer("q_norm") + ".weight", new int[0], false, offset, random, model.keySize));
        }
        return layers;
    }

    private static Layer layer(
            String name, int[] heads, boolean columns, long[] offset, SplittableRandom random, int... shape) {
        List<Long> sizes = Arrays.stream(shape).asLongStream().boxed().toList();
        byte[] data = new byte[Arrays.stream(shape).reduce(BYTES, (a, b) -> a * b)];
        random.nextBytes(data);
        TensorInfo info = new TensorInfo(name, DType.BF16, sizes, FILE, offset[0], data.length);
        offset[0] += data.length;
        return new Layer(info, data, columns, heads);
    }

    /** Returns what a rank needs of a tensor; null if ranks cannot have equal shares of whole heads. */
    private static byte[] expected(Model model, Layer layer, int world, int rank) {
        if (layer.heads.length == 0 || layer.columns && model.kind == Kind.INTERLEAVED) {
            return layer.data;
        }
        boolean even = model.queries % world == 0 || world % model.queries == 0 && !layer.columns;
        if (world > 1 && (!even || model.keys % world != 0 && world % model.keys != 0)) {
            return null;
        }
        int from = world == 1 ? 0 : (int) ((long) rank * model.queries / world);
        int to = world == 1 ? model.queries : Math.max(from + 1, (rank + 1) * model.queries / world);
        int group = model.queries / model.keys;
        IntPredicate needed = head -> {
            int number = head % 1000;
            return head < 1000 ? number >= from && number < to : number >= from / group && number <= (to - 1) / group;
        };
        int rows = layer.info.shape().getFirst().intValue();
        int columns = layer.info.shape().size() == 1 ? 1 : layer.info.shape().get(1).intValue();
        byte[] kept = new byte[layer.data.length];
        int size = 0;
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < columns; column++) {
                if (needed.test(layer.heads[layer.columns ? column : row])) {
                    for (int i = 0; i < BYTES; i++) {
                        kept[size++] = layer.data[(row * columns + column) * BYTES + i];
                    }
                }
            }
        }
        return Arrays.copyOf(kept, size);
    }

    private static byte[] delivered(TensorSlice slice, byte[] data) {
        byte[] out = new byte[(int) slice.bytes()];
        for (StridedCopy copy : slice.copies()) {
            for (int row = 0; row < copy.rows(); row++) {
                System.arraycopy(
                        data, (int) (copy.fileOffset() - slice.tensor().fileOffset() + row * copy.filePitch()),
                        out, (int) (copy.sliceOffset() + row * copy.slicePitch()), (int) copy.width());
            }
        }
        return out;
    }

    private static ParallelPlan plan(List<Tower> towers) {
        List<ParallelRule> rules = new ArrayList<>();
        for (Tower tower : towers) {
            if (tower.source == Source.RULES) {
                Split keys = Split.column(new Split.Part(1, tower.model.keys));
                rules.add(new ParallelRule(
                        tower.layer("q_proj"), Split.column(new Split.Part(1, tower.model.queries))));
                rules.add(new ParallelRule(tower.layer("k_proj"), keys));
                rules.add(new ParallelRule(tower.layer("v_proj"), keys, true));
            }
        }
        rules.add(new ParallelRule("query_key_value", Split.column(), true));
        rules.add(new ParallelRule("dense", Split.replicate(), true));
        rules.add(new ParallelRule("*_b_proj", Split.column(), true));
        rules.addAll(ParallelPlan.llama().rules());
        return ParallelPlan.of("p", rules);
    }

    private ParallelPlan told(ParallelPlan plan, Model model, Told told, SplittableRandom random) throws IOException {
        Files.deleteIfExists(folder.resolve("config.json"));
        int q = model.queries;
        return switch (told) {
            case TRUTH -> plan.withHeads(new AttentionHeads(q, model.keys));
            case TRUTH_AND_SIZE -> plan.withHeads(
                    new AttentionHeads(q, model.keys, model.kind == Kind.LATENT ? 0 : model.keySize));
            case QUERIES -> plan.withHeads(new AttentionHeads(q));
            case EQUAL -> plan.withHeads(new AttentionHeads(q, q));
            case WRONG -> plan.withHeads(new AttentionHeads(q, 1 + random.nextInt(2 * q)));
            case WRONG_AND_SIZE -> plan.withHeads(new AttentionHeads(q, 1 + random.nextInt(2 * q), model.keySize));
            case CONFIG -> config(plan, "{\"n_head\": %d, \"num_key_value_heads\": %d}".formatted(q, model.keys));
            case CONFIG_QUERIES -> config(
                    plan,
                    (random.nextBoolean() ? "{\"n_head\": %d}"
                            : "{\"text_config\": {\"n_heads\": %d, \"num_key_value_heads\": null}}")
                            .formatted(q));
            case CONFIG_HIDDEN ->
                config(plan, "{\"num_attention_heads\": %d, \"hidden_size\": %d}".formatted(q, model.hidden));
            case CONFIG_SIZE ->
                config(plan, "{\"num_attention_heads\": %d, \"head_dim\": %d}".formatted(q, model.keySize));
            case GGUF_QUERIES -> gguf(plan, Map.of("head_count", q));
            case GGUF_SIZE -> gguf(plan, Map.of("head_count", q, "key_length", model.keySize));
            case GGUF -> gguf(plan, Map.of("head_count", q, "head_count_kv", model.keys));
            case NOTHING -> plan;
        };
    }

    private ParallelPlan config(ParallelPlan plan, String config) throws IOException {
        Files.writeString(folder.resolve("config.json"), config);
        return plan.forModel(folder, Metadata.ofStrings(Map.of()));
    }

    private ParallelPlan gguf(ParallelPlan plan, Map<String, Integer> keys) {
        Map<String, MetadataValue> metadata = new LinkedHashMap<>();
        metadata.put("general.architecture", new MetadataValue.Text("x"));
        keys.forEach((key, value) -> metadata.put("x.attention." + key, new MetadataValue.Whole(value, false)));
        return plan.forModel(folder, Metadata.of(metadata));
    }

    /** Returns whether no shape can show that what is told is wrong. */
    private static boolean isUndecidable(Model model, Told told) {
        boolean untrue = told == Told.EQUAL || told == Told.WRONG || told == Told.WRONG_AND_SIZE;
        boolean mixed = model.kind == Kind.FUSED && (!model.output || model.keySize != model.valueSize)
                || model.kind == Kind.INTERLEAVED && (!model.output || model.keySize != model.valueSize)
                || model.gates && !model.output;
        // qkv_proj is a layout with heads of one size
        boolean unlike = model.kind == Kind.FUSED && model.keySize != model.valueSize && !model.output;
        return unlike || mixed && (untrue || told == Told.CONFIG_HIDDEN);
    }

    /** Returns whether a refusal would be wrong: all is told that is needed, and ranks have whole heads. */
    private static boolean mustLoad(Model model, Told told, List<Layer> layers, int world) {
        boolean whole = layers.stream().allMatch(layer -> expected(model, layer, world, 0) != null);
        boolean all = told == Told.TRUTH || told == Told.TRUTH_AND_SIZE || told == Told.CONFIG || told == Told.GGUF;
        boolean queries = all || told == Told.QUERIES || told == Told.CONFIG_QUERIES || told == Told.GGUF_QUERIES;
        return whole && (world == 1 || switch (model.kind) {
            case SEPARATE -> model.output ? queries : all && !model.gates;
            case FUSED -> all && model.keySize == model.valueSize;
            case INTERLEAVED -> all && model.keySize == model.valueSize && model.queries == model.keys;
            case LATENT -> queries;
        });
    }

    /** Returns whether a refusal of a plan would be wrong: other towers have rules, or predict further tokens. */
    private static boolean mustLoad(List<Tower> towers, Tower first, Told told, List<List<Layer>> layers, int world) {
        // a rule that repeats what is told says that it may be of its tower alone
        boolean repeated = towers.stream()
                .anyMatch(tower -> tower.source == Source.RULES && tower.model.queries == first.model.queries);
        return IntStream.range(0, towers.size()).allMatch(i -> switch (towers.get(i).source) {
            case TOLD -> towers.get(i) == first && !repeated && mustLoad(first.model, told, layers.get(i), world)
                    || world == 1;
            case NEXT_TOKEN -> mustLoad(first.model, told, layers.get(i), world);
            case RULES -> mustLoad(towers.get(i).model, Told.TRUTH, layers.get(i), world);
        });
    }

    @Test
    void everyRankHasItsHeadsOrThePlanIsRefused() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        int[] outcomes = new int[3];
        SplittableRandom seeds = new SplittableRandom(seed);
        for (int round = 0; round < Integer.getInteger("gds4j.property.count", 500); round++) {
            SplittableRandom random = seeds.split();
            List<Tower> towers = new ArrayList<>();
            Tower first = towers(random, towers);
            Told told = Told.values()[random.nextInt(Told.values().length)];
            int world = 1 + random.nextInt(8);
            if (isUndecidable(first.model, told)) {
                continue;
            }
            String what = "-Dgds4j.property.seed=%d, plan %d: %s, %s of %s, %d ranks"
                    .formatted(seed, round, towers, told, first.module, world);
            List<List<Layer>> layers = towers.stream().map(tower -> layers(tower, random)).toList();
            List<TensorInfo> tensors = layers.stream().flatMap(List::stream).map(Layer::info).toList();
            List<TensorSlice> slices = List.of();
            Optional<CheckpointException> refused = Optional.empty();
            try {
                slices = told(plan(towers), first.model, told, random).slice(FILE, tensors, world);
            } catch (CheckpointException e) {
                refused = Optional.of(e);
            }
            outcomes[refused.isPresent() ? 2 : towers.size() == 1 ? 0 : 1]++;
            assertThat(refused.isPresent() && mustLoad(towers, first, told, layers, world)).as(what + ": " + refused)
                    .isFalse();
            assertThat(slices).as(what).hasSize(refused.isPresent() ? 0 : tensors.size() * world);
            for (TensorSlice slice : slices) {
                int tower = IntStream.range(0, towers.size())
                        .filter(i -> layers.get(i).stream().anyMatch(layer -> layer.info.equals(slice.tensor())))
                        .findFirst().orElseThrow();
                Model model = towers.get(tower).model;
                Layer layer = layers.get(tower).stream().filter(one -> one.info.equals(slice.tensor())).findFirst()
                        .orElseThrow();
                assertThat(delivered(slice, layer.data))
                        .as("%s, rank %d of %s", what, slice.rank(), slice.tensor())
                        .isEqualTo(expected(model, layer, world, slice.rank()));
            }
        }
        assertThat(outcomes[0]).as("right").isPositive();
        assertThat(outcomes[1]).as("right with several towers").isPositive();
        assertThat(outcomes[2]).as("refused").isPositive();
    }
}
