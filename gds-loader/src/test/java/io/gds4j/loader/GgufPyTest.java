package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.format.MetadataValue;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A file that gguf-py wrote, with a tensor of each of its types; gguf-py.py says how it was made. */
class GgufPyTest {
    private static Path resource(String name) throws Exception {
        return Path.of(GgufPyTest.class.getResource(name).toURI());
    }

    @Test
    void everyTensorHasTheDigestThatItsWriterNoted() throws Exception {
        Checkpoint checkpoint = Checkpoint.open(resource("gguf-py.gguf"));
        List<String> found = new ArrayList<>();
        try (CuFileDriver driver = CuFileDriver.open(new FileChannelBackend());
                LoadedTensors tensors = checkpoint.plan().load(driver)) {
            for (LoadedTensor tensor : tensors.tensors()) {
                String name = tensor.info().name();
                List<Long> shape = tensor.info().shape();
                found.add("%s %s %d,%d %s".formatted(
                        name, tensor.info().dtype(), shape.get(0), shape.get(1), TensorDigest.sha256(tensors, name)));
            }
        }
        assertThat(found).isEqualTo(Files.readAllLines(resource("gguf-py.txt"))).hasSize(33);
    }

    @Test
    void metadataIsThatOfItsWriter() throws Exception {
        Checkpoint checkpoint = Checkpoint.open(resource("gguf-py.gguf"));
        assertThat(checkpoint.metadata()).containsEntry("general.name", "written by gguf-py");
        assertThat(checkpoint.typedMetadata().get("llama.rope.freq_base")).contains(new MetadataValue.Real(500_000));
        assertThat(checkpoint.typedMetadata().get("test.u64")).contains(new MetadataValue.Whole(-1, true));
        assertThat(checkpoint.typedMetadata().get("tokenizer.ggml.add_bos_token"))
                .contains(new MetadataValue.Truth(true));
        MetadataValue tokens = checkpoint.typedMetadata().get("tokenizer.ggml.tokens").orElseThrow();
        assertThat(((MetadataValue.Array) tokens).values(0, 4)).extracting(MetadataValue::toString)
                .containsExactly("<unk>", "▁a", "b", "ü");
    }
}
