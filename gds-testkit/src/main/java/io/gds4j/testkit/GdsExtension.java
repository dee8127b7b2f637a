package io.gds4j.testkit;

import io.gds4j.CuFileDriver;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

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
 * Registered by {@code @ExtendWith(GdsExtension.class)}, it gives each test fake GPUs of its own, one unless {@link FakeGpus} sets the
 * number. However it is registered, tests take driver, faults and fake GPUs as parameters:
 *
 * <pre>{@code
 * @ExtendWith(GdsExtension.class)
 * class LoadTest {
 *     @Test
 *     @FakeGpus(2)
 *     void badBlockIsReported(CuFileDriver driver, FakeGpu gpu, FaultInjectingBackend faults) {
 *         faults.on(Call.READ).nth(3).fails(Errno.EIO);
 *         assertThrows(CuFileException.class, () -> load(driver, gpu.devices()));
 *     }
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
 * As a field, register it with one that is not static: each test then has its own. During a test, its methods are thread-safe.
 *
 * @since 0.1
 */
public final class GdsExtension implements BeforeEachCallback, AfterEachCallback, ParameterResolver {
    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(GdsExtension.class);

    /** Creates what serves a test, of the context of the test. */
    private final Function<ExtensionContext, Served> serving;
    private @Nullable Run run;

    /** The backend of a test, and the GPUs behind it. */
    private record Served(CuFileBackend backend, Optional<FakeGpu> gpu) {
        static Served by(FakeGpu gpu) {
            return new Served(gpu.backend(), Optional.of(gpu));
        }
    }

    /** What belongs to one test. */
    private static final class Run {
        private final Optional<FakeGpu> gpu;
        private final FaultInjectingBackend faults;
        private final WatchedBackend backend;
        private final List<GuardedMemory> memories = new ArrayList<>();
        private @Nullable CuFileDriver driver;

        Run(Served served) {
            this.gpu = served.gpu();
            this.faults = new FaultInjectingBackend(served.backend());
            this.backend = new WatchedBackend(faults);
        }

        synchronized CuFileDriver driver() {
            CuFileDriver known = driver;
            if (known == null) {
                known = backend.openOwnDriver();
                driver = known;
            }
            return known;
        }

        /** Returns what a test may take as a parameter of this type; empty for another type. */
        Optional<Object> parameter(Class<?> type) {
            if (type == CuFileDriver.class) {
                return Optional.of(driver());
            }
            if (type == FaultInjectingBackend.class) {
                return Optional.of(faults);
            }
            return type == FakeGpu.class ? gpu.map(it -> it) : Optional.empty();
        }

        boolean hasParameter(Class<?> type) {
            return type == CuFileDriver.class || type == FaultInjectingBackend.class
                    || type == FakeGpu.class && gpu.isPresent();
        }
    }

    /** Creates an extension over fake GPUs of each test, for {@code @ExtendWith}. */
    public GdsExtension() {
        this(context -> Served.by(FakeGpu.builder().devices(devices(context)).build()));
    }

    private GdsExtension(Function<ExtensionContext, Served> serving) {
        this.serving = serving;
    }

    private static int devices(ExtensionContext context) {
        return Stream.concat(
                context.getElement().stream(),
                Stream.<Class<?>>iterate(
                        context.getRequiredTestClass(), Objects::nonNull, Class::getEnclosingClass))
                .map(element -> element.getAnnotation(FakeGpus.class))
                .filter(Objects::nonNull)
                .findFirst()
                .map(FakeGpus::value)
                .orElse(1);
    }

    /** {@return an extension over the {@link ReferenceBackend}: host memory and plain Java} */
    public static GdsExtension create() {
        return over(ReferenceBackend::new);
    }

    /**
     * Returns an extension over other backends, such as {@code () -> new CompatBackendProvider().create(config)}.
     *
     * @param backends creates the backend of each test
     * @return the extension
     */
    public static GdsExtension over(Supplier<? extends CuFileBackend> backends) {
        Objects.requireNonNull(backends, "backends");
        return new GdsExtension(context -> new Served(backends.get(), Optional.empty()));
    }

    /**
     * Returns an extension over fake GPUs, for tests of code that needs a GPU. A test also fails for what
     * {@link FakeGpu#misuse} tells.
     *
     * @param gpu the GPUs, in a field that is not static
     * @return the extension
     */
    public static GdsExtension over(FakeGpu gpu) {
        Objects.requireNonNull(gpu, "gpu");
        return new GdsExtension(context -> Served.by(gpu));
    }

    /**
     * Returns the driver of this test, which the extension closes. The first call opens it.
     *
     * @return the driver
     * @throws IllegalStateException outside of a test
     */
    public synchronized CuFileDriver driver() {
        return running().driver();
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
        Run begun = new Run(serving.apply(context));
        run = begun;
        context.getStore(NAMESPACE).put(this, begun);
    }

    /** Tells whether a test takes a {@link CuFileDriver}, a {@link FaultInjectingBackend} or a {@link FakeGpu}. */
    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Run now = context.getStore(NAMESPACE).get(this, Run.class);
        return now != null && now.hasParameter(parameter.getParameter().getType());
    }

    /** Returns what {@link #driver}, {@link #faults} or the fake GPUs of this test are. */
    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return Objects.requireNonNull(context.getStore(NAMESPACE).get(this, Run.class), "run")
                .parameter(parameter.getParameter().getType())
                .orElseThrow();
    }

    /**
     * Closes what the extension opened.
     *
     * @throws AssertionError if the test passed, but left something open or has a fault that never happened
     */
    @Override
    public synchronized void afterEach(ExtensionContext context) {
        // An extension of @ExtendWith serves tests that run at the same time.
        Run ended = Objects.requireNonNull(context.getStore(NAMESPACE).remove(this, Run.class), "run");
        run = null;
        List<String> problems = new ArrayList<>();
        ended.memories.forEach(memory -> attempt(memory::verify, problems));
        problems.addAll(ended.backend.openObjects());
        ended.memories.forEach(memory -> attempt(memory::close, problems));
        problems.addAll(ended.backend.openMemory());
        Optional.ofNullable(ended.driver).ifPresent(driver -> attempt(driver::close, problems));
        problems.addAll(ended.backend.openDrivers());
        ended.gpu.ifPresent(gpu -> problems.addAll(gpu.misuse()));
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
