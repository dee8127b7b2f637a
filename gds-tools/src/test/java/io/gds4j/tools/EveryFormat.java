package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Checkpoints of every format below a folder, which a server offers as objects. */
record EveryFormat(Path folder) {
    /** Files that need no list of their folder: checkpoints of one file, indexes, lists, and the first part of a set. */
    static final List<String> FILES = List.of(
            "types.pt", "nested.bin", "arrays.npz", "fortran.npy", "torch/pytorch_model.bin.index.json",
            "model.safetensors", "shards/model.safetensors.index.json", "model.gguf", "library.gguf",
            "split/model-00001-of-00002.gguf", "extents/list.json");

    /** Folders that are checkpoints. */
    static final List<String> FOLDERS = List.of("torch/", "shards/", "distributed/", "split/");

    /** Writes the checkpoints. */
    static EveryFormat write(Path folder) throws IOException {
        for (String name : List.of("types.pt", "nested.bin", "arrays.npz", "fortran.npy")) {
            Files.copy(TestCheckpoints.LIBRARIES.resolve(name), folder.resolve(name));
        }
        torchShards(Files.createDirectory(folder.resolve("torch")));
        TestCheckpoints.odd(folder.resolve("model.safetensors"));
        TestCheckpoints.sharded(folder.resolve("shards"));
        Path distributed = Files.createDirectory(folder.resolve("distributed"));
        try (Stream<Path> files = Files.list(TestCheckpoints.LIBRARIES.resolve("distributed"))) {
            for (Path file : files.toList()) {
                Files.copy(file, distributed.resolve(file.getFileName()));
            }
        }
        TestCheckpoints.gguf(folder.resolve("model.gguf"));
        Files.copy(TestCheckpoints.LIBRARIES.resolveSibling("gguf-py.gguf"), folder.resolve("library.gguf"));
        TestCheckpoints.ggufSet(Files.createDirectory(folder.resolve("split")));
        TestCheckpoints.extents(Files.createDirectory(folder.resolve("extents")));
        return new EveryFormat(folder);
    }

    private static void torchShards(Path folder) throws IOException {
        List<String> sources = List.of("nested.bin", "types.pt");
        StringBuilder map = new StringBuilder();
        for (int i = 0; i < sources.size(); i++) {
            String shard = "pytorch_model-0000%d-of-00002.bin".formatted(i + 1);
            Files.copy(TestCheckpoints.LIBRARIES.resolve(sources.get(i)), folder.resolve(shard));
            map.append(i == 0 ? "" : ", ").append(
                    TestCheckpoints.libraryDigests(sources.get(i)).keySet().stream()
                            .map(tensor -> "\"%s\": \"%s\"".formatted(tensor, shard))
                            .collect(Collectors.joining(", ")));
        }
        Files.writeString(folder.resolve("pytorch_model.bin.index.json"), "{\"weight_map\": {%s}}".formatted(map));
    }

    /** Loads a checkpoint from its URL and from its file, and compares the digests of all tensors. */
    void assertLoadsAlike(String name, String url, Map<String, String> environment) {
        JsonNode file = gds("load", folder.resolve(name).toString(), "-t", "host", "--digest", "--json").json();
        GdsRun run = gds(environment, () -> false, "load", url, "-t", "host", "--digest", "--verify", "--json");
        assertThat(run.err()).as(name).isEmpty();
        assertThat(run.status()).as(name).isZero();
        JsonNode remote = run.json();
        assertThat(GdsRun.digests(remote)).as(name).isEqualTo(GdsRun.digests(file)).isNotEmpty();
        assertThat(remote.get("path").asText()).isEqualTo(url);
        assertThat(remote.get("format")).as(name).isEqualTo(file.get("format"));
        assertThat(remote.get("verified").asBoolean()).as(name).isTrue();
        assertThat(remote.get("ioPaths").fieldNames()).toIterable().as(name).containsExactly("USER_SOURCE");
        assertThat(remote.get("httpClients").toString()).as(name).matches(".*\"(libcurl|JDK) [0-9.]+\".*");
    }
}
