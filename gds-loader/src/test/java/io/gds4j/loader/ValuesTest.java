package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.save.Consistency;
import io.gds4j.loader.save.SaveOptions;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Values that programs compare, print and send. */
class ValuesTest {
    private static final Path FILE = Path.of("model.safetensors");

    private static TensorInfo tensor(long offset) {
        return new TensorInfo("weight", DType.F32, List.of(2L, 3L), FILE, offset, 24);
    }

    @Test
    void equalPartsMakeEqualValues() {
        assertThat(tensor(8)).isEqualTo(tensor(8)).hasSameHashCodeAs(tensor(8)).isNotEqualTo(tensor(16));
        assertThat(SaveOptions.DEFAULTS.withAlign(8)).isEqualTo(SaveOptions.DEFAULTS.withAlign(8))
                .isNotEqualTo(SaveOptions.DEFAULTS);
    }

    @Test
    void textOfALargeFileIsShort() {
        CheckpointFile file = CheckpointFile.of(
                FILE, 1 << 20, 8, Collections.nCopies(10_000, tensor(8)), Map.of("tokens", "a".repeat(100_000)));

        assertThat(file.toString()).contains("model.safetensors", "10000").hasSizeLessThan(200);
    }

    @Test
    void optionsAreReadFromAStreamThroughTheirChecks() throws Exception {
        SaveOptions options = SaveOptions.DEFAULTS.withConsistency(Consistency.HOST_SNAPSHOT).withWritesInFlight(61);
        byte[] bytes = written(options);
        assertThat(read(bytes)).isEqualTo(options);

        // 61 writes in flight become 61 + 2^24, which no constructor lets pass.
        int at = bytes.length - 1;
        while (bytes[at] != 61) {
            at--;
        }
        bytes[at - 3] = 1;
        assertThatThrownBy(() -> read(bytes)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("writes in flight");
    }

    private static byte[] written(Object value) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(value);
        }
        return bytes.toByteArray();
    }

    private static Object read(byte[] bytes) throws IOException, ClassNotFoundException {
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
            return in.readObject();
        }
    }
}
