package io.gds4j.testkit;

import io.gds4j.CuFileDriver;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A JUnit extension for tests of programs that use gds4j. It gives each test a driver over a backend of its own, plans faults,
 * guards memory, and afterwards reports what the test left open.
 *
 * <pre>{@code
 * @RegisterExtension
 * final GdsExtension gds = GdsExtension.create();
 *
 * @Test
 * void badBlockIsReported() {
 *     gds.faults().on(Call.READ).nth(3).fails(Errno.EIO);
 *     GuardedMemory memory = gds.memory(MemoryKind.HOST, 1 << 20);
 *     assertThrows(CuFileException.class, () -> load(gds.driver(), memory.range()));
 * }
 * }</pre>
 *
 * <p>
 * After a test that passed, the extension fails it, with the places of opening, for:
 * <ul>
 * <li>handles, buffers, batches and streams that are open while their driver is
 * <li>drivers over {@link #backend} that are open; the driver of {@link #driver} closes by itself
 * <li>memory of the driver's allocator that is allocated
 * <li>guarded memory with a byte that the test does not expect
 * <li>planned faults that hit no call.
 * </ul>
 * It closes its driver and guarded memory in any case. After a test that failed, it reports nothing.
 *
 * <p>
 * Register it with a field that is not static: each test then has its own. During a test, its methods are thread-safe.
 *
 * @since 0.1
 */
public final class GdsExtension implements BeforeEachCallback, AfterEachCallback {
    private final Supplier<? extends CuFileBackend> backends;
    private final Supplier<List<String>> misuse;
    private @Nullable Run run;

    /** What belongs to one test. */
    private static final class Run {
        private final FaultInjectingBackend faults;
        private final WatchedBackend backend;
        private final List<GuardedMemory> memories = new ArrayList<>();
        private @Nullable CuFileDriver driver;

        Run(CuFileBackend served) {
            this.faults = new FaultInjectingBackend(served);
            this.backend = new WatchedBackend(faults);
        }
    }

    private GdsExtension(Supplier<? extends CuFileBackend> backends, Supplier<List<String>> misuse) {
        this.backends = Objects.requireNonNull(backends, "backends");
        this.misuse = misuse;
    }

    /** {@return an extension over the {@link ReferenceBackend}: host memory and plain Java} */
    public static GdsExtension create() {
        return new GdsExtension(ReferenceBackend::new, List::of);
    }

    /**
     * Returns an extension over other backends, such as {@code () -> new CompatBackendProvider().create(config)}.
     *
     * @param backends creates the backend of each test
     * @return the extension
     */
    public static GdsExtension over(Supplier<? extends CuFileBackend> backends) {
        return new GdsExtension(backends, List::of);
    }

    /**
     * Returns an extension over fake GPUs, for tests of code that needs a GPU. A test also fails for what
     * {@link FakeGpu#misuse} tells.
     *
     * @param gpu the GPUs, in a field that is not static
     * @return the extension
     */
    public static GdsExtension over(FakeGpu gpu) {
        return new GdsExtension(gpu::backend, gpu::misuse);
    }

    /**
     * Returns the driver of this test, which the extension closes. The first call opens it.
     *
     * @return the driver
     * @throws IllegalStateException outside of a test
     */
    public synchronized CuFileDriver driver() {
        Run now = running();
        CuFileDriver driver = now.driver;
        if (driver == null) {
            driver = now.backend.openOwnDriver();
            now.driver = driver;
        }
        return driver;
    }

    /**
     * Returns the watched backend of this test, for code that opens its own driver.
     *
     * @return the backend, for {@link CuFileDriver#open(CuFileBackend)}
     * @throws IllegalStateException outside of a test
     */
    public synchronized CuFileBackend backend() {
        return running().backend;
    }

    /**
     * Returns the backend that plans faults for this test.
     *
     * @return the backend, for {@link FaultInjectingBackend#on(Call)}; open drivers over {@link #backend} instead
     * @throws IllegalStateException outside of a test
     */
    public synchronized FaultInjectingBackend faults() {
        return running().faults;
    }

    /**
     * Allocates guarded memory. After the test the extension verifies and frees it; the test must not close it.
     *
     * @param kind kind of memory
     * @param bytes size, 0 or more
     * @return the memory
     * @throws io.gds4j.error.CuFileException if the backend cannot allocate it
     * @throws IllegalStateException outside of a test
     */
    public synchronized GuardedMemory memory(MemoryKind kind, int bytes) {
        GuardedMemory memory = GuardedMemory.allocate(driver().allocator(), kind, bytes);
        running().memories.add(memory);
        return memory;
    }

    private Run running() {
        Run now = run;
        if (now == null) {
            throw new IllegalStateException("no test is running");
        }
        return now;
    }

    /** Creates the backend of the test. */
    @Override
    public synchronized void beforeEach(ExtensionContext context) {
        run = new Run(backends.get());
    }

    /**
     * Closes what the extension opened.
     *
     * @throws AssertionError if the test passed, but left something open or has a fault that never happened
     */
    @Override
    public synchronized void afterEach(ExtensionContext context) {
        Run ended = running();
        run = null;
        List<String> problems = new ArrayList<>();
        ended.memories.forEach(memory -> attempt(memory::verify, problems));
        problems.addAll(ended.backend.openObjects());
        ended.memories.forEach(memory -> attempt(memory::close, problems));
        problems.addAll(ended.backend.openMemory());
        Optional.ofNullable(ended.driver).ifPresent(driver -> attempt(driver::close, problems));
        problems.addAll(ended.backend.openDrivers());
        problems.addAll(misuse.get());
        ended.faults.unfired().forEach(fault -> problems.add("a planned fault never happened: " + fault));
        if (!problems.isEmpty() && context.getExecutionException().isEmpty()) {
            throw new AssertionError("the test left behind:\n    " + String.join("\n    ", problems));
        }
    }

    private static void attempt(Runnable step, List<String> problems) {
        try {
            step.run();
        } catch (RuntimeException | AssertionError e) {
            problems.add(e.toString());
        }
    }
}
