package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Loads into GPU memory. */
@Tag("gpu")
@Tag("alone")
@Timeout(180)
class GpuLoadTest {
    private static final TensorPattern PATTERN = new TensorPattern(13);

    @TempDir
    Path folder;

    private final CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");

    @AfterEach
    void close() {
        driver.close();
    }

    private static void check(LoadedTensors tensors) {
        for (LoadedTensor tensor : tensors.tensors()) {
            String name = tensor.info().name();
            assertThat(tensor.address() % 256).as("address of " + name).isZero();
            MemorySegment copy = MemorySegment.ofArray(new byte[Math.toIntExact(tensor.length())]);
            tensors.copyToHost(name, copy);
            assertThat(PATTERN.mismatch(name, 0, copy)).as(name).isEqualTo(-1);
        }
    }

    private Checkpoint mixed(SafetensorsWriter.Padding padding) {
        Path file = folder.resolve("mixed.safetensors");
        SafetensorsWriter writer =
                new SafetensorsWriter(file).padding(padding).sorted(false);
        for (int i = 0; i < 6; i++) {
            writer.tensor("w" + i, DType.BF16, 2009 + i, 2517)
                    .tensor("s" + i, DType.F32, i)
                    .tensor("q" + i, DType.U8, 4095 + i);
        }
        writer.tensor("big", DType.BF16, 9000, 8192);
        writer.write(PATTERN);
        return Checkpoint.open(file);
    }

    @ParameterizedTest
    @EnumSource(SafetensorsWriter.Padding.class)
    void digestsInGpuMemoryEqualThoseOfTheFile(SafetensorsWriter.Padding padding) throws Exception {
        Checkpoint checkpoint = mixed(padding);
        byte[] file = Files.readAllBytes(checkpoint.path());
        try (LoadedTensors tensors =
                checkpoint.plan().to(MemoryKind.CUDA_DEVICE).requestSize(32 << 20).load(driver)) {
            Map<String, String> digests = TensorDigest.sha256(tensors);
            for (TensorInfo tensor : checkpoint.tensors().values()) {
                byte[] bytes = Arrays.copyOfRange(file, (int) tensor.fileOffset(), (int) tensor.fileEnd());
                String expected =
                        HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
                assertThat(digests).containsEntry(tensor.name(), expected);
            }
            check(tensors);
            assertThat(CheckpointVerifier.verify(tensors).verified()).isTrue();
            assertThat(tensors.report().bytes()).isEqualTo(checkpoint.bytes());
            assertThat(tensors.report().peakStagingBytes()).isPositive();
        }
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void tensorsAreLoadedIntoEverySupportedKind(MemoryKind kind) {
        assumeTrue(driver.allocator().supports(kind), "this machine has no " + kind);
        try (LoadedTensors tensors = mixed(SafetensorsWriter.Padding.ODD).plan().to(kind).load(driver)) {
            check(tensors);
        }
    }

    @Test
    void digestsOfGgufTensorsEqualThoseOfTheFile() throws Exception {
        GgufBytes gguf = new GgufBytes().key("general.architecture", "llama");
        for (int i = 0; i < 6; i++) {
            gguf.tensor("w" + i, 14, 210L * 8192, 2048, 1024).tensor("s" + i, 0, 4).tensor("n" + i, 24, 4001 + i,
                    4001 + i);
        }
        byte[] file = gguf.file();
        Checkpoint checkpoint = Checkpoint.open(HeaderText.write(folder.resolve("m.gguf"), file));
        try (LoadedTensors tensors = checkpoint.plan().to(MemoryKind.CUDA_DEVICE).load(driver)) {
            for (TensorInfo tensor : checkpoint.tensors().values()) {
                byte[] bytes = Arrays.copyOfRange(file, (int) tensor.fileOffset(), (int) tensor.fileEnd());
                assertThat(TensorDigest.sha256(tensors, tensor.name()))
                        .isEqualTo(HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes)));
            }
            assertThat(CheckpointVerifier.verify(tensors).verified()).isTrue();
        }
    }

    @Test
    void tensorsAreLoadedDirect() {
        try (LoadedTensors tensors = mixed(SafetensorsWriter.Padding.EIGHT)
                .plan()
                .direct(true)
                .to(MemoryKind.CUDA_DEVICE)
                .load(driver)) {
            check(tensors);
        }
    }

    @Test
    void tensorsAreLoadedToAnOddAddressOfTheCaller() {
        LoadPlan plan = mixed(SafetensorsWriter.Padding.ODD).plan().to(MemoryKind.CUDA_DEVICE);
        long bytes = plan.destinationBytes();
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, bytes + 1);
                LoadedTensors tensors =
                        plan.into(memory.range().slice(1, bytes)).load(driver)) {
            check(tensors);
        }
    }

    @Test
    void tensorsAreLoadedAfterArrayHeaders() {
        Checkpoint checkpoint = mixed(SafetensorsWriter.Padding.EIGHT);
        long payload = 16;
        long each = 160 << 20;
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, 2 * each)) {
            MemoryRange whole = memory.range();
            LoadPlan plan = checkpoint
                    .plan()
                    .include("^(big|w3)$")
                    .destinations(tensor -> whole.slice(tensor.name().equals("big") ? payload : each + payload,
                            each - payload));
            try (LoadedTensors tensors = plan.load(driver)) {
                assertThat(tensors.address("big")).isEqualTo(whole.address() + payload);
                assertThat(CheckpointVerifier.verify(tensors).verified()).isTrue();
            }
        }
    }

    @Test
    void takenTensorOutlivesItsDriver() {
        MemoryAllocation taken;
        try (CuFileDriver own = CuFileDriver.open(CuFileConfig.defaults(), "compat");
                LoadedTensors tensors =
                        mixed(SafetensorsWriter.Padding.EIGHT).plan().to(MemoryKind.CUDA_DEVICE).load(own)) {
            taken = tensors.take("q3");
        }
        byte[] bytes = new byte[Math.toIntExact(taken.range().length())];
        driver.allocator().copyToHost(taken.range(), MemorySegment.ofArray(bytes));
        assertThat(PATTERN.mismatch("q3", 0, MemorySegment.ofArray(bytes))).isEqualTo(-1);
        taken.close();
    }

    @Test
    void cancelledLoadFreesItsMemory() {
        LoadPlan plan = mixed(SafetensorsWriter.Padding.EIGHT).plan().to(MemoryKind.CUDA_DEVICE).requestSize(1 << 20);
        plan.load(driver).close();
        long before = driver.allocator().available(MemoryKind.CUDA_DEVICE, 0);
        Thread caller = Thread.currentThread();
        AtomicBoolean once = new AtomicBoolean();
        LoadListener listener = new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
                if (!once.getAndSet(true)) {
                    caller.interrupt();
                }
            }
        };
        try {
            assertThatThrownBy(() -> plan.load(driver, listener)).isInstanceOf(CuFileInterruptedException.class);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        // half of the load's memory as tolerance: another process may use the same GPU
        assertThat(driver.allocator().available(MemoryKind.CUDA_DEVICE, 0))
                .isGreaterThan(before - plan.destinationBytes() / 2);
        try (LoadedTensors tensors = plan.load(driver)) {
            check(tensors);
        }
    }
}
