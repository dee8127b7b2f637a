package io.gds4j.loader.parallel;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import io.gds4j.loader.internal.text.StrictJson.Token;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Reads rules from JSON in the vocabulary of transformers' {@code base_model_tp_plan}. */
final class PlanFile {
    private static final Set<String> ENVELOPES = Set.of("base_model_tp_plan", "tp_plan");
    private static final long LARGEST = 16L << 20;
    private static final String STYLES =
            "colwise, rowwise, packed_colwise, packed_rowwise, their local_ and _rep forms,"
                    + " embedding_rowwise, replicate, expert, grouped_gemm or an object";

    private final List<ParallelRule> rules = new ArrayList<>();
    private final Set<String> patterns = new HashSet<>();

    private PlanFile() {
    }

    static ParallelPlan read(Path file) {
        try {
            PlanFile plan = new PlanFile();
            StrictJson in = new StrictJson(bytes(file, LARGEST));
            in.expect(Token.START_OBJECT, "a plan", "one JSON object");
            plan.rules(in, true);
            in.end();
            if (plan.rules.isEmpty()) {
                throw new Malformed(0, "the plan has no rule");
            }
            return new ParallelPlan(String.valueOf(file.getFileName()), plan.rules);
        } catch (Malformed e) {
            throw CheckpointException.of(ParallelPlan.INVALID_PLAN, file, e.offset(), e.detail());
        } catch (IOException e) {
            throw CheckpointException.of(file, e);
        }
    }

    static byte[] bytes(Path file, long most) throws IOException, Malformed {
        byte[] bytes;
        try (InputStream in = Files.newInputStream(file)) {
            bytes = in.readNBytes((int) most + 1);
        }
        if (bytes.length > most) {
            throw new Malformed((int) most, "the file has more than %s bytes".formatted(most));
        }
        int bad = StrictJson.checkUtf8(bytes);
        if (bad >= 0) {
            throw new Malformed(bad, "the file is not UTF-8");
        }
        return bytes;
    }

    private void rules(StrictJson in, boolean outermost) throws Malformed {
        while (in.next() == Token.NAME) {
            String pattern = in.text();
            if (outermost && ENVELOPES.contains(pattern)) {
                in.expect(Token.START_OBJECT, pattern, "an object");
                rules(in, false);
                continue;
            }
            if (pattern.isEmpty() || pattern.startsWith(".") || pattern.endsWith(".") || pattern.contains("..")) {
                throw in.here("the pattern %s has an empty component".formatted(CheckpointException.quote(pattern)));
            }
            if (!patterns.add(pattern)) {
                throw in.here("the pattern %s occurs twice".formatted(CheckpointException.quote(pattern)));
            }
            rules.add(rule(in, pattern));
        }
    }

    private static ParallelRule rule(StrictJson in, String pattern) throws Malformed {
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
        return new ParallelRule(pattern, settings.split(start, pattern), isOfModules(settings.style));
    }

    /** Returns whether the style concerns modules without tensors of their own. */
    private static boolean isOfModules(String style) {
        return switch (style) {
            case "gather", "local", "moe_tp_experts", "ep_router", "sequence_parallel", "moe_identity_expert" -> true;
            default -> false;
        };
    }

    /** The fields of a rule that is an object. */
    private static final class Settings {
        private String style = "";
        private List<Long> parts = List.of();
        private List<Long> heads = List.of();
        private boolean roundUp;
        private long dimension;
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
                    case "round_up" -> {
                        Token token = in.next();
                        if (token != Token.TRUE && token != Token.FALSE) {
                            throw in.here("round_up must be true or false, found " + in.found());
                        }
                        roundUp = token == Token.TRUE;
                    }
                    default ->
                        throw in.here("%s is no field of a rule; known are style, parts, heads, round_up, dim and rank"
                                .formatted(CheckpointException.quote(field)));
                }
            }
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
            if (value < 0 || value > most) {
                throw in.here("%s is %s; allowed are 0 to %s".formatted(field, in.text(), most));
            }
            return value;
        }

        Split split(int at, String pattern) throws Malformed {
            return switch (style) {
                case "colwise", "colwise_rep", "colwise_gather_output", "local_colwise", "local_colwise_rep",
                        "embedding_rowwise", "column" ->
                    new Split.Column(parts(1, at), roundUp);
                case "packed_colwise", "packed_colwise_rep", "local_packed_colwise" ->
                    new Split.Column(parts(2, at), roundUp);
                case "rowwise", "rowwise_rep", "rowwise_split_input", "local_rowwise", "local_rowwise_rep", "row" ->
                    new Split.Row(parts(1, at), roundUp);
                case "packed_rowwise", "packed_rowwise_rep", "local_packed_rowwise" ->
                    new Split.Row(parts(2, at), roundUp);
                case "replicate", "replicated", "replicated_with_grad_allreduce" -> Split.replicate();
                case "expert", "grouped_gemm" -> new Split.Expert((int) dimension, roundUp);
                case "owner" -> {
                    if (rank < 0) {
                        throw new Malformed(at, "the style owner needs a rank");
                    }
                    yield new Split.Owner((int) rank);
                }
                default -> {
                    if (isOfModules(style)) {
                        yield Split.replicate();
                    }
                    throw new Malformed(
                            at,
                            "the style of %s is %s; known are %s"
                                    .formatted(
                                            CheckpointException.quote(pattern),
                                            CheckpointException.quote(style),
                                            STYLES));
                }
            };
        }

        private List<Split.Part> parts(int usual, int at) throws Malformed {
            int count = parts.isEmpty() ? Math.max(usual, heads.size()) : parts.size();
            if (heads.size() > 1 && heads.size() != count) {
                throw new Malformed(
                        at, "%s parts have %s numbers of heads".formatted(count, heads.size()));
            }
            List<Split.Part> all = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                long units = heads.isEmpty() ? 0 : heads.get(heads.size() == 1 ? 0 : i);
                // heads of one size: the parts are as large as their numbers of heads
                long share = !parts.isEmpty() ? parts.get(i) : heads.size() > 1 ? heads.get(i) : 1;
                all.add(new Split.Part(share, units));
            }
            return all;
        }
    }
}
