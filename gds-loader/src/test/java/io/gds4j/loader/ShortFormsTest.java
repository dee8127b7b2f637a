package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.Logged;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.loader.save.SaveReport;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.GdsExtension;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The short forms of loads and saves. */
class ShortFormsTest {
    private static final TensorPattern PATTERN = new TensorPattern(55);

    private final FakeGpu gpu = FakeGpu.builder().devices(2).bytesPerDevice(1 << 20).build();

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("found by name");

    @RegisterExtension
    final GdsExtension gds = GdsExtension.over(gpu);

    @TempDir
    Path folder;

    private Path model() {
        Path file = folder.resolve("model.safetensors");
        new SafetensorsWriter(file)
                .tensor("a", DType.F32, 3, 5)
                .tensor("b", DType.BF16, 7)
                .tensor("scalar", DType.I64)
                .tensor("none", DType.F32, 4, 0)
                .write(PATTERN);
        return file;
    }

    @Test
    void loadedTensorTellsItsDescription() {
        try (LoadedTensors tensors = Checkpoint.load(model(), gds.driver())) {
            LoadedTensor tensor = tensors.get("a");
            assertThat(tensor.name()).isEqualTo("a");
            assertThat(tensor.dtype()).isEqualTo(DType.F32);
            assertThat(tensor.shape()).containsExactly(3L, 5L);
            assertThat(tensor.elements()).isEqualTo(15);
            assertThat(tensor.range().kind()).as("the best memory").isEqualTo(MemoryKind.CUDA_DEVICE);
            assertThat(PATTERN.mismatch("a", 0, gpu.segment(tensor.range()))).isEqualTo(-1);
            assertThat(tensors.get("scalar").elements()).isEqualTo(1);
            assertThat(tensors.get("none").elements()).isZero();
        }
    }

    @Test
    void takenMemoryKeepsTheDriverThatOnlyItsTensorsOpened() {
        CuFileDriver opened = CuFileDriver.open(CuFileConfig.builder().build(), "compat");
        LoadedTensors tensors = Checkpoint.open(model()).load(opened).keeping(opened);
        MemoryAllocation first = tensors.take("a");
        MemoryAllocation second = tensors.take("b");
        tensors.close();
        tensors.close();
        assertThat(opened.isOpen()).isFalse();
        assertThat(opened.useCount()).isEqualTo(2);
        first.close();
        assertThat(opened.useCount()).isEqualTo(1);
        second.close();
        assertThat(opened.useCount()).isZero();
    }

    @Test
    void futureOfALoadKeepsTheDriverThatOnlyItsTensorsOpened() {
        CuFileDriver opened = CuFileDriver.open(CuFileConfig.builder().build(), "compat");
        LoadedTensors tensors = Checkpoint.open(model()).plan().loadAsyncKeeping(opened, LoadListener.NONE).join();
        assertThat(opened.isOpen()).isTrue();
        assertThat(tensors).hasSize(4);
        tensors.close();
        assertThat(opened.useCount()).isZero();
    }

    @Test
    void futureOfALoadThatFailsClosesItsDriver() throws IOException {
        CuFileDriver opened = CuFileDriver.open(CuFileConfig.builder().build(), "compat");
        LoadPlan plan = Checkpoint.open(model()).plan();
        Files.delete(folder.resolve("model.safetensors"));
        assertThatThrownBy(() -> plan.loadAsyncKeeping(opened, LoadListener.NONE).join())
                .hasCauseInstanceOf(CheckpointException.class);
        assertThat(opened.useCount()).isZero();
    }

    @Test
    void cancelledFutureOfALoadClosesItsDriver() {
        CuFileDriver opened = CuFileDriver.open(CuFileConfig.builder().build(), "compat");
        CompletableFuture<LoadedTensors> load =
                Checkpoint.open(model()).plan().loadAsyncKeeping(opened, LoadListener.NONE);
        if (!load.cancel(true)) {
            load.join().close();
        }
        assertThat(opened.useCount()).isZero();
    }

    @Test
    void checkpointIsLoadedByUriWithProgressAndByNames() {
        List<LoadProgress> seen = new ArrayList<>();
        Path file = model();
        Checkpoint checkpoint = Checkpoint.open(file);
        LoadPlan plan = checkpoint.filter("a"::equals);
        assertThat(plan.kind()).isEqualTo(checkpoint.plan().kind());
        try (LoadedTensors all = Checkpoint.load(file.toUri(), gds.driver(), seen::add);
                LoadedTensors one = plan.load(gds.driver())) {
            assertThat(seen.getLast().bytesDone()).isEqualTo(60 + 14 + 8);
            assertThat(all.get("a").range().kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
            assertThat(one.names()).containsExactly("a");
            byte[] bytes = all.get("a").toByteArray();
            assertThat(bytes).isEqualTo(one.get("a").toByteArray()).hasSize(60);
            assertThat(PATTERN.mismatch("a", 0, MemorySegment.ofArray(bytes))).isEqualTo(-1);
            assertThat(all.get("none").toByteArray()).isEmpty();
        }
    }

    @Test
    void bytesOfMemoryWithoutASegmentAreRefused() {
        TensorInfo info = new TensorInfo("raw", DType.U8, List.of(8L), folder, 0, 8);
        LoadedTensor raw = new LoadedTensor(info, MemoryRange.ofAddress(4096, 8, MemoryKind.HOST));
        assertThat(catchThrowableOfType(CuFileException.class, raw::toByteArray).error())
                .isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
    }

    @Test
    void elementsOfADescriptionThatNoCheckpointHasAreRefused() {
        for (List<Long> shape : List.of(List.of(1L << 62, 4L), List.of(-1L))) {
            TensorInfo info = new TensorInfo("huge", DType.U8, shape, folder, 0, 1);
            assertThat(catchThrowableOfType(CuFileException.class, info::elements).error())
                    .isEqualTo(CuFileError.INVALID_VALUE);
        }
        assertThat(new TensorInfo("none", DType.U8, List.of(-1L, 0L), folder, 0, 0).elements()).isZero();
    }

    @Test
    void tensorsAreIteratedAndStreamed() {
        LoadedTensors tensors = Checkpoint.open(model()).plan().load(gds.driver());
        try (tensors) {
            List<String> names = new ArrayList<>();
            for (LoadedTensor tensor : tensors) {
                names.add(tensor.name());
            }
            assertThat(names).containsExactlyElementsOf(tensors.names());
            assertThat(tensors.stream().map(LoadedTensor::name)).containsExactlyElementsOf(names);
            Iterator<LoadedTensor> before = tensors.iterator();
            tensors.take("a").close();
            assertThat(before).toIterable().hasSize(4);
            assertThat(tensors).hasSize(3);
            Iterator<LoadedTensor> iterator = tensors.iterator();
            iterator.next();
            assertThatThrownBy(iterator::remove).isInstanceOf(UnsupportedOperationException.class);
        }
        assertThat(catchThrowableOfType(CuFileException.class, tensors::iterator).error())
                .isEqualTo(CuFileError.CUDA_POINTER_INVALID);
        assertThat(catchThrowableOfType(CuFileException.class, tensors::stream).error())
                .isEqualTo(CuFileError.CUDA_POINTER_INVALID);
    }

    @Test
    void planGoesToAGpuByItsOrdinal() {
        LoadPlan plan = Checkpoint.open(model()).plan();
        try (LoadedTensors tensors = plan.toGpu(1).load(gds.driver())) {
            assertThat(tensors).allSatisfy(tensor -> assertThat(tensor.range().device()).isEqualTo(1));
        }
        assertThatThrownBy(() -> plan.toGpu(-1)).isInstanceOf(CuFileException.class);
    }

    @Test
    void progressIsALambda() {
        List<LoadProgress> seen = new ArrayList<>();
        try (LoadedTensors tensors = Checkpoint.open(model()).plan().load(gds.driver(), seen::add)) {
            LoadProgress last = seen.getLast();
            assertThat(last.bytesDone()).isEqualTo(last.bytesTotal()).isEqualTo(60 + 14 + 8);
            assertThat(last.file()).isEqualTo(folder.resolve("model.safetensors"));
            assertThat(last.bytesPerSecond()).isPositive().isFinite();
            assertThat(tensors.isOpen()).isTrue();
        }
    }

    @Test
    void loadsWithADriverOfTheirOwnTellTheirProgress() {
        List<Long> done = Collections.synchronizedList(new ArrayList<>());
        LoadListener listener = now -> done.add(now.bytesDone());
        Path file = model();
        try (LoadedTensors loaded = Checkpoint.load(file, listener);
                LoadedTensors byUri = Checkpoint.load(file.toUri(), listener);
                LoadedTensors later = Checkpoint.loadAsync(file, listener).join();
                LoadedTensors laterByUri = Checkpoint.loadAsync(file.toUri(), listener).join()) {
            assertThat(List.of(loaded, byUri, later, laterByUri)).allSatisfy(all -> assertThat(all).hasSize(4));
            assertThat(done.stream().filter(bytes -> bytes == 60 + 14 + 8)).hasSize(4);
        }
    }

    @Test
    void planLeavesOutWhatAnExpressionFinds() {
        Checkpoint checkpoint = Checkpoint.open(model());
        LoadPlan plan = checkpoint.plan().toGpu(1).toHost();
        assertThat(plan.kind()).isEqualTo(MemoryKind.HOST);
        assertThat(plan.exclude("^a$").tensors()).extracting(TensorInfo::name).hasSize(3).doesNotContain("a");
        assertThat(plan.include("^a$|none").exclude("n").tensors()).extracting(TensorInfo::name).containsExactly("a");
        assertThatThrownBy(() -> plan.exclude("(")).isInstanceOf(CuFileException.class);
    }

    @Test
    void checkpointDescribesATensorByItsName() {
        Checkpoint checkpoint = Checkpoint.open(model());
        assertThat(checkpoint.tensor("a")).isEqualTo(checkpoint.tensors().get("a"));
        assertThatThrownBy(() -> checkpoint.tensor("b\n")).isInstanceOf(CuFileException.class)
                .hasMessageContaining("has no tensor").hasMessageNotContaining("\n");
    }

    @Test
    void wholeNumbersAreSaved() {
        Path saved = folder.resolve("numbers.safetensors");
        Checkpoint.save(saved,
                plan -> plan.tensor("steps", new int[]{1, -2, 3}, 3).tensor("ids", new long[]{1L << 40}, 1, 1));
        try (LoadedTensors mapped = Checkpoint.map(saved)) {
            assertThat(mapped.get("steps").dtype()).isEqualTo(DType.I32);
            assertThat(mapped.get("steps").asIntBuffer()).isEqualTo(IntBuffer.wrap(new int[]{1, -2, 3}));
            assertThat(mapped.get("ids").shape()).containsExactly(1L, 1L);
            assertThat(mapped.get("ids").asLongBuffer().get(0)).isEqualTo(1L << 40);
        }
        assertThatThrownBy(() -> Checkpoint.save(saved, plan -> plan.tensor("steps", new int[2], 3)))
                .isInstanceOf(CuFileException.class);
    }

    private LoadPlan llama(String projection) throws IOException {
        Path file = folder.resolve("llama.safetensors");
        Files.writeString(folder.resolve("config.json"), "{\"num_attention_heads\": 4, \"num_key_value_heads\": 2}");
        new SafetensorsWriter(file)
                .tensor("model.embed_tokens.weight", DType.BF16, 32, 16)
                .tensor("model.layers.0.self_attn.q_proj.weight", DType.BF16, 16, 16)
                .tensor("model.layers.0." + projection + ".weight", DType.BF16, 48, 16)
                .tensor("model.norm.weight", DType.BF16, 16)
                .write(PATTERN);
        return Checkpoint.open(file).plan();
    }

    @Test
    void modelWithTheNamesOfLlamaIsDividedAmongGpus() throws IOException {
        try (ParallelTensors tensors = llama("mlp.up_proj").tensorParallel(2).load(gds.driver())) {
            assertThat(tensors.ranks()).containsExactly(0, 1);
            for (int rank = 0; rank < 2; rank++) {
                LoadedTensor half = tensors.rank(rank).get("model.layers.0.mlp.up_proj.weight");
                assertThat(half.shape()).containsExactly(24L, 16L);
                assertThat(half.range().kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
                assertThat(half.range().device()).isEqualTo(rank);
                assertThat(PATTERN.mismatch(half.name(), rank * half.length(), gpu.segment(half.range())))
                        .isEqualTo(-1);
                assertThat(tensors.rank(rank).get("model.norm.weight").shape()).containsExactly(16L);
            }
        }
    }

    @Test
    void otherNamesAndNumbersOfGpusAreRefused() throws IOException {
        LoadPlan plan = llama("mlp.something");
        assertThatThrownBy(() -> plan.tensorParallel(2))
                .isInstanceOfSatisfying(
                        CheckpointException.class,
                        e -> assertThat(e.rule()).isEqualTo(ParallelPlan.PLAN_MISMATCH))
                .hasMessageContaining("model.layers.0.mlp.something.weight");
        for (int gpus : new int[]{0, -1, Integer.MAX_VALUE}) {
            assertThat(catchThrowableOfType(CuFileException.class, () -> plan.tensorParallel(gpus)).error())
                    .isEqualTo(CuFileError.INVALID_VALUE);
        }
    }

    @Test
    void checkpointIsOpenedByItsUri() {
        assertThat(Checkpoint.open(model().toUri()).tensors()).hasSize(4);
        assertThatThrownBy(() -> Checkpoint.open(URI.create("s3://user:secret@bucket/model")))
                .isInstanceOf(CuFileException.class)
                .hasMessageContaining("the scheme s3 needs the artifact io.gds4j:gds-remote")
                .hasMessageNotContaining("secret");
    }

    @Test
    void arraysAreSavedByName() {
        Map<String, float[]> arrays = Map.of("x", new float[]{1, 2.5F, -0F}, "empty", new float[0]);
        Checkpoint.save(folder.resolve("arrays.safetensors"), arrays);
        Checkpoint.save(folder.resolve("new"), arrays);
        for (String path : List.of("arrays.safetensors", "new")) {
            try (LoadedTensors tensors = Checkpoint.load(folder.resolve(path), gds.driver())) {
                assertThat(tensors.get("x").toFloatArray()).containsExactly(1, 2.5F, -0F);
                assertThat(tensors.get("x").shape()).containsExactly(3L);
                assertThat(tensors.get("empty").toFloatArray()).isEmpty();
            }
        }
    }

    @Test
    void tensorsOfAnyShapeAreSavedWithoutADriver() {
        Path saved = folder.resolve("matrix.safetensors");
        SaveReport report = Checkpoint.save(saved, plan -> plan.tensor("matrix", new float[]{1, 2, 3, 4}, 2, 2));
        assertThat(report.bytes()).isEqualTo(16);
        try (LoadedTensors tensors = Checkpoint.map(saved)) {
            assertThat(tensors.get("matrix").shape()).containsExactly(2L, 2L);
            assertThat(tensors.get("matrix").toFloatArray()).containsExactly(1, 2, 3, 4);
        }
        try (LoadedTensors tensors = Checkpoint.load(saved, gds.driver())) {
            assertThat(catchThrowableOfType(
                    CuFileException.class, () -> Checkpoint.save(saved, plan -> plan.tensors(tensors))))
                    .hasMessageContaining("a driver is needed for ")
                    .extracting(CuFileException::error).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
        }
    }

    /** Jars that are merged without their service files. */
    @Test
    void arraysAreSavedOnAClassPathWithoutServiceFiles() throws Exception {
        List<URL> places = new ArrayList<>();
        for (String place : new ChildJvm(Checkpoint.class, folder, CompatBackend.class).places()) {
            places.add(Path.of(place).toUri().toURL());
        }
        URL[] urls = places.toArray(URL[]::new);
        Path saved = folder.resolve("arrays.safetensors");
        try (URLClassLoader shaded = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader()) {
            @Override
            public Enumeration<URL> findResources(String name) throws IOException {
                return name.startsWith("META-INF/services/") ? Collections.emptyEnumeration()
                        : super.findResources(name);
            }
        }) {
            Class<?> checkpoint = shaded.loadClass(Checkpoint.class.getName());
            assertThat(checkpoint).isNotEqualTo(Checkpoint.class);
            checkpoint.getMethod("save", Path.class, Map.class).invoke(null, saved, Map.of("x", new float[]{1, 2.5F}));
        }
        try (LoadedTensors tensors = Checkpoint.load(saved, gds.driver())) {
            assertThat(tensors.get("x").toFloatArray()).containsExactly(1, 2.5F);
        }
    }

    @Test
    void arraysAreCopiedWhenTheyAreAdded() {
        byte[] bytes = {1, 2, 3, 4};
        float[] floats = {1, 2};
        SavePlan plan = SavePlan.builder()
                .tensor("array", DType.U8, bytes, 4)
                .tensor("segment", DType.U8, MemorySegment.ofArray(bytes), 2, 2)
                .tensor("floats", floats, 2, 1)
                .toFile(folder.resolve("copied.safetensors"));
        bytes[0] = 9;
        floats[0] = 9;
        plan.save(gds.driver());
        try (LoadedTensors tensors = Checkpoint.open(plan.target()).plan().load(gds.driver())) {
            assertThat(tensors.get("array").segment().toArray(ValueLayout.JAVA_BYTE)).containsExactly(1, 2, 3, 4);
            assertThat(tensors.get("segment").segment().toArray(ValueLayout.JAVA_BYTE)).containsExactly(1, 2, 3, 4);
            assertThat(tensors.get("floats").toFloatArray()).containsExactly(1, 2);
        }
        assertThatThrownBy(() -> SavePlan.builder().tensor("short", DType.F32, bytes, 2))
                .isInstanceOf(CuFileException.class).hasMessageContaining("has 8 bytes, its memory has 4");
    }
}
