package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.DirectStorage;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.ChecksumVerifier;
import io.gds4j.loader.save.Consistency;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.FakeGpu;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tensors in mapped files: the same tensors as loaded ones, without a driver. */
@Timeout(60)
class MappedTensorsTest {
    private static final TensorPattern PATTERN = new TensorPattern(76);

    @TempDir(factory = MemoryFolder.class)
    Path folder;

    private Path file;

    @BeforeEach
    void write() {
        file = folder.resolve("model.safetensors");
        write(file);
    }

    /** Writes a checkpoint an hour ago, so that any write now changes its time. */
    private static void write(Path file) {
        new SafetensorsWriter(file)
                .tensor("model.a", DType.F32, 40, 600)
                .tensor("model.b", DType.BF16, 7)
                .tensor("model.none", DType.F32, 4, 0)
                .write(PATTERN);
        try {
            Files.setLastModifiedTime(file, FileTime.fromMillis(System.currentTimeMillis() - 3_600_000));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private LoadPlan plan() {
        return Checkpoint.open(file).plan();
    }

    private static CuFileException refused(CuFileError error, ThrowingCallable call) {
        CuFileException refused = catchThrowableOfType(CuFileException.class, call);
        assertThat(refused).isNotNull();
        assertThat(refused.error()).as(refused.getMessage()).isEqualTo(error);
        assertThat(refused.getMessage()).doesNotContain("\n");
        return refused;
    }

    private static void changed(ThrowingCallable call) {
        CheckpointException e = catchThrowableOfType(CheckpointException.class, call);
        assertThat(e).isNotNull();
        assertThat(e.rule()).as(e.getMessage()).isEqualTo(CheckpointRule.FILE_CHANGED);
    }

    @Test
    void mappedTensorsAreThoseOfTheFile() {
        try (LoadedTensors mapped = plan().map();
                CuFileDriver driver = CuFileDriver.open(new FileChannelBackend());
                LoadedTensors loaded = plan().load(driver)) {
            assertThat(mapped.names()).isEqualTo(loaded.names());
            for (LoadedTensor tensor : mapped) {
                LoadedTensor same = loaded.get(tensor.name());
                assertThat(tensor.info()).isEqualTo(same.info());
                assertThat(tensor.segment().mismatch(same.segment())).isEqualTo(-1);
                assertThat(tensor.toFloatArray()).containsExactly(same.toFloatArray());
                assertThat(tensor.toHost()).isSameAs(tensor);
                MemorySegment copy = MemorySegment.ofArray(new byte[(int) tensor.length() + 1]);
                mapped.copyToHost(tensor.name(), copy);
                assertThat(copy.asSlice(0, tensor.length()).mismatch(same.segment())).isEqualTo(-1);
            }
            assertThat(TensorDigest.sha256(mapped)).isEqualTo(TensorDigest.sha256(loaded));
            assertThat(CheckpointVerifier.verify(mapped).verified()).isTrue();
        }
    }

    @Test
    void mappedTensorsAreReadOnly() {
        try (LoadedTensors mapped = plan().map()) {
            LoadedTensor tensor = mapped.get("model.a");
            assertThat(tensor.range().isWritable()).isFalse();
            assertThat(tensor.asFloatBuffer().isReadOnly()).isTrue();
            assertThatThrownBy(() -> tensor.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 1))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void filtersAndNewNamesApply() {
        UnaryOperator<String> shorter = name -> name.replace("model.", "");
        try (LoadedTensors mapped = plan().include("[ab]$").rename(shorter).map()) {
            assertThat(mapped.names()).containsExactly("a", "b");
            assertThat(PATTERN.mismatch("model.b", 0, mapped.segment("b"))).isEqualTo(-1);
        }
        refused(CuFileError.INVALID_VALUE, () -> plan().select(tensor -> false).map());
        try (LoadedTensors mapped = plan().include("none").map()) {
            assertThat(mapped.get("model.none").toFloatArray()).isEmpty();
        }
    }

    @Test
    void reportTellsThatNothingWasRead() {
        try (LoadedTensors mapped = plan().map()) {
            LoadReport report = mapped.report();
            assertThat(report.files()).isOne();
            assertThat(report.tensors()).isEqualTo(3);
            assertThat(report.bytes()).isEqualTo(40 * 600 * 4 + 14);
            assertThat(report.requests()).isZero();
            assertThat(report.bytesAsked()).isZero();
            assertThat(report.ioPaths()).isEmpty();
            assertThat(report.peakStagingBytes()).isZero();
            assertThat(report.seconds()).isGreaterThan(report.headerSeconds()).isGreaterThan(report.memorySeconds());
        }
    }

    static Stream<UnaryOperator<LoadPlan>> whatOnlyLoadsCanDo() {
        MemoryRange memory = MemoryRange.ofSegment(Arena.ofAuto().allocate(1 << 20));
        return Stream.of(
                plan -> plan.to(MemoryKind.HOST_PINNED), plan -> plan.toGpu(0), plan -> plan.into(memory),
                plan -> plan.destinations(tensor -> memory), plan -> plan.alignment(4096), plan -> plan.direct(true),
                plan -> plan.directStorage(DirectStorage.REQUIRE));
    }

    @ParameterizedTest
    @MethodSource("whatOnlyLoadsCanDo")
    void whatOnlyLoadsCanDoIsRefusedByName(UnaryOperator<LoadPlan> option) {
        assertThat(refused(CuFileError.INVALID_VALUE, () -> option.apply(plan()).map()).getMessage())
                .containsPattern("; .+ is for load");
    }

    @Test
    void mappedTensorsCannotBeTaken() {
        try (LoadedTensors mapped = plan().map()) {
            assertThat(refused(CuFileError.INVALID_VALUE, () -> mapped.take("model.a")).getMessage())
                    .contains("load gives memory to take");
            assertThat(mapped.find("model.a")).isPresent();
        }
    }

    @Test
    void accessAfterCloseThrowsAndTheFileIsUnmapped() throws IOException {
        LoadedTensors one = plan().map();
        LoadedTensors other = plan().map();
        MemorySegment segment = one.segment("model.a");
        assertThat(mappings()).hasSize(2);
        one.close();
        one.close();
        assertThatThrownBy(() -> segment.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
        refused(CuFileError.CUDA_POINTER_INVALID, () -> one.get("model.a"));
        assertThat(PATTERN.mismatch("model.a", 0, other.segment("model.a"))).isEqualTo(-1);
        assertThat(mappings()).hasSize(1);
        other.close();
        assertThat(mappings()).isEmpty();
    }

    private List<String> mappings() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/maps")).stream()
                .filter(line -> line.contains(folder.toString())).toList();
    }

    @Test
    void closingWhileOthersReadEndsTheirReadsAndNothingElse() throws InterruptedException {
        for (int round = 0; round < 50; round++) {
            LoadedTensors mapped = plan().map();
            LoadedTensor tensor = mapped.get("model.a");
            Thread reader = Thread.ofPlatform().start(() -> assertThatThrownBy(() -> {
                while (true) {
                    tensor.toFloatArray();
                }
            }).isInstanceOf(IllegalStateException.class));
            mapped.close();
            reader.join();
        }
    }

    @Test
    void fileThatChangedBeforeItsMapIsRefused() throws IOException {
        LoadPlan replaced = plan();
        write(folder.resolve("new"));
        Files.move(folder.resolve("new"), file, StandardCopyOption.REPLACE_EXISTING);
        changed(replaced::map);
        LoadPlan cut = plan();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.truncate(Files.size(file) - 1);
        }
        changed(cut::map);
        write(file);
        LoadPlan gone = plan();
        Files.delete(file);
        changed(gone::map);
        assertThat(mappings()).isEmpty();
    }

    @Test
    void fileThatIsReplacedUnderItsMapStays() throws IOException {
        try (LoadedTensors mapped = plan().map()) {
            Files.delete(file);
            write(file);
            assertThat(PATTERN.mismatch("model.a", 0, mapped.segment("model.a"))).isEqualTo(-1);
        }
    }

    @Test
    void byteThatIsCutUnderItsMapIsAnErrorOfJava() throws IOException {
        try (LoadedTensors mapped = plan().map()) {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(4096);
            }
            MemorySegment segment = mapped.segment("model.a");
            assertThatThrownBy(() -> segment.get(ValueLayout.JAVA_BYTE, segment.byteSize() - 1))
                    .isInstanceOf(InternalError.class);
        }
    }

    @Test
    void verificationOfACutFileTellsWhereItEnds() throws IOException {
        try (LoadedTensors mapped = plan().map()) {
            long end = mapped.tensors().getFirst().info().fileOffset() + 10;
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(end);
            }
            assertThat(CheckpointVerifier.verify(mapped).mismatches()).isNotEmpty()
                    .allMatch(mismatch -> mismatch.expected() < 0 && mismatch.toString().contains("the file ends"));
        }
    }

    /** Native code that computes checksums would end the process there. */
    @Test
    void saveOfACutFileNamesItAndWhereItEnds() throws IOException {
        float[] values = new float[100_000]; // long enough to be written from where it lies
        Path to = folder.resolve("to.safetensors");
        for (SaveOptions options : List.of(SaveOptions.DEFAULTS, SaveOptions.DEFAULTS.withChecksums(true),
                SaveOptions.DEFAULTS.withConsistency(Consistency.HOST_SNAPSHOT))) {
            for (boolean isPlain : new boolean[]{false, true}) {
                SavePlan.builder().tensor("a", values, values.length).toFile(file).save();
                try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");
                        LoadedTensors mapped = plan().map()) {
                    SavePlan save = SavePlan.builder().options(options).tensors(mapped).toFile(to);
                    long end = mapped.tensors().getFirst().info().fileOffset() + 10;
                    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                        channel.truncate(end);
                    }
                    CheckpointException cut = catchThrowableOfType(CheckpointException.class,
                            isPlain ? save::save : () -> save.save(driver));
                    assertThat(cut).isNotNull();
                    assertThat(cut.rule()).isEqualTo(CheckpointRule.FILE_CHANGED);
                    assertThat(cut.path()).contains(file);
                    assertThat(cut.fileOffset()).hasValue(end);
                    assertThat(cut.tensor()).contains("a");
                }
                try (Stream<Path> left = Files.list(folder)) {
                    assertThat(left).containsExactly(file);
                }
            }
        }
    }

    /** As for a file that was cut and deleted: nothing tells its name. */
    @Test
    void saveOfACutMapWithoutANameFailsAsItsBytesDo() throws IOException {
        float[] values = new float[100_000];
        SavePlan.builder().tensor("a", values, values.length).toFile(file).save();
        try (LoadedTensors mapped = plan().map()) {
            SavePlan save = SavePlan.builder().tensor("a", DType.F32, mapped.segment("a"), values.length)
                    .toFile(folder.resolve("to.safetensors"));
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(5000);
            }
            CuFileException cut = catchThrowableOfType(CuFileException.class, save::save);
            assertThat(cut).isNotNull();
            assertThat(cut.error()).isEqualTo(CuFileError.IO_ERROR);
            assertThat(cut.errno()).hasValue(Errno.EFAULT);
            assertThat(cut).hasCauseInstanceOf(InternalError.class);
        }
    }

    @Test
    void savedMapIsEqualToItsFile() {
        float[] values = new float[100_000];
        for (int i = 0; i < values.length; i++) {
            values[i] = i;
        }
        SavePlan.builder().tensor("a", values, values.length).tensor("b", new float[]{7}, 1).toFile(file).save();
        Path copy = folder.resolve("copy.safetensors");
        for (int device : new int[]{MemoryRange.NO_DEVICE, 0}) {
            try (CuFileDriver driver = FakeGpu.create().openDriver(); LoadedTensors mapped = plan().map()) {
                SavePlan.builder().options(SaveOptions.DEFAULTS.withStagingDevice(device).withChecksums(true))
                        .tensors(mapped).toFile(copy).save(driver);
            }
            try (LoadedTensors saved = Checkpoint.map(copy)) {
                assertThat(saved.get("a").toFloatArray()).containsExactly(values);
                assertThat(saved.get("b").toFloatArray()).containsExactly(7);
            }
            assertThat(ChecksumVerifier.verify(copy).verified()).isTrue();
        }
    }

    @Test
    void shardsThatASaveReplacedAreMappedAnew() throws IOException {
        Path model = folder.resolve("sharded");
        save(model, 1);
        LoadPlan plan = Checkpoint.open(model).plan();
        save(model, 2);
        try (LoadedTensors mapped = plan.map()) {
            assertThat(mapped.get("a").asFloatBuffer().get(0)).isEqualTo(2);
            assertThat(mapped.get("b").asFloatBuffer().get(0)).isEqualTo(2);
        }
    }

    private static void save(Path model, float value) {
        float[] values = new float[1000];
        Arrays.fill(values, value);
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            SavePlan.builder().options(SaveOptions.DEFAULTS.withMaxShardBytes(4500))
                    .tensor("a", values, 1000).tensor("b", values, 1000).toFolder(model).save(driver);
        }
    }

    /** Tensors of a library begin where its file has them, often at no multiple of their elements. */
    @Test
    void tensorsAtOddPlacesAreRead() {
        String header = """
                {"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},\
                "y":{"dtype":"F32","shape":[2],"data_offsets":[1,9]},\
                "z":{"dtype":"I64","shape":[1],"data_offsets":[9,17]}}""";
        Path odd = HeaderText.write(folder.resolve("odd.safetensors"), HeaderText.file(header, 17));
        try (LoadedTensors mapped = Checkpoint.open(odd).plan().map()) {
            assertThat(mapped.get("y").toFloatArray()).containsExactly(0, 0);
            assertThat(mapped.get("y").asFloatBuffer().get(1)).isZero();
            assertThat(mapped.get("z").asLongBuffer().get(0)).isZero();
        }
    }

    @Test
    void checkpointWithoutTensorsIsMapped() {
        Path none = HeaderText.write(folder.resolve("none.safetensors"), HeaderText.file("{}", 0));
        try (LoadedTensors mapped = Checkpoint.open(none).plan().map()) {
            assertThat(mapped.size()).isZero();
        }
    }

    @Test
    void longTensorHasASegmentAndNoBuffer() throws IOException {
        long bytes = 3L << 30;
        String header = """
                {"long":{"dtype":"U8","shape":[%s],"data_offsets":[0,%s]}}""".formatted(bytes, bytes);
        byte[] head = HeaderText.file(header, 0);
        Path sparse = HeaderText.write(folder.resolve("long.safetensors"), head);
        try (FileChannel channel = FileChannel.open(sparse, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[]{7}), head.length + bytes - 1);
        }
        try (LoadedTensors mapped = Checkpoint.open(sparse).plan().map()) {
            assertThat(mapped.segment("long").get(ValueLayout.JAVA_BYTE, bytes - 1)).isEqualTo((byte) 7);
            assertThat(refused(CuFileError.INVALID_VALUE, mapped.get("long")::asByteBuffer).getMessage())
                    .contains("more than a buffer may have");
        }
    }

    @Test
    void interruptedThreadMapsNothing() throws IOException {
        LoadPlan plan = plan();
        Thread.currentThread().interrupt();
        assertThatThrownBy(plan::map).isInstanceOf(CuFileInterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
        assertThat(mappings()).isEmpty();
    }

    /** Maps a file, replaces it and maps it again; prints what it finds. */
    static final class WithoutNativeAccess {
        private WithoutNativeAccess() {
        }

        public static void main(String[] arguments) throws IOException {
            Path file = Path.of(arguments[0]);
            Checkpoint checkpoint = Checkpoint.open(file);
            try (LoadedTensors mapped = checkpoint.plan().map()) {
                System.out.println(PATTERN.mismatch("model.a", 0, mapped.segment("model.a")));
                System.out.println(mapped.get("model.a").toFloatArray().length);
            }
            Path other = file.resolveSibling("other");
            Files.copy(file, other);
            Files.move(other, file, StandardCopyOption.REPLACE_EXISTING);
            try {
                checkpoint.plan().map().close();
            } catch (CheckpointException e) {
                System.out.println(e.rule().variant());
            }
        }
    }

    @Tag("slow")
    @Test
    void noNativeAccessIsNeeded() throws Exception {
        Process child = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
                "--illegal-native-access=deny", "-cp", System.getProperty("java.class.path"),
                WithoutNativeAccess.class.getName(), file.toString())
                .redirectErrorStream(true).start();
        String output = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(child.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(output.lines()).containsExactly("-1", "24000", "FileChanged");
    }
}
