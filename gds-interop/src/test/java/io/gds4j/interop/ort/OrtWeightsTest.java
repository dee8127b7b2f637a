package io.gds4j.interop.ort;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.save.SavePlan;
import java.io.ByteArrayOutputStream;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sessions of ONNX Runtime over tensors, with the library of the profile ort. */
class OrtWeightsTest {
    private static final int FLOAT = 1;

    private final OrtEnvironment environment = OrtEnvironment.getEnvironment();

    @TempDir
    private Path folder;

    private Path file;

    @BeforeEach
    void save() {
        file = folder.resolve("m.safetensors");
        try (CuFileDriver driver = CuFileDriver.open()) {
            SavePlan.builder().tensor("w", new float[]{1, 2, 3, 4, 5, 6}, 3, 2).toFile(file).save(driver);
        }
    }

    private OrtWeights<OnnxTensor> weights(LoadedTensors tensors) throws OrtException {
        return OrtWeights.of(tensors, (data, shape, type) -> OnnxTensor.createTensor(
                environment, data, shape, OnnxJavaType.valueOf(type)));
    }

    /** y = x w, whose w the program adds. */
    private float[] run(OrtWeights<OnnxTensor> weights) throws OrtException {
        try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
            weights.forEach(options::addInitializer);
            try (OrtSession session = environment.createSession(model(), options);
                    OnnxTensor x = OnnxTensor.createTensor(environment, FloatBuffer.wrap(new float[]{1, 10, 100}),
                            new long[]{1, 3});
                    OrtSession.Result result = session.run(Map.of("x", x))) {
                return ((OnnxTensor) result.get(0)).getFloatBuffer().array();
            }
        }
    }

    @Test
    void sessionComputesWithLoadedAndMappedTensors() throws OrtException {
        try (CuFileDriver driver = CuFileDriver.open();
                LoadedTensors loaded = Checkpoint.open(file).plan().load(driver);
                LoadedTensors mapped = Checkpoint.open(file).plan().map()) {
            for (LoadedTensors tensors : List.of(loaded, mapped)) {
                try (OrtWeights<OnnxTensor> weights = weights(tensors)) {
                    assertThat(run(weights)).containsExactly(531, 642);
                    assertThatExceptionOfType(CuFileException.class).isThrownBy(tensors::close)
                            .withMessageContaining("lent by LoadedTensors.lend(), at ");
                }
                tensors.close();
            }
        }
    }

    @Test
    void failureOfTheMakerLeavesNoLoan() {
        LoadedTensors mapped = Checkpoint.open(file).plan().map();
        assertThatExceptionOfType(OrtException.class).isThrownBy(() -> OrtWeights.of(mapped,
                (data, shape, type) -> OnnxTensor.createTensor(environment, data, new long[]{7}, OnnxJavaType.FLOAT)));
        mapped.close();
    }

    /** A model in the format of protocol buffers: fields by number, texts and messages by length. */
    private static byte[] model() {
        byte[] node = message(text(1, "x"), text(1, "w"), text(2, "y"), text(4, "MatMul"));
        byte[] external = message(text(1, "location"), text(2, "none.bin"));
        byte[] weight = message(number(1, 3), number(1, 2), number(2, FLOAT), text(8, "w"), text(13, external),
                number(14, 1));
        byte[] x = value("x", message(text(1, message(number(1, 1))), text(1, message(number(1, 3)))));
        byte[] y = value("y", message(text(1, message(number(1, 1))), text(1, message(number(1, 2)))));
        byte[] graph = message(text(1, node), text(2, "g"), text(5, weight), text(11, x), text(12, y));
        return message(number(1, 8), text(7, graph), text(8, message(number(2, 13))));
    }

    private static byte[] value(String name, byte[] shape) {
        return message(text(1, name), text(2, message(text(1, message(number(1, FLOAT), text(2, shape))))));
    }

    private static byte[] message(byte[]... fields) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] field : fields) {
            all.writeBytes(field);
        }
        return all.toByteArray();
    }

    private static byte[] number(int field, int value) {
        return new byte[]{(byte) (field << 3), (byte) value};
    }

    private static byte[] text(int field, String text) {
        return text(field, text.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] text(int field, byte[] bytes) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.write(field << 3 | 2);
        for (int left = bytes.length;; left >>>= 7) {
            all.write(left < 128 ? left : left & 127 | 128);
            if (left < 128) {
                break;
            }
        }
        all.writeBytes(bytes);
        return all.toByteArray();
    }
}
