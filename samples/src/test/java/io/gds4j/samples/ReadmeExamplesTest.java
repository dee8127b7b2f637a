package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStatistics;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DirectStorage;
import io.gds4j.config.DriverProperties;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.Remainder;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.diagnosis.Diagnosis;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.CheckpointVerifier;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadReport;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.ParallelTensors;
import io.gds4j.loader.TensorMismatch;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.VerificationReport;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.testkit.FakeGpus;
import io.gds4j.testkit.GdsExtension;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The first programs of the README and of the guides. */
@ExtendWith(GdsExtension.class)
@FakeGpus(2)
class ReadmeExamplesTest {
    @TempDir
    private Path folder;

    @Test
    void firstExampleReadsTheWholeFile() throws IOException {
        Path file = Files.write(folder.resolve("data.bin"), new byte[12_345]);

        assertThat(outputOf(() -> ReadIntoGpu.main(new String[]{file.toString()})))
                .contains("12345 bytes, IoPathReport", "=12345");
    }

    @Test
    void programOfTheReadmeLoadsACheckpoint() {
        Path file = folder.resolve("model.safetensors");
        SavePlan.builder()
                .tensor("embed", DType.F32, new byte[60], 3, 5)
                .tensor("layers.0.weight", DType.BF16, new byte[154], 7, 11)
                .toFile(file).save();

        assertThat(outputOf(() -> LoadCheckpoint.main(new String[]{file.toString()})))
                .contains("'embed' F32[3, 5], 60 bytes", "'layers.0.weight' BF16[7, 11]", "2 tensors, 214 bytes in ",
                        "host memory by COMPAT");
    }

    @Test
    void everydayCallsOfTheReadmeDoWhatTheySay(CuFileDriver driver) throws IOException {
        Path model = folder.resolve("model.safetensors");
        SavePlan.builder()
                .generated("model.layers.0.mlp.up_proj.weight", DType.BF16, new TensorPattern(0), 16, 8)
                .generated("model.norm.weight", DType.F32, new TensorPattern(0), 8)
                .toFile(model).save();
        Path data = Files.write(folder.resolve("data.bin"), new byte[40 * 4096]);
        Path json = Files.writeString(folder.resolve("cufile.json"), "{\"profile\": {\"cufile_stats\": 2}}");
        Path copy = folder.resolve("copy.safetensors");

        String output = outputOf(() -> {
            loadsAndSaves(driver, model, copy, folder.resolve("other.safetensors"));
            filesAndMemory(driver, folder.resolve("target.bin"));
            driverTellsAboutItself(model, json);
            dataSets(driver, data);
        });

        assertThat(output).contains("up_proj.weight BF16[16, 8], 256 at ", " GB/s", "288 of 288",
                "COMPLETE 4096 at 8192", "\n1048576\n", "\"max_io_threads\" : 8", "32 records in MemoryRange", "bytes");
        assertThat(Checkpoint.open(copy).tensor("weight").shape()).containsExactly(16L, 8L);
        assertThat(Checkpoint.open(folder.resolve("other.safetensors")).bytes()).isEqualTo(4096);
        assertThat(folder.resolve("target.bin")).hasSize(1 << 20);
    }

    private static void loadsAndSaves(CuFileDriver driver, Path model, Path copy, Path other) {
        try (MemoryAllocation memory = driver.allocate(4096)) {
            Checkpoint checkpoint = Checkpoint.open(model); // reads headers only
            System.out.println(checkpoint.format() + " " + checkpoint.metadata() + " " + checkpoint.bytes() + " bytes");
            for (TensorInfo info : checkpoint) {
                System.out.println(info.name() + " " + info.dtype() + info.shape() + ", " + info.length() + " at "
                        + info.fileOffset());
            }
            LoadPlan plan = checkpoint.plan().include("layers\\.[0-7]\\.").exclude("bias$").toGpu(1); // or toHost()
            try (LoadedTensors part = plan.load(driver);
                    LoadedTensors mapped = Checkpoint.map(model);
                    ParallelTensors ranks = checkpoint.plan().tensorParallel(2).load(driver)) {
                LoadReport report = part.report();
                System.out.println(report.duration() + ", " + report.bytesPerSecond() / 1e9 + " GB/s");
                LoadedTensors second = ranks.rank(1);
                MemorySegment bytes = mapped.get("model.layers.0.mlp.up_proj.weight").segment();
                float[] values = part.get("model.layers.0.mlp.up_proj.weight").toFloatArray();
                Checkpoint.save(copy, to -> to.tensor("weight", values, 16, 8).metadata("step", "7")); // int[], too
                Checkpoint.save(other, driver, to -> to.tensor("state", DType.U8, memory, memory.size())); // of a GPU, too
                VerificationReport check = CheckpointVerifier.verify(part);
                for (TensorMismatch mismatch : check.mismatches()) { // none if check.verified()
                    System.out.println(mismatch.tensor().name() + ": " + mismatch);
                }
            }
            CompletableFuture<LoadedTensors> later =
                    Checkpoint.loadAsync(model, now -> System.out.println(now.bytesDone() + " of " + now.bytesTotal()));
            later.join().close();
        }
    }

    private static void filesAndMemory(CuFileDriver driver, Path target) {
        byte[] content = new byte[1 << 20];
        try (HostStream host = HostStream.create()) {
            long cuStream = host.address();
            try (CuFileHandle out = driver.createFile(target); // or openFile(path, StandardOpenOption.READ, StandardOpenOption.WRITE)
                    MemoryAllocation memory = driver.allocateGpu(0, 1 << 20); // or allocateHost(bytes)
                    CuFileBuffer buffer = driver.register(memory); // or a segment, or MemoryRange.ofAddress(pointer, bytes, MemoryKind.CUDA_DEVICE)
                    CuFileBatch batch = driver.batch();
                    CuFileStream stream = driver.stream(cuStream)) {
                memory.copyFrom(content); // and fill(7), toByteArray(), segment() of host memory
                out.write(buffer, 0);
                out.force();
                long bytes = out.read(memory, 4096, 8192, 0); // size, file offset, buffer offset
                out.readAsync(memory.slice(0, 4096), 0).join();
                batch.addRead(out, memory.slice(0, 4096), 8192); // and addWrite
                batch.submit();
                for (CuFileBatch.Completion done : batch.await(Duration.ofSeconds(10))) {
                    System.out.println(done.status() + " " + done.bytes() + " at " + done.request().fileOffset());
                }
                if (batch.outstanding() > 0) {
                    batch.cancel();
                }
                CuFileStream.Cells cells = stream.read(out, memory, 0);
                stream.synchronize();
                System.out.println(cells.bytesDone());
            }
        }
    }

    private static void driverTellsAboutItself(Path model, Path json) {
        try (CuFileDriver driver = CuFileDriver.open()) {
            CuFileConfig config = CuFileConfig.load(json).toBuilder()
                    .set(CuFileKeys.MAX_IO_THREADS, 8).directStorage(DirectStorage.OFF).build();
            System.out.println(config.toJson() + driver.config().get(CuFileKeys.MAX_IO_THREADS));
            CuFileStatistics stats = driver.stats();
            stats.setLevel(1);
            stats.reset();
            System.out.println(stats.bytesRead() + " bytes, " + stats.level1().readOps().ok() + " reads");
            DriverProperties properties = driver.properties();
            System.out.println(driver.version() + " " + driver.backendName() + " " + properties.maxDirectIoSizeKb());
            Diagnosis diagnosis = driver.diagnose(model);
            PathReport path = diagnosis.paths().getFirst();
            System.out.println(path.directStorage() + " " + path.buffered() + " " + path.obstacle());
            for (Gpu gpu : diagnosis.gpus()) {
                System.out.println(gpu.index() + " " + gpu.name() + " " + gpu.memoryBytes());
            }
        }
    }

    private static void dataSets(CuFileDriver driver, Path data) {
        try (RecordLoader loader = RecordLoader.builder(driver, RecordFiles.fixed(data, 4096), 32)
                .shuffle(42).epochs(2).prefetch(4).remainder(Remainder.DROP).open()) {
            for (RecordBatch batch : loader) {
                System.out.println(batch.count() + " records in " + batch.memory());
                System.out.println(batch.key(0) + " at " + batch.offset(0) + ", " + batch.length(0) + " bytes");
            }
        }
    }

    @Test
    void examplesOfTheSavingGuideSaveAndVerify() {
        Path target = folder.resolve("saved");

        assertThat(outputOf(() -> SaveCheckpoint.main(new String[]{target.toString()})))
                .contains("1 tensors, 1 aligned", "verified: true", "blocked for");
        assertThat(target.resolve("step-2000/model.safetensors")).exists();
    }

    private static String outputOf(Runnable program) {
        PrintStream before = System.out;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
        try {
            program.run();
        } finally {
            System.setOut(before);
        }
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
