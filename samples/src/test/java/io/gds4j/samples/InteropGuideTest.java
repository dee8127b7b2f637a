package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.interop.djl.DjlParameters;
import io.gds4j.interop.djl.SharedArray;
import io.gds4j.interop.dlpack.DlPackCapsule;
import io.gds4j.interop.dlpack.DlPackImport;
import io.gds4j.interop.dlpack.DlPackStreams;
import io.gds4j.interop.dlpack.DlPackTensor;
import io.gds4j.interop.dlpack.DlPackType;
import io.gds4j.interop.dlpack.DlPackVersion;
import io.gds4j.interop.metrics.GdsMetrics;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The snippets of docs/interop.md, word for word. */
class InteropGuideTest {
    @TempDir
    private Path folder;

    @Test
    void tensorIsLent() throws Exception {
        String header = "{\"weight\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}";
        byte[] file = new byte[8 + header.length() + 16];
        file[0] = (byte) header.length();
        System.arraycopy(header.getBytes(StandardCharsets.US_ASCII), 0, file, 8, header.length());
        Path path = Files.write(folder.resolve("model.safetensors"), file);
        AtomicLong address = new AtomicLong();
        try (CuFileDriver driver = CuFileDriver.open();
                LoadedTensors tensors = Checkpoint.open(path).plan().load(driver)) {
            lend(tensors, pointer -> {
                DlPackImport imported = DlPackCapsule.ofAddress(pointer, DlPackVersion.VERSIONED).open();
                address.set(imported.memory().address());
                imported.close();
            });
            assertThat(address).hasValue(tensors.address("weight"));
        }
    }

    private static void lend(LoadedTensors tensors, LongConsumer consumer) {
        try (DlPackCapsule capsule = DlPackTensor.of(tensors.get("weight")).capsule()) {
            consumer.accept(capsule.handOver()); // address of a DLManagedTensorVersioned
        }
    }

    @Test
    void tensorIsFilled() throws Exception {
        Path path = Files.write(folder.resolve("data"), "fourfourfourfour".getBytes(StandardCharsets.US_ASCII));
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle handle = driver.openFile(path);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 16)) {
            DlPackType bytes = new DlPackType(1, 8, 1);
            fill(handle, DlPackTensor.compact(memory.range(), bytes, List.of(16L)).capsule().handOver());
            assertThat(memory.segment().toArray(ValueLayout.JAVA_BYTE)).asString().isEqualTo("fourfourfourfour");
        }
    }

    private static void fill(CuFileHandle handle, long pointer) {
        try (DlPackCapsule capsule = DlPackCapsule.ofAddress(pointer, DlPackVersion.VERSIONED);
                DlPackImport imported = capsule.open()) {
            handle.readFully(imported.memory(), 0);
        }
    }

    /** Compiled; DlPackStreamsTest runs it on a fake GPU. */
    static void order(CuFileStream stream) {
        DlPackStreams.order(stream.address(), DlPackStreams.LEGACY_DEFAULT);
    }

    /** Compiled; SharedArrayTest of gds-interop runs it where PyTorch is. */
    static void share(LoadedTensors tensors, NDManager manager) {
        try (SharedArray weight = SharedArray.of(tensors.get("weight"), manager)) {
            use(weight.array()); // an NDArray; writes reach the tensor
        }
    }

    /** Compiled; DjlParametersTest of gds-interop runs it where PyTorch is. */
    static void share(Block block, LoadedTensors tensors, Model model) {
        DjlParameters.share(block, tensors, model.getNDManager(), Map.of("weight", "0.weight", "bias", "0.bias"));
    }

    private static void use(NDArray array) {
        assertThat(array.isEmpty()).isFalse();
    }

    @Test
    void metersAreBound() {
        try (CuFileDriver driver = CuFileDriver.open()) {
            MeterRegistry registry = new SimpleMeterRegistry();
            bind(driver, registry).close();
            assertThat(registry.find("gds4j.bytes").functionCounters()).isNotEmpty();
        }
    }

    private static GdsMetrics bind(CuFileDriver driver, MeterRegistry registry) {
        GdsMetrics metrics = new GdsMetrics(driver);
        metrics.bindTo(registry);
        return metrics;
    }
}
