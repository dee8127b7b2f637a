package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicBoolean;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Loads with the POSIX engine into host memory. */
@Tag("slow")
@Timeout(120)
class CompatLoadTest {
    private static final TensorPattern PATTERN = new TensorPattern(11);

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
            MemorySegment bytes = tensors.segment(name);
            assertThat(bytes.byteSize()).isEqualTo(tensor.info().length());
            assertThat(PATTERN.mismatch(name, 0, bytes)).as(name).isEqualTo(-1);
        }
    }

    private Checkpoint mixed(SafetensorsWriter.Padding padding) {
        Path file = folder.resolve("mixed.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(file).padding(padding).sorted(false);
        for (int i = 0; i < 6; i++) {
            writer.tensor("w" + i, DType.BF16, 1009 + i, 1517)
                    .tensor("s" + i, DType.F32, i)
                    .tensor("q" + i, DType.U8, 4095 + i);
        }
        writer.write(PATTERN);
        return Checkpoint.open(file);
    }

    @ParameterizedTest
    @EnumSource(SafetensorsWriter.Padding.class)
    void tensorsAreInPlaceAndVerified(SafetensorsWriter.Padding padding) {
        try (LoadedTensors tensors = mixed(padding).plan().requestSize(1 << 20).load(driver)) {
            check(tensors);
            assertThat(CheckpointVerifier.verify(tensors).verified()).isTrue();
            assertThat(tensors.report().ioPaths().values().stream().mapToLong(Long::longValue).sum())
                    .isGreaterThanOrEqualTo(tensors.report().bytes());
            assertThat(tensors.report().peakStagingBytes()).isPositive();
        }
    }

    @Test
    void theReportHasTheBytesOfItsLoadOnly() throws IOException {
        Checkpoint checkpoint = mixed(SafetensorsWriter.Padding.ODD);
        long bytes = checkpoint.plan().bytes();
        try (CuFileHandle other = driver.openFile(checkpoint.path());
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 1 << 20);
                LoadedTensors tensors = checkpoint.plan().requestSize(1 << 20).load(driver, progress -> {
                    other.readFully(memory, 0); // another request of the driver during the load
                })) {
            LoadReport report = tensors.report();
            assertThat(report.bytesAsked()).isGreaterThanOrEqualTo(bytes);
            assertThat(report.ioPaths().values().stream().mapToLong(Long::longValue).sum())
                    .isEqualTo(report.bytesAsked());
            assertThat(report.whyNotDirect()).hasValueSatisfying(
                    why -> assertThat(why).startsWith("the memory is the host's").endsWith(other.ioPath().reason()));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void tensorsAreLoadedDirectAndBuffered(boolean direct) {
        try (LoadedTensors tensors = mixed(SafetensorsWriter.Padding.ODD).plan().direct(direct).load(driver)) {
            check(tensors);
        }
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST", "HOST_HUGEPAGE"})
    void tensorsAreLoadedIntoEveryHostKind(MemoryKind kind) {
        try (LoadedTensors tensors = mixed(SafetensorsWriter.Padding.EIGHT).plan().to(kind).load(driver)) {
            check(tensors);
        }
    }

    @Test
    void tensorsAreLoadedIntoMemoryOfTheCaller() {
        LoadPlan plan = mixed(SafetensorsWriter.Padding.EIGHT).plan();
        try (var memory = driver.allocator().allocate(MemoryKind.HOST, plan.destinationBytes());
                LoadedTensors tensors = plan.into(memory.range()).load(driver)) {
            check(tensors);
            MemoryRange whole = memory.range();
            assertThat(tensors.tensors()).allSatisfy(tensor -> assertThat(tensor.address())
                    .isBetween(whole.address(), whole.address() + whole.length() - tensor.length()));
        }
    }

    @Test
    void modelOf18000TensorsIsLoaded() {
        Path file = folder.resolve("moe.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(file).padding(SafetensorsWriter.Padding.EIGHT);
        for (int i = 0; i < 18_000; i++) {
            writer.tensor(
                    "model.language_model.layers.%d.mlp.experts.%d.gate_proj.weight".formatted(i / 384, i % 384),
                    DType.BF16,
                    8 + i % 5,
                    33);
        }
        writer.write(PATTERN);
        Checkpoint checkpoint = Checkpoint.open(file);
        assertThat(checkpoint.files().getFirst().dataOffset()).isGreaterThan(1 << 20);
        try (LoadedTensors tensors = checkpoint.plan().load(driver)) {
            assertThat(tensors.names()).hasSize(18_000);
            check(tensors);
            assertThat(tensors.report().requests()).isLessThan(20);
        }
    }

    @Test
    void tensorBeyondFiveGigabytesIsLoaded() throws IOException {
        Path file = folder.resolve("sparse.safetensors");
        new SafetensorsWriter(file)
                .padding(SafetensorsWriter.Padding.ODD)
                .sorted(false)
                .tensor("huge", DType.F32, 5L << 28)
                .tensor("last", DType.U8, 100_000)
                .writeSparse();
        TensorInfo last = Checkpoint.open(file).tensors().get("last");
        assertThat(last.fileOffset()).isGreaterThan(5L << 30);
        byte[] bytes = new byte[100_000];
        PATTERN.fill("last", 0, MemorySegment.ofArray(bytes));
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(bytes), last.fileOffset());
        }
        Checkpoint checkpoint = Checkpoint.open(file);
        assertThat(checkpoint.tensors().get("huge").length()).isEqualTo(5L << 30);
        LoadPlan whole = checkpoint.plan();
        assertThat(whole.requests().stream().mapToLong(LoadRequest::length).sum())
                .isGreaterThanOrEqualTo((5L << 30) + 100_000);
        assertThat(whole.requests().size()).isLessThanOrEqualTo(82);
        try (LoadedTensors tensors = checkpoint.plan().include("last").load(driver)) {
            check(tensors);
        }
    }

    @Test
    void shardsOfAFolderAreLoaded() throws IOException {
        for (int i = 1; i <= 3; i++) {
            new SafetensorsWriter(folder.resolve("model-%05d-of-00003.safetensors".formatted(i)))
                    .padding(SafetensorsWriter.Padding.NONE)
                    .tensor("t" + i, DType.BF16, 1000 + i, 700)
                    .tensor("n" + i, DType.F32, 7)
                    .write(PATTERN);
        }
        StringBuilder map = new StringBuilder();
        for (int i = 1; i <= 3; i++) {
            map.append(map.isEmpty() ? "" : ",")
                    .append("\"t%d\":\"model-%05d-of-00003.safetensors\"".formatted(i, i))
                    .append(",\"n%d\":\"model-%05d-of-00003.safetensors\"".formatted(i, i));
        }
        Files.writeString(
                folder.resolve("model.safetensors.index.json"),
                "{\"weight_map\":{" + map + "}}",
                StandardCharsets.UTF_8);
        try (LoadedTensors tensors = Checkpoint.open(folder).plan().load(driver)) {
            assertThat(tensors.names()).hasSize(6);
            check(tensors);
        }
    }

    @Test
    void takenTensorOutlivesItsDriver() {
        MemoryAllocation taken;
        try (CuFileDriver own = CuFileDriver.open(CuFileConfig.defaults(), "compat");
                LoadedTensors tensors = mixed(SafetensorsWriter.Padding.EIGHT).plan().load(own)) {
            taken = tensors.take("q3");
        }
        MemorySegment bytes = taken.range().segment().orElseThrow();
        assertThat(PATTERN.mismatch("q3", 0, bytes)).isEqualTo(-1);
        taken.close();
        assertThatThrownBy(() -> bytes.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void shrinkingFileIsReportedWithItsNewEnd() {
        Checkpoint checkpoint = mixed(SafetensorsWriter.Padding.ODD);
        long shorter = checkpoint.files().getFirst().size() / 2 + 1;
        AtomicBoolean cut = new AtomicBoolean();
        LoadListener listener = new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
                if (!cut.getAndSet(true)) {
                    try (FileChannel channel = FileChannel.open(now.file(), StandardOpenOption.WRITE)) {
                        channel.truncate(shorter);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }
            }
        };
        LoadPlan plan = checkpoint.plan().requestSize(1 << 20).requestsInFlight(1);
        CheckpointException e =
                catchThrowableOfType(CheckpointException.class, () -> plan.load(driver, listener));
        assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED);
        assertThat(e.path()).contains(checkpoint.path());
        assertThat(e.fileOffset()).hasValue(shorter);
    }

    @Test
    void registeredTensorsAreFreedAfterDeregistration() {
        LoadedTensors tensors = mixed(SafetensorsWriter.Padding.EIGHT).plan().load(driver);
        MemorySegment bytes = tensors.segment("q3");
        CuFileBuffer registered = driver.registerBuffer(tensors.range("q3"));
        assertThatThrownBy(tensors::close).isInstanceOf(CuFileException.class);
        assertThat(PATTERN.mismatch("q3", 0, bytes)).isEqualTo(-1);
        registered.close();
        tensors.close();
        assertThat(bytes.scope().isAlive()).isFalse();
    }

    @Test
    void flightRecorderRecordsEachRequest() throws IOException {
        LoadPlan plan = mixed(SafetensorsWriter.Padding.EIGHT).plan().requestSize(1 << 20);
        Path dump = folder.resolve("load.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("gds4j.Read").withoutThreshold();
            recording.start();
            try (LoadedTensors tensors = plan.load(driver)) {
                check(tensors);
            }
            recording.stop();
            recording.dump(dump);
        }
        assertThat(RecordingFile.readAllEvents(dump))
                .filteredOn(event -> event.getEventType().getName().equals("gds4j.Read"))
                .extracting(event -> event.getLong("offset"))
                .containsExactlyInAnyOrderElementsOf(
                        plan.requests().stream().map(LoadRequest::fileOffset).toList());
    }

    @Test
    void cancelledLoadLeavesTheDriverUsable() {
        LoadPlan plan = mixed(SafetensorsWriter.Padding.EIGHT).plan().requestSize(1 << 20);
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
        try (LoadedTensors tensors = plan.load(driver)) {
            check(tensors);
        }
    }
}
