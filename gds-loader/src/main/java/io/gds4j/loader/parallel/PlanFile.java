package io.gds4j.loader.parallel;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import io.gds4j.loader.internal.text.StrictJson.Token;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Reads rules from JSON in the vocabulary of transformers' {@code base_model_tp_plan}. */
final class PlanFile {
    /** What tensors without a rule are; it makes rules optional, too. */
    private static final String UNMATCHED = "unmatched";
    private static final Set<String> ENVELOPES =
            Set.of("base_model_tp_plan", "tp_plan", "base_model_ep_plan", "ep_plan");
    private static final String STYLES =
            "colwise, rowwise, packed_colwise, packed_rowwise, their local_ and _rep forms,"
                    + " embedding_rowwise, embedding_colwise, replicate, expert, grouped_gemm, dimension or an object";
    /** Styles for modules that act on what passes through them: their own tensors are whole, or have rules of their own. */
    private static final Set<String> OF_MODULES = Set.of("gather", "local", "moe_tp_experts", "ep_router",
            "ep_dispatch_experts", "moe_identity_expert", "local_params", "all_reduce");

    /** For a layer of all experts in one tensor, the layers that files with single experts have. */
    private static final Map<String, List<String>> OF_SINGLE = Map.of(
            "gate_up_proj", List.of("gate_proj", "up_proj", "w1", "w3"),
            "gate_proj", List.of("gate_proj", "w1"),
            "up_proj", List.of("up_proj", "w3"),
            "down_proj", List.of("down_proj", "w2"));

    private final List<ParallelRule> rules = new ArrayList<>();
    /** Rules for modules, which come last: the rule of a tensor counts, wherever it stands. */
    private final List<ParallelRule> ofModules = new ArrayList<>();
    private final Set<String> patterns = new HashSet<>();
    private final Set<String> unfit = new HashSet<>();
    private boolean replicatesUnmatched;

    private PlanFile() {
    }

    static PlanFile read(Path file) {
        try {
            PlanFile plan = new PlanFile();
            StrictJson in = new StrictJson(JsonFile.bytes(file));
            in.expect(Token.START_OBJECT, "a plan", "one JSON object");
            plan.rules(in, true);
            in.end();
            plan.rules.addAll(plan.ofModules);
            if (plan.rules.isEmpty()) {
                throw new Malformed(0, "the plan has no rule");
            }
            if (plan.replicatesUnmatched) {
                plan.makeOptional();
            }
            return plan;
        } catch (Malformed e) {
            throw CheckpointException.of(JsonFile.INVALID, file, e.offset(), e.detail());
        }
    }

    /** Returns the rules in their order, 1 or more. */
    List<ParallelRule> rules() {
        return rules;
    }

    /** Returns patterns for single experts whose rule is for a tensor of all experts, and cannot divide them. */
    Set<String> unfit() {
        return unfit;
    }

    /** Lets rules match nothing, and adds those for experts that a file has one by one, and one for all other tensors. */
    private void makeOptional() {
        List<ParallelRule> all = new ArrayList<>();
        rules.forEach(rule -> all.add(new ParallelRule(rule.pattern(), rule.split(), true)));
        Map<String, Split> single = new LinkedHashMap<>();
        for (ParallelRule rule : rules) {
            String layer = Layers.parameter(rule.pattern());
            if (!Layers.parameter(Layers.layer(rule.pattern())).equals("experts") || !OF_SINGLE.containsKey(layer)) {
                continue;
            }
            Optional<Split> split = ofSingle(layer, rule.split());
            for (String expert : OF_SINGLE.get(layer)) {
                String pattern = "experts.*." + expert;
                if (patterns.contains(pattern)) {
                    continue;
                }
                Split before = single.putIfAbsent(pattern, split.orElse(rule.split()));
                if (split.isEmpty() || before != null && !before.equals(split.get())) {
                    unfit.add(pattern);
                }
            }
        }
        single.forEach((pattern, split) -> all.add(new ParallelRule(pattern, split, true)));
        all.add(ParallelRule.REST);
        rules.clear();
        rules.addAll(all);
    }

    /** Returns the split of a layer of one expert; empty if the split is for a tensor of all experts only. */
    private static Optional<Split> ofSingle(String layer, Split split) {
        return Optional.ofNullable(switch (split) {
            case Split.Column(List<Split.Part> parts, boolean roundUp) -> {
                boolean halves = layer.equals("gate_up_proj") && parts.size() == 2
                        && parts.getFirst().equals(parts.getLast());
                boolean whole = !layer.equals("gate_up_proj") && !layer.equals("down_proj") && parts.size() == 1;
                yield halves || whole ? new Split.Column(Split.WHOLE, roundUp) : null;
            }
            case Split.Row row -> layer.equals("down_proj") ? row : null;
            case Split.Expert expert -> expert;
            case Split.Replicate all -> all;
            case Split.Owner owner -> owner;
            case Split.Dimension dimension -> null;
        });
    }

    private void rules(StrictJson in, boolean outermost) throws Malformed {
        while (in.next() == Token.NAME) {
            String pattern = in.text();
            if (outermost && ENVELOPES.contains(pattern)) {
                in.expect(Token.START_OBJECT, pattern, "an object");
                rules(in, false);
                continue;
            }
            if (outermost && pattern.equals(UNMATCHED)) {
                if (!in.string(UNMATCHED).equals("replicate")) {
                    throw in.here("unmatched is %s; allowed is \"replicate\"".formatted(in.found()));
                }
                replicatesUnmatched = true;
                continue;
            }
            if (pattern.isEmpty() || pattern.startsWith(".") || pattern.endsWith(".") || pattern.contains("..")) {
                throw in.here("the pattern %s has an empty component".formatted(CheckpointException.quote(pattern)));
            }
            if (pattern.length() > ParallelRule.MAX_PATTERN) {
                throw in.here("the pattern %s has %s characters; allowed are %s"
                        .formatted(CheckpointException.quote(pattern), pattern.length(), ParallelRule.MAX_PATTERN));
            }
            if (!patterns.add(pattern)) {
                throw in.here("the pattern %s occurs twice".formatted(CheckpointException.quote(pattern)));
            }
            rule(in, pattern);
        }
    }

    private void rule(StrictJson in, String pattern) throws Malformed {
        Settings settings = new Settings();
        Token token = in.next();
        int start = in.mark();
        if (token == Token.STRING) {
            settings.style = in.text();
        } else if (token == Token.START_OBJECT) {
            settings.read(in);
        } else {
            throw in.here("the style of %s must be %s, found %s"
                    .formatted(CheckpointException.quote(pattern), STYLES, in.found()));
        }
        if (OF_MODULES.contains(settings.style)) {
            ofModules.add(new ParallelRule(pattern, Split.replicate(), true));
        } else {
            boolean optional = settings.optional || settings.style.equals("sequence_parallel");
            rules.add(new ParallelRule(pattern, settings.split(start, pattern), optional));
        }
    }

    /** The fields of a rule that is an object. */
    private static final class Settings {
        private String style = "";
        private List<Long> parts = List.of();
        private List<Long> heads = List.of();
        private boolean roundUp;
        private boolean optional;
        private long dimension = -1;
        private long rank = -1;

        void read(StrictJson in) throws Malformed {
            while (in.next() == Token.NAME) {
                String field = in.text();
                switch (field) {
                    case "style" -> style = in.string("style");
                    case "parts" -> parts = numbers(in, field);
                    case "heads" -> heads = numbers(in, field);
                    case "dim" -> dimension = number(in, field, 63);
                    case "rank" -> rank = number(in, field, Integer.MAX_VALUE);
                    case "round_up" -> roundUp = truth(in, field);
                    case "optional" -> optional = truth(in, field);
                    default ->
                        throw in.here(("%s is no field of a rule; known are style, parts, heads, round_up,"
                                + " optional, dim and rank")
                                .formatted(CheckpointException.quote(field)));
                }
            }
        }

        private static boolean truth(StrictJson in, String field) throws Malformed {
            Token token = in.next();
            if (token != Token.TRUE && token != Token.FALSE) {
                throw in.here("%s must be true or false, found %s".formatted(field, in.found()));
            }
            return token == Token.TRUE;
        }

        private static List<Long> numbers(StrictJson in, String field) throws Malformed {
            Token token = in.next();
            if (token == Token.NUMBER) {
                return List.of(value(in, field));
            }
            if (token != Token.START_ARRAY) {
                throw in.here("%s must be a number or an array of numbers, found %s".formatted(field, in.found()));
            }
            List<Long> numbers = new ArrayList<>();
            while (in.next() != Token.END_ARRAY) {
                numbers.add(value(in, field));
            }
            return numbers;
        }

        private static long value(StrictJson in, String field) throws Malformed {
            long value = in.unsigned(field);
            if (value < 1) {
                throw in.here("%s has %s; allowed are 1 to 2^63-1".formatted(field, in.text()));
            }
            return value;
        }

        private static long number(StrictJson in, String field, long most) throws Malformed {
            in.next();
            long value = in.unsigned(field);
            if (Long.compareUnsigned(value, most) > 0) {
                throw in.here("%s is %s; allowed are 0 to %s".formatted(field, in.text(), most));
            }
            return value;
        }

        Split split(int at, String pattern) throws Malformed {
            return switch (style) {
                case "colwise", "local_colwise", "embedding_rowwise", "column" ->
                    new Split.Column(parts(1, 0, at), roundUp);
                // the ranks gather the outputs again, so that they need no whole heads
                case "colwise_rep", "colwise_gather_output", "local_colwise_rep" ->
                    new Split.Column(parts(1, Split.Part.GATHERED, at), roundUp);
                case "packed_colwise", "local_packed_colwise" -> new Split.Column(parts(2, 0, at), roundUp);
                case "packed_colwise_rep" -> new Split.Column(parts(2, Split.Part.GATHERED, at), roundUp);
                case "rowwise", "rowwise_rep", "rowwise_split_input", "local_rowwise", "local_rowwise_rep", "row" ->
                    new Split.Row(parts(1, 0, at), roundUp);
                case "packed_rowwise", "packed_rowwise_rep", "local_packed_rowwise" ->
                    new Split.Row(parts(2, 0, at), roundUp);
                case "embedding_colwise" -> new Split.Dimension(1, parts(1, 0, at), roundUp);
                case "dimension" -> {
                    if (dimension < 0) {
                        throw new Malformed(at, "the style dimension needs a dim");
                    }
                    yield new Split.Dimension((int) dimension, parts(1, 0, at), roundUp);
                }
                case "replicate", "replicated", "replicated_with_grad_allreduce", "mla_kv_a_proj",
                        "sequence_parallel" ->
                    Split.replicate();
                case "expert", "grouped_gemm" -> new Split.Expert((int) Math.max(0, dimension), roundUp);
                case "owner" -> {
                    if (rank < 0) {
                        throw new Malformed(at, "the style owner needs a rank");
                    }
                    yield new Split.Owner((int) rank);
                }
                default -> throw new Malformed(
                        at,
                        "the style of %s is %s; known are %s"
                                .formatted(
                                        CheckpointException.quote(pattern), CheckpointException.quote(style), STYLES));
            };
        }

        private List<Split.Part> parts(int usual, long usualHeads, int at) throws Malformed {
            int count = parts.isEmpty() ? Math.max(usual, heads.size()) : parts.size();
            if (heads.size() > 1 && heads.size() != count) {
                throw new Malformed(
                        at, "%s parts have %s numbers of heads".formatted(count, heads.size()));
            }
            List<Split.Part> all = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                long units = heads.isEmpty() ? usualHeads : heads.get(heads.size() == 1 ? 0 : i);
                // heads of one size: the parts are as large as their numbers of heads
                long share = !parts.isEmpty() ? parts.get(i) : heads.size() > 1 ? heads.get(i) : 1;
                all.add(new Split.Part(share, units));
            }
            return all;
        }
    }
}
