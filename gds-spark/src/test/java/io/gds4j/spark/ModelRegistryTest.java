package io.gds4j.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.testkit.FaultInjectingBackend;
import io.gds4j.testkit.Gate;
import io.gds4j.testkit.LeakDetector;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tasks share models; threads stand in for tasks. */
@Timeout(30)
class ModelRegistryTest {
    private static final ModelPlan PLAN = ModelPlan.WHOLE.to(Target.HOST);
    /** Room for one model of 12 KiB and not for two. */
    private static final long ONE = 20_000;

    @TempDir
    Path folder;

    private final CuFileDriver driver = CuFileDriver.open(new ReferenceBackend());

    @AfterEach
    void close() {
        driver.close();
    }

    private ModelRegistry registry(long budget) {
        return new ModelRegistry(driver, new ModelBudget(driver, budget, -1), this::changed);
    }

    /** What the registry tells of its models, such as {@code +first.safetensors}. */
    private final List<String> changes = new CopyOnWriteArrayList<>();

    private void changed(Path path, ModelPlan plan, int device, boolean isHeld) {
        changes.add((isHeld ? "+" : "-") + path.getFileName());
    }

    private String file(String name, long seed) {
        return TestCheckpoints.file(folder.resolve(name), seed).toString();
    }

    private static boolean holds(LoadedTensors tensors, long seed) {
        return new TensorPattern(seed).mismatch("b", 0, tensors.segment("b")) < 0;
    }

    @Test
    void loadsOnceForManyTasks() throws Exception {
        String path = file("model.safetensors", 1);
        try (ModelRegistry registry = registry(1 << 20); ExecutorService tasks = Executors.newCachedThreadPool()) {
            List<Future<Boolean>> results = new ArrayList<>();
            for (int i = 0; i < 32; i++) {
                results.add(tasks.submit(() -> {
                    try (Model model = registry.acquire(path, PLAN)) {
                        return holds(model.tensors(), 1);
                    }
                }));
            }
            for (Future<Boolean> result : results) {
                assertThat(result.get()).isTrue();
            }
            assertThat(registry.loads()).isOne();
            assertThat(registry.hits()).isEqualTo(31);
            assertThat(registry.size()).isOne();
            assertThat(registry.bytes()).isBetween(3 * 4096L, ONE);
        }
    }

    @Test
    void ranksShareAModelWhoseRulesLeaveEveryTensorWhole() {
        String path = file("model.safetensors", 1);
        try (ModelRegistry registry = registry(1 << 20);
                Model whole = registry.acquire(path, PLAN);
                Model first = registry.acquire(path, PLAN.slice(0, 4, ParallelPlan.replicate()));
                Model last = registry.acquire(path, PLAN.slice(3, 4, ParallelPlan.replicate()))) {
            assertThat(first.tensors()).isSameAs(whole.tensors());
            assertThat(last.tensors()).isSameAs(whole.tensors());
            assertThat(holds(last.tensors(), 1)).isTrue();
            assertThat(registry.loads()).isOne();
        }
    }

    @Test
    void registryTellsWhatTasksFind() throws IOException {
        String first = file("first.safetensors", 1);
        String second = file("second.safetensors", 2);
        try (ModelRegistry registry = registry(ONE)) {
            registry.acquire(first, PLAN).close();
            registry.acquire(first, PLAN).close();
            registry.acquire(second, PLAN).close();
            Files.setLastModifiedTime(Path.of(second), FileTime.fromMillis(1_000_000));
            registry.acquire(second, PLAN).close();
            assertThatThrownBy(() -> registry.acquire(folder.resolve("absent").toString(), PLAN))
                    .isInstanceOf(CuFileException.class);
        }
        assertThat(changes).containsExactly(
                "+first.safetensors", "-first.safetensors", "+second.safetensors", "-second.safetensors",
                "+second.safetensors", "-second.safetensors");
    }

    @Test
    void plansAreModelsOfTheirOwn() {
        String path = file("model.safetensors", 1);
        try (ModelRegistry registry = registry(1 << 20);
                Model whole = registry.acquire(path, PLAN);
                Model part = registry.acquire(path, PLAN.including("^a$"));
                Model same = registry.acquire(path, PLAN.including("^a$"))) {
            assertThat(whole.tensors().names()).containsExactlyInAnyOrder("a", "b", "c");
            assertThat(part.tensors().names()).containsExactly("a");
            assertThat(same.tensors()).isSameAs(part.tensors());
            assertThat(same.isShared()).isTrue();
        }
    }

    @Test
    void idleModelsMakeRoom() {
        String first = file("first.safetensors", 1);
        String second = file("second.safetensors", 2);
        try (ModelRegistry registry = registry(ONE)) {
            registry.acquire(first, PLAN).close();
            try (Model model = registry.acquire(second, PLAN)) {
                assertThat(holds(model.tensors(), 2)).isTrue();
                assertThat(registry.evictions()).isOne();
                assertThat(registry.size()).isOne();
                assertThatThrownBy(() -> registry.acquire(first, PLAN)).isInstanceOf(CuFileException.class)
                        .hasMessageContaining("first.safetensors")
                        .hasMessageContaining("spark.gds4j.models.memory")
                        .extracting(e -> ((CuFileException) e).error())
                        .isEqualTo(CuFileError.NOMEM_ERROR);
                assertThat(holds(model.tensors(), 2)).isTrue();
            }
            // the failure left nothing behind
            try (Model model = registry.acquire(first, PLAN)) {
                assertThat(holds(model.tensors(), 1)).isTrue();
            }
        }
    }

    @Test
    void modelTooLargeEvictsNothing() {
        String path = file("model.safetensors", 1);
        try (ModelRegistry registry = registry(9000)) {
            registry.acquire(path, PLAN.including("^a$")).close();
            assertThatThrownBy(() -> registry.acquire(path, PLAN)).hasMessageContaining("9000 bytes");
            assertThat(registry.size()).isOne();
        }
    }

    @Test
    void changedFileIsLoadedAgain() throws IOException {
        String path = file("model.safetensors", 1);
        try (ModelRegistry registry = registry(1 << 20)) {
            Model old = registry.acquire(path, PLAN);
            file("model.safetensors", 2);
            // both writes may fall into one tick of the file system's clock
            Files.setLastModifiedTime(Path.of(path), FileTime.fromMillis(System.currentTimeMillis() + 1000));
            try (Model current = registry.acquire(path, PLAN)) {
                assertThat(holds(current.tensors(), 2)).isTrue();
                assertThat(holds(old.tensors(), 1)).isTrue();
                assertThat(registry.size()).isOne();
            }
            old.close();
            old.close();
            assertThat(old.tensors().isOpen()).isFalse();
        }
    }

    @Test
    void failureBehindALoadFreesItsMemory() {
        Path path = Path.of(file("model.safetensors", 1));
        LeakDetector memory = new LeakDetector(new ReferenceBackend().allocator());
        CuFileBackend backend = new ForwardingBackend(new ReferenceBackend()) {
            @Override
            public MemoryAllocator allocator() {
                return memory;
            }

            @Override
            public void handleDeregister(BackendFile file) {
                super.handleDeregister(file);
                try {
                    Files.deleteIfExists(path);
                    Files.createSymbolicLink(path, path);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        };
        try (CuFileDriver own = CuFileDriver.open(backend);
                ModelRegistry registry = new ModelRegistry(own, new ModelBudget(own, 1 << 20, -1), this::changed)) {
            assertThatThrownBy(() -> registry.acquire(path.toString(), PLAN)).isInstanceOf(CuFileException.class);
            assertThat(registry.bytes()).isZero();
            memory.verify();
        }
    }

    @Test
    void failureOfALoadIsRepeatedByTheNextTask() {
        String path = folder.resolve("late.safetensors").toString();
        try (ModelRegistry registry = registry(1 << 20)) {
            assertThatThrownBy(() -> registry.acquire(path, PLAN)).hasMessageContaining("late.safetensors");
            assertThat(registry.size()).isZero();
            file("late.safetensors", 1);
            try (Model model = registry.acquire(path, PLAN)) {
                assertThat(holds(model.tensors(), 1)).isTrue();
            }
        }
    }

    @Test
    void nextTaskLoadsWhatAKilledTaskBegan() throws Exception {
        String path = file("model.safetensors", 1);
        FaultInjectingBackend backend = new FaultInjectingBackend(new ReferenceBackend());
        Gate gate = backend.holdRead(1);
        try (CuFileDriver slow = CuFileDriver.open(backend);
                ModelRegistry registry = new ModelRegistry(slow, new ModelBudget(slow, ONE, -1), this::changed);
                ExecutorService tasks = Executors.newCachedThreadPool()) {
            CompletableFuture<Throwable> failure = new CompletableFuture<>();
            Thread killed = Thread.ofPlatform().start(() -> {
                try (Model model = registry.acquire(path, PLAN)) {
                    failure.complete(new AssertionError("loaded " + model));
                } catch (CuFileException e) {
                    failure.complete(e);
                }
            });
            gate.awaitArrival();
            Future<Boolean> other = tasks.submit(() -> {
                try (Model model = registry.acquire(path, PLAN)) {
                    return holds(model.tensors(), 1);
                }
            });
            killed.interrupt();
            gate.open();
            assertThat(failure.get()).isInstanceOf(CuFileInterruptedException.class);
            assertThat(other.get()).isTrue();
            assertThat(registry.loads()).isOne();
        }
    }

    @Test
    void closeFreesIdleModelsAndRefusesNewTasks() {
        String path = file("model.safetensors", 1);
        ModelRegistry registry = registry(1 << 20);
        Model used = registry.acquire(path, PLAN);
        registry.acquire(path, PLAN.including("^a$")).close();
        registry.close();
        assertThat(registry.size()).isOne();
        assertThatThrownBy(() -> registry.acquire(path, PLAN)).hasMessageContaining("the executor ends");
        assertThat(holds(used.tensors(), 1)).isTrue();
        used.close();
        assertThat(registry.bytes()).isZero();
    }
}
