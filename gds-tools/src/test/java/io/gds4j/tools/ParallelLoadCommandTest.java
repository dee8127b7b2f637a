package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SavePlan;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** gds load with several targets; host memory stands in for GPUs. */
class ParallelLoadCommandTest {
    private static final TensorPattern PATTERN = new TensorPattern(3);

    @TempDir
    private Path folder;

    private Path llama() {
        Path file = folder.resolve("model.safetensors");
        SavePlan.builder()
                .generated("model.embed_tokens.weight", DType.BF16, PATTERN, 100, 16)
                .generated("model.layers.0.self_attn.q_proj.weight", DType.BF16, PATTERN, 16, 16)
                .generated("model.layers.0.mlp.down_proj.weight", DType.BF16, PATTERN, 16, 64)
                .generated("model.norm.weight", DType.BF16, PATTERN, 16)
                .toFile(file).save();
        return file;
    }

    private void heads(String config) throws IOException {
        Files.writeString(folder.resolve("config.json"), config);
    }

    private static JsonNode entry(JsonNode json, int rank, String name) {
        return StreamSupport.stream(json.get("tensorList").spliterator(), false)
                .filter(each -> each.get("rank").asInt() == rank && each.get("name").asText().contains(name))
                .findFirst()
                .orElseThrow();
    }

    private static String sha256(byte[] bytes) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    }

    @Test
    void columnSlicesHaveTheBytesOfTheirRanks() throws Exception {
        heads("{\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"x\": Infinity}");
        GdsRun run = gds("load", llama().toString(), "--target", "host,host", "--parallel", "column", "--digest",
                "--verify", "--json");
        assertThat(run.err()).isEmpty();
        assertThat(run.status()).isZero();
        JsonNode json = run.json();
        OutputSchemas.check(json);
        long bytes = 2 * (100 * 16 + 16 * 16 + 16 * 64 + 16);
        assertThat(json.get("storageBytes").asLong()).isEqualTo(bytes);
        assertThat(json.get("bytes").asLong()).isEqualTo(bytes);
        assertThat(json.get("target").asText()).isEqualTo("host,host");
        assertThat(json.get("verified").asBoolean()).isTrue();
        assertThat(json.get("targets")).hasSize(2);
        assertThat(json.get("targets").get(1).toString())
                .isEqualTo("{\"target\":\"host\",\"rank\":1,\"tensors\":4,\"bytes\":%d}".formatted(bytes / 2 + 16));
        JsonNode down = entry(json, 1, "down_proj");
        assertThat(down.get("shape").toString()).isEqualTo("[16,32]");
        byte[] whole = new byte[2 * 16 * 64];
        PATTERN.fill("model.layers.0.mlp.down_proj.weight", 0, MemorySegment.ofArray(whole));
        byte[] slice = new byte[whole.length / 2];
        IntStream.range(0, 16).forEach(row -> System.arraycopy(whole, row * 128 + 64, slice, row * 64, 64));
        assertThat(down.get("sha256").asText()).isEqualTo(sha256(slice));
        assertThat(entry(json, 0, "norm").get("shape").toString()).isEqualTo("[16]");
    }

    @Test
    void targetsShareAllTensorsByDefault() {
        JsonNode json = gds("load", llama().toString(), "--target", "host,host,host", "--json").json();
        OutputSchemas.check(json);
        assertThat(json.get("targets")).hasSize(3).allSatisfy(
                target -> assertThat(target.get("bytes").asLong()).isEqualTo(json.get("bytes").asLong()));
        assertThat(json.get("storageBytes").asLong()).isEqualTo(json.get("bytes").asLong());
        GdsRun text = gds("load", llama().toString(), "--target", "host,host", "--digest");
        assertThat(text.out()).contains("rank 1").contains("each byte once");
    }

    @Test
    void planFilesShareTensors() throws IOException {
        heads("{\"n_head\": 4}");
        Path plan = Files.writeString(folder.resolve("plan.json"), """
                {"layers.*.self_attn.q_proj": "colwise", "layers.*.mlp.down_proj": "rowwise", "*": "replicate"}""");
        JsonNode json = gds("load", llama().toString(), "--target", "host,host", "--parallel", "plan:" + plan,
                "--digest", "--json").json();
        OutputSchemas.check(json);
        assertThat(entry(json, 1, "q_proj").get("shape").toString()).isEqualTo("[8,16]");
        assertThat(entry(json, 1, "embed").get("shape").toString()).isEqualTo("[100,16]");
    }

    @Test
    void wrongPlansAreStatusThree() throws IOException {
        heads("{\"num_attention_heads\": 4}");
        String file = llama().toString();
        Path plan = folder.resolve("plan.json");
        for (String[] wrong : new String[][]{{"{\"x_proj\": \"colwise\"}", "for another model"},
                {"{\"q_proj\": \"colwise\"}", "no rule of the plan"},
                {"{\"q_proj\": \"colwise\", \"x\": \"colwise\", \"*\": \"replicate\"}", "matches no tensor"},
                {"{\"q_proj\": \"sideways\"}", "the style of 'q_proj'"},
                {"{\"q_proj\": {\"style\": \"owner\", \"rank\": 2}, \"*\": \"replicate\"}", "belongs to rank 2"}}) {
            Files.writeString(plan, wrong[0]);
            oneLine(gds("load", file, "--target", "host,host", "--parallel", "plan:" + plan), 3, wrong[1]);
        }
        oneLine(gds("load", file, "--target", "host,host", "--parallel", "plan:" + folder.resolve("none")), 3,
                "no such");
        oneLine(gds("load", file, "--target", "host,host,host", "--parallel", "column"), 3, "3 ranks do not divide");
    }

    @Test
    void headsAreTheModelsOrThoseOfTheOption() throws IOException {
        Path file = folder.resolve("heads.safetensors");
        SavePlan.builder()
                .generated("l.q_proj.weight", DType.BF16, PATTERN, 16, 16)
                .generated("l.k_proj.weight", DType.BF16, PATTERN, 8, 16)
                .generated("l.v_proj.weight", DType.BF16, PATTERN, 8, 16)
                .generated("l.o_proj.weight", DType.BF16, PATTERN, 16, 16)
                .toFile(file).save();
        String[] command = {"load", file.toString(), "--target", "host,host,host,host", "--parallel", "column"};
        oneLine(gds(command), 3, "give --heads QUERY,KEY_VALUE");
        Path plan = Files.writeString(folder.resolve("plan.json"), "{\"*\": \"colwise\"}");
        oneLine(gds("load", file.toString(), "--target", "host,host", "--parallel", "plan:" + plan), 3,
                "the number of its heads is unknown");
        long option = bytesOfRank(gds(with(command, "--heads", "4,2", "--json")));
        assertThat(option).isEqualTo(2 * (4 * 16 + 2 * 4 * 16 + 16 * 4));
        heads("{\"num_attention_heads\": 4, \"num_key_value_heads\": 2}");
        assertThat(bytesOfRank(gds(with(command, "--json")))).isEqualTo(option);
        heads("{\"num_attention_heads\": 4}");
        assertThat(bytesOfRank(gds(with(command, "--json")))).as("shapes tell the heads of keys").isEqualTo(option);
        assertThat(bytesOfRank(gds(with(command, "--heads", "4", "--json")))).isEqualTo(option);
        oneLine(gds(with(command, "--heads", "4,4")), 3, "would have heads of 2 elements, and its queries heads of 4");
    }

    private static String[] with(String[] command, String... more) {
        return Stream.concat(Stream.of(command), Stream.of(more)).toArray(String[]::new);
    }

    private static long bytesOfRank(GdsRun run) {
        assertThat(run.err()).isEmpty();
        return run.json().get("targets").get(3).get("bytes").asLong();
    }

    @Test
    void keptDemoHasSlices() {
        gds("demo", "--size", "2M", "--dir", folder.toString(), "--keep");
        GdsRun run = gds("load", folder.resolve("gds-demo").toString(), "--target", "host,host", "--parallel", "column",
                "--tensor", "self_attn"); // the vocabulary may be odd
        assertThat(run.err()).isEmpty();
        assertThat(run.status()).isZero();
    }

    @Test
    void wrongOptionsAreStatusTwo() {
        String file = llama().toString();
        assertThat(gds("load", file, "--target", "host,hist").status()).isEqualTo(2);
        assertThat(gds("load", file, "--parallel", "sideways").status()).isEqualTo(2);
        assertThat(gds("load", file, "--parallel", "plan:").status()).isEqualTo(2);
        for (String heads : List.of("0", "4,0", "4,2,1", "x", "-4")) {
            assertThat(gds("load", file, "--parallel", "column", "--heads=" + heads).status()).as(heads).isEqualTo(2);
        }
        assertThat(gds("load", file, "--heads", "4,2").status()).isEqualTo(2);
    }

    private static void oneLine(GdsRun run, int status, String message) {
        assertThat(run.status()).isEqualTo(status);
        assertThat(run.err()).contains(message);
        assertThat(run.err().lines()).hasSize(1);
    }
}
