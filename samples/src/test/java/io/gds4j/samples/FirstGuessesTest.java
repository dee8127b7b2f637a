package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DirectStorage;
import io.gds4j.dataset.LoaderReport;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.RecordOrder;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.interop.metrics.GdsMetrics;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.CheckpointVerifier;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.ParallelTensors;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.VerificationReport;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.save.ChecksumReport;
import io.gds4j.loader.save.ChecksumVerifier;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.loader.save.SaveReport;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.FakeGpus;
import io.gds4j.testkit.FakeStream;
import io.gds4j.testkit.FaultInjectingBackend;
import io.gds4j.testkit.GdsExtension;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What a new user types first, without having read more than the name of a class: it compiles, and does what it says. */
@ExtendWith({QuietOutput.class, GdsExtension.class})
@FakeGpus(2)
class FirstGuessesTest {
    @TempDir
    private Path folder;

    private Path model = Path.of("");
    private Path data = Path.of("");

    @BeforeEach
    void writeFiles() throws IOException {
        model = folder.resolve("model.safetensors");
        SavePlan.builder()
                .generated("model.embed_tokens.weight", DType.BF16, new TensorPattern(0), 32, 8)
                .generated("model.layers.0.mlp.up_proj.weight", DType.BF16, new TensorPattern(0), 16, 8)
                .generated("model.norm.weight", DType.F32, new TensorPattern(0), 8)
                .toFile(model).save();
        data = Files.write(folder.resolve("data.bin"), new byte[4096]);
    }

    /** The program of docs/engines.md. */
    @Test
    void mapsDecodesAndConvertsWithoutADriver() {
        Path copy = folder.resolve("copy");
        Path path = folder.resolve("embeddings.safetensors");
        SavePlan.builder().tensor("embed", new float[32], 8, 4).toFile(path).save();

        Checkpoint checkpoint = Checkpoint.open(path); // names, types, shapes, metadata
        try (LoadedTensors tensors = checkpoint.plan().map()) {
            float[] row = tensors.get("embed").row(7).toFloatArray();
            use(row);
        }
        SavePlan.builder().checkpoint(checkpoint).toFolder(copy).save();

        try (LoadedTensors mapped = Checkpoint.map(copy)) {
            assertThat(mapped.get("embed").shape()).containsExactly(8L, 4L);
        }
    }

    private static void use(float... row) {
        assertThat(row).hasSize(4);
    }

    @Test
    void checkpointLoads(CuFileDriver driver) {
        try (LoadedTensors tensors = Checkpoint.load(model, driver)) {
            for (LoadedTensor tensor : tensors) {
                System.out.println(tensor.name() + " " + tensor.dtype() + " " + tensor.shape());
            }
            assertThat(tensors.stream().mapToLong(LoadedTensor::elements).sum()).isEqualTo(32 * 8 + 16 * 8 + 8);
        }
    }

    @Test
    void checkpointLoadsWithoutADriver() {
        MemoryAllocation taken;
        try (LoadedTensors tensors = Checkpoint.load(model)) {
            assertThat(tensors.names()).hasSize(3);
            taken = tensors.take("model.norm.weight");
        }
        taken.close();
    }

    @Test
    void planAndOpenCheckpointLoadWithoutADriver() {
        Checkpoint checkpoint = Checkpoint.open(model);
        try (LoadedTensors all = checkpoint.load();
                LoadedTensors one = checkpoint.filter(n -> n.endsWith("norm.weight"))
                        .rename(n -> n.replace("model.", "")).load()) {
            assertThat(all).hasSize(3);
            assertThat(one.get("norm.weight").range().kind()).isEqualTo(MemoryKind.HOST);
            assertThat(one.get("norm.weight").toByteArray())
                    .isEqualTo(all.get("model.norm.weight").toByteArray());
        }
        try (LoadedTensors narrowed = checkpoint.filter(n -> n.startsWith("model."))
                .filter(n -> n.contains("layers")).load()) {
            assertThat(narrowed.names()).containsExactly("model.layers.0.mlp.up_proj.weight");
        }
        assertThatThrownBy(() -> checkpoint.filter(n -> false).load()).isInstanceOf(CuFileException.class);
    }

    @Test
    void checkpointOfAUriLoads(CuFileDriver driver) {
        try (LoadedTensors tensors = Checkpoint.load(model.toUri(), driver);
                LoadedTensors others = Checkpoint.load(model.toUri())) {
            assertThat(tensors.names()).isEqualTo(others.names());
        }
    }

    @Test
    void checkpointLoadsWithProgressAndInTheBackground(CuFileDriver driver) {
        try (LoadedTensors tensors = Checkpoint.load(model, driver, p -> System.out.println(p.bytesDone()));
                LoadedTensors later = Checkpoint.loadAsync(model, driver).join();
                LoadedTensors last = Checkpoint.loadAsync(model.toUri(), driver).join();
                LoadedTensors alone = Checkpoint.loadAsync(model).join();
                LoadedTensors filtered = Checkpoint.open(model).filter(n -> n.startsWith("model.")).load(driver);
                LoadedTensors opened = Checkpoint.open(model).load(driver)) {
            assertThat(List.of(
                    tensors.size(), later.size(), last.size(), alone.size(), filtered.size(), opened.size()))
                    .containsOnly(3);
        }
    }

    @Test
    void valuesAreViewedAndDecoded(CuFileDriver driver) {
        try (LoadedTensors tensors = Checkpoint.load(model, driver)) {
            FloatBuffer view = tensors.get("model.norm.weight").toHost().asFloatBuffer();
            float[] array = tensors.get("model.norm.weight").toFloatArray();
            assertThat(view.remaining()).isEqualTo(array.length);
        }
    }

    @Test
    void planGoesToAGpu(CuFileDriver driver) {
        try (LoadedTensors tensors = Checkpoint.open(model).plan().toGpu(0).load(driver)) {
            assertThat(tensors).hasSize(3);
        }
    }

    @Test
    void planIsDividedAmongGpus(CuFileDriver driver) {
        try (ParallelTensors tensors = Checkpoint.open(model).plan().tensorParallel(2).load(driver)) {
            assertThat(tensors.rank(1).get("model.norm.weight").shape()).containsExactly(8L);
        }
    }

    @Test
    void checkpointOpensByUri() {
        assertThat(Checkpoint.open(model.toUri()).tensors()).hasSize(3);
    }

    @Test
    void progressIsALambda(CuFileDriver driver) {
        Checkpoint.open(model).plan()
                .load(driver,
                        p -> System.out.println(p.bytesDone() + " of " + p.bytesTotal() + ", " + p.bytesPerSecond()))
                .close();
    }

    @Test
    void loadIsAsynchronousAndCancelled(CuFileDriver driver) {
        CompletableFuture<LoadedTensors> load = Checkpoint.open(model).plan().loadAsync(driver);
        if (!load.cancel(true)) {
            load.join().close();
        }
        assertThat(load).isDone();
    }

    @Test
    void arraysAreSaved() {
        Checkpoint.save(folder.resolve("mine.safetensors"), Map.of("weights", new float[]{1, 2, 3}));
        assertThat(Checkpoint.open(folder.resolve("mine.safetensors")).tensors()).containsKey("weights");
    }

    @Test
    void loadedTensorsAreSavedWithoutADriver() {
        Path copy = folder.resolve("copy.safetensors");
        try (LoadedTensors tensors = Checkpoint.open(model).plan().load()) {
            Checkpoint.save(copy,
                    plan -> plan.tensors(tensors).tensor("mine", new float[6], 2, 3).metadata("step", "1"));
        }
        assertThat(Checkpoint.open(copy).metadata()).containsEntry("step", "1");
        assertThat(Checkpoint.open(copy).tensors()).hasSize(4).containsKeys("model.norm.weight", "mine");
    }

    @Test
    void segmentsAndBytesAreSaved(CuFileDriver driver) {
        SavePlan.builder()
                .tensor("segment", DType.U8, Arena.ofAuto().allocate(12), 3, 4)
                .tensor("bytes", DType.U8, new byte[12], 12)
                .tensor("floats", new float[6], 2, 3)
                .toFile(folder.resolve("saved.safetensors"))
                .save(driver);
        assertThat(Checkpoint.open(folder.resolve("saved.safetensors")).tensors()).hasSize(3);
    }

    @Test
    void checkpointIsListedInATry() {
        try (Checkpoint checkpoint = Checkpoint.open(model)) {
            long bytes = 0;
            for (TensorInfo info : checkpoint) {
                bytes += info.length();
            }
            assertThat(bytes).isEqualTo(checkpoint.bytes());
            assertThat(checkpoint.names()).hasSize(checkpoint.size()).contains("model.norm.weight");
            assertThat(checkpoint.iterator()).toIterable().hasSize(3);
        }
    }

    @Test
    void reportsHaveDurations(CuFileDriver driver) {
        try (LoadedTensors tensors = Checkpoint.load(model, driver);
                RecordLoader loader = RecordLoader.builder(driver, RecordFiles.fixed(data, 64), 10).open()) {
            assertIs(tensors.report().duration(), tensors.report().seconds());
            VerificationReport verified = CheckpointVerifier.verify(tensors);
            assertIs(verified.duration(), verified.seconds());
            LoaderReport records = loader.report();
            assertIs(records.duration(), records.seconds());
        }
        Path file = folder.resolve("new.safetensors");
        SaveReport saved = Checkpoint.save(file, plan -> plan.tensor("one", new float[1], 1));
        assertIs(saved.duration(), saved.seconds());
        ChecksumReport checked = ChecksumVerifier.verify(file);
        assertIs(checked.duration(), checked.seconds());
    }

    private static void assertIs(Duration duration, double seconds) {
        assertThat(duration.toNanos() / 1e9).isCloseTo(seconds, within(1e-8));
    }

    @Test
    void takenMemoryCopiesItself(CuFileDriver driver) {
        byte[] bytes;
        MemoryAllocation taken;
        try (LoadedTensors tensors = Checkpoint.load(model, driver)) {
            bytes = tensors.get("model.norm.weight").toByteArray();
            taken = tensors.take("model.norm.weight");
        }
        try (taken) {
            assertThat(taken.kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
            assertThat(taken.toByteArray()).isEqualTo(bytes);
        }
    }

    @Test
    void recordsAreShuffledByASeed(CuFileDriver driver) {
        List<List<Long>> orders = new ArrayList<>();
        for (UnaryOperator<RecordLoader.Builder> order : List.<UnaryOperator<RecordLoader.Builder>>of(
                builder -> builder.shuffle(42), builder -> builder.order(RecordOrder.shuffled(42)),
                builder -> builder)) {
            List<Long> records = new ArrayList<>();
            try (RecordLoader loader = order.apply(
                    RecordLoader.builder(driver, RecordFiles.fixed(data, 64), 64)).open()) {
                loader.forEach(
                        batch -> IntStream.range(0, batch.count()).mapToObj(batch::record).forEach(records::add));
            }
            orders.add(records);
        }
        assertThat(orders.get(0)).isEqualTo(orders.get(1)).isNotEqualTo(orders.get(2)).hasSize(64);
    }

    @Test
    void recordsAreLooped(CuFileDriver driver) {
        int records = 0;
        try (RecordLoader loader = RecordLoader.builder(driver, RecordFiles.fixed(data, 64), 10).open()) {
            for (RecordBatch batch : loader) {
                records += batch.count();
            }
        }
        assertThat(records).isEqualTo(64);
    }

    @Test
    void recordsAreStreamed(CuFileDriver driver) {
        try (RecordLoader loader = RecordLoader.builder(driver, RecordFiles.fixed(data, 64), 10).open();
                Stream<RecordBatch> batches = loader.batches()) {
            assertThat(batches.mapToInt(RecordBatch::count).sum()).isEqualTo(64);
        }
    }

    @Test
    void bytesBuffersAndSegmentsAreReadAndWritten(CuFileDriver driver) {
        try (CuFileHandle file = driver.openFile(data, READ, WRITE)) {
            byte[] bytes = new byte[100];
            assertThat(file.read(bytes, 0)).isEqualTo(100);
            assertThat(file.read(ByteBuffer.allocateDirect(100), 0)).isEqualTo(100);
            assertThat(file.read(MemorySegment.ofArray(bytes), 4090)).isEqualTo(6);
            assertThat(file.write(bytes, 4096)).isEqualTo(100);
            assertThat(file.writeAsync(ByteBuffer.wrap(bytes), 0).join()).isEqualTo(100);
            file.force();
        }
    }

    @Test
    void memoryIsAllocatedAndRead(CuFileDriver driver) {
        try (CuFileHandle file = driver.openFile(data);
                MemoryAllocation memory = driver.allocator().allocate(4096)) {
            assertThat(file.read(memory)).isEqualTo(4096);
            assertThat(file.readAsync(memory, 0).join()).isEqualTo(4096);
        }
    }

    @Test
    void memoryOfAGpuIsAllocatedReadAndRegistered(CuFileDriver driver) {
        try (CuFileHandle file = driver.openFile(data, READ, WRITE);
                MemoryAllocation memory = driver.allocateGpu(1, 4096);
                CuFileBuffer registered = driver.registerBuffer(memory)) {
            assertThat(memory.device()).isEqualTo(1);
            assertThat(file.write(memory)).isEqualTo(4096);
            assertThat(file.read(registered)).isEqualTo(4096);
            assertThat(driver.bytesRead() + driver.bytesWritten()).isEqualTo(8192);
        }
    }

    @Test
    void memoryOfTheHostFileAndSegmentAreOneCall(CuFileDriver driver) {
        Path made = folder.resolve("made.bin");
        MemorySegment segment = Arena.ofAuto().allocate(4096, 4096).fill((byte) 9);
        try (CuFileHandle file = driver.createFile(made);
                MemoryAllocation memory = driver.allocateHost(4096);
                CuFileBuffer buffer = driver.register(segment)) {
            assertThat(memory.kind()).isEqualTo(MemoryKind.HOST);
            assertThat(memory.size()).isEqualTo(memory.length()).isEqualTo(buffer.size());
            assertThat(buffer.address()).isEqualTo(segment.address());
            assertThat(file.write(buffer, 0)).isEqualTo(4096);
            assertThat(file.read(memory, 0)).isEqualTo(4096);
            assertThat(memory.toByteArray()).containsOnly(9);
        }
        try (CuFileHandle again = driver.openFile(made.toUri())) {
            assertThat(again.size()).isEqualTo(4096);
        }
        try (CuFileHandle emptied = driver.createFile(made)) {
            assertThat(emptied.size()).isZero();
        }
    }

    @Test
    void memoryIsFilledCopiedAndRegistered(CuFileDriver driver) {
        try (CuFileHandle file = driver.openFile(data, READ, WRITE);
                MemoryAllocation memory = driver.allocate(4096);
                CuFileBuffer buffer = driver.register(memory)) {
            memory.fill(42);
            assertThat(file.write(buffer, 0)).isEqualTo(4096);
            memory.fill(0);
            assertThat(file.read(buffer, 0)).isEqualTo(4096);
            assertThat(memory.toByteArray()).containsOnly(42);
        }
    }

    @Test
    void driverIsAsked() {
        CuFileConfig config = CuFileConfig.builder().directStorage(DirectStorage.OFF).build();
        try (CuFileDriver driver = CuFileDriver.open(config);
                CuFileHandle file = driver.openFile(data, READ, WRITE)) {
            file.read(new byte[100], 0);
            file.write(new byte[10], 0);
            assertThat(driver.config()).isSameAs(config);
            assertThat(driver.isDirectStorageAvailable()).isFalse();
            assertThat(driver.stats().bytesRead()).isEqualTo(100).isEqualTo(driver.bytesRead());
            assertThat(driver.statistics().bytesWritten()).isEqualTo(10).isEqualTo(driver.bytesWritten());
        }
    }

    @Test
    void batchIsSubmittedAndAwaited(CuFileDriver driver) {
        byte[] bytes = new byte[10];
        try (CuFileHandle file = driver.openFile(data, READ, WRITE);
                MemoryAllocation memory = driver.allocate(4096);
                CuFileBatch batch = driver.batch()) {
            file.write(new byte[]{1, 2, 3}, 0);
            batch.addRead(file, bytes, 0);
            for (int i = 0; i < 4; i++) {
                batch.addRead(file, memory.slice(512L * i, 512), 512L * i);
            }
            batch.submit();
            assertThat(batch.await()).hasSize(5);
        }
        assertThat(bytes).startsWith(1, 2, 3, 0);
    }

    @Test
    void batchReadsIntoOneMemory(CuFileDriver driver) {
        try (CuFileHandle file = driver.openFile(data);
                MemoryAllocation memory = driver.allocator().allocate(4096);
                CuFileBatch batch = driver.batch(8)) {
            for (int i = 0; i < 8; i++) {
                batch.addRead(file, memory, 512, 512L * i, 512L * i);
            }
            assertThat(batch.awaitAll()).allMatch(completion -> completion.bytes() == 512);
        }
    }

    @Test
    void requestsAreAddedAndAwaited(CuFileDriver driver) {
        byte[] bytes = new byte[50];
        try (CuFileHandle file = driver.openFile(data); CuFileBatch batch = driver.batch(8)) {
            batch.addRead(file, bytes, 0);
            batch.addRead(file, bytes, 50);
            assertThat(batch.awaitAll()).hasSize(2);
        }
    }

    @Test
    void streamTakesNumbers(CuFileDriver driver, FakeGpu gpu) {
        try (CuFileHandle file = driver.openFile(data, READ, WRITE);
                MemoryAllocation memory = driver.allocator().allocate(4096);
                FakeStream cuStream = gpu.newStream();
                CuFileStream stream = driver.stream(cuStream.address())) {
            CuFileStream.Cells cells = stream.read(file, memory, 4096, 0, 0);
            CuFileStream.Cells tail = stream.read(file, memory, 4000);
            CuFileStream.Cells more = stream.write(file, memory, 4096);
            cuStream.synchronize();
            assertThat(cells.bytesDone()).isEqualTo(4096);
            assertThat(tail.bytesDone()).isEqualTo(96);
            assertThat(more.bytesDone()).isEqualTo(4096);
            assertThat(file.size()).isEqualTo(8192);
        }
    }

    @Test
    void configurationHasShortForms() throws IOException {
        Path json = Files.writeString(folder.resolve("cufile.json"), "{\"execution\": {\"max_io_threads\": 2}}");
        assertThat(CuFileConfig.load(json).get(CuFileKeys.MAX_IO_THREADS)).isEqualTo(2);
        assertThat(CuFileConfig.load(json).toBuilder().maxIoThreads(8).build().get(CuFileKeys.MAX_IO_THREADS))
                .isEqualTo(8);
        assertThat(CuFileConfig.builder().set(CuFileKeys.IO_BATCHSIZE, 64).build().get(CuFileKeys.IO_BATCHSIZE))
                .isEqualTo(64);
    }

    @Test
    void meterBinderIsConstructed(CuFileDriver driver) {
        MeterRegistry registry = new SimpleMeterRegistry();
        try (GdsMetrics metrics = new GdsMetrics(driver)) {
            metrics.bindTo(registry);
            assertThat(registry.find("gds4j.bytes").meters()).isNotEmpty();
        }
    }

    @Test
    void faultIsPlanned(CuFileDriver driver, FaultInjectingBackend faults) {
        faults.on(Call.READ).fails(Errno.EIO);
        try (CuFileHandle file = driver.openFile(data)) {
            file.read(new byte[10], 0);
        } catch (CuFileException e) {
            assertThat(e.errno()).isPresent();
            assertThat(e.code()).isEqualTo(e.error().code());
        }
    }

    @Test
    void missingFileIsToldApart(CuFileDriver driver) {
        try (CuFileHandle file = driver.openFile(folder.resolve("missing"))) {
            assertThat(file.isOpen()).isFalse();
        } catch (CuFileException e) {
            assertThat(e.isNotFound()).isTrue();
        }
    }

    @Test
    void machineIsDiagnosed(CuFileDriver driver) {
        assertThat(driver.diagnose(data).gpus()).isNotNull();
        assertThat(CuFileDriver.diagnoseMachine().lines()).isNotEmpty();
        assertThat(driver.diagnose(data).lines()).isNotEmpty();
        assertThat(driver.diagnose(data).directStorage()).isFalse();
        assertThat(driver.diagnose(data).advice()).noneMatch(advice -> advice.remedy().isBlank());
    }
}
