package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

class GdsExtensionTest {
    /** Serves this test as JUnit runs it. */
    @RegisterExtension
    final GdsExtension registered = GdsExtension.create();

    /** The extension under test, whose tests are the bodies below. */
    private final GdsExtension gds = GdsExtension.create();

    @TempDir
    Path directory;

    private GuardedFile file;

    /** JUnit's store of a test, with what the extension uses of it. */
    private final Map<Object, Object> stored = new HashMap<>();
    private final ExtensionContext.Store store = (ExtensionContext.Store) Proxy.newProxyInstance(
            ExtensionContext.class.getClassLoader(),
            new Class<?>[]{ExtensionContext.Store.class},
            (proxy, method, arguments) -> switch (method.getName()) {
                case "put" -> stored.put(arguments[0], arguments[1]);
                case "remove" -> stored.remove(arguments[0]);
                default -> throw new UnsupportedOperationException(method.getName());
            });

    @BeforeEach
    void start() {
        file = GuardedFile.create(directory.resolve("file"), 10_000, 1);
        gds.beforeEach(context(Optional.empty()));
    }

    /** JUnit's view of a test that ended with this failure. */
    private ExtensionContext context(Optional<Throwable> failure) {
        return (ExtensionContext) Proxy.newProxyInstance(
                ExtensionContext.class.getClassLoader(),
                new Class<?>[]{ExtensionContext.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getExecutionException" -> failure;
                    case "getStore" -> store;
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    private void end() {
        gds.afterEach(context(Optional.empty()));
    }

    private AbstractThrowableAssert<?, ? extends Throwable> assertReport() {
        return assertThatThrownBy(this::end)
                .isInstanceOf(AssertionError.class)
                .hasMessageStartingWith("the test left behind:");
    }

    private CuFileHandle open(CuFileDriver driver) {
        return driver.openFile(file.path(), StandardOpenOption.READ);
    }

    @Test
    void junitOpensAndClosesTheDriver() {
        GuardedMemory memory = registered.memory(MemoryKind.HOST, 4096);
        registered.faults().on(Call.READ).nth(2).fails(Errno.EIO);
        try (CuFileHandle handle = open(registered.driver())) {
            handle.read(memory.range(), 0);
            memory.expect(0, file.expected(0, 4096));
            Failures.expectErrno(Errno.EIO, () -> handle.read(memory.range(), 0));
        }
    }

    @Test
    void cleanTestPassesAndItsDriverCloses() {
        CuFileDriver driver = gds.driver();
        assertThat(gds.driver()).isSameAs(driver);
        open(driver).close();
        try (CuFileDriver own = CuFileDriver.open(gds.backend());
                MemoryAllocation memory = own.allocator().allocate(MemoryKind.HOST, 4096);
                CuFileBuffer buffer = own.registerBuffer(memory.range())) {
            assertThat(buffer.isOpen()).isTrue();
        }
        assertThatCode(this::end).doesNotThrowAnyException();
        assertThat(driver.isOpen()).isFalse();
    }

    @Test
    void testWithoutADriverPasses() {
        assertThatCode(this::end).doesNotThrowAnyException();
    }

    @Test
    void forgottenHandleIsNamedWithItsPlace() {
        CuFileHandle forgotten = open(gds.driver());
        assertReport()
                .hasMessageContaining("a CuFileHandle was not closed; opened")
                .hasMessageContaining("GdsExtensionTest.forgottenHandleIsNamedWithItsPlace");
        assertThat(forgotten.isOpen()).isFalse();
    }

    @Test
    void forgottenBufferAndMemoryAreNamed() {
        MemoryAllocation memory = gds.driver().allocator().allocate(MemoryKind.HOST, 1234);
        CuFileBuffer forgotten = gds.driver().registerBuffer(memory.range());
        assertReport()
                .hasMessageContaining("a CuFileBuffer was not closed; registered")
                .hasMessageContaining("memory was not freed: 1234 bytes of HOST")
                .hasMessageContaining("GdsExtensionTest.forgottenBufferAndMemoryAreNamed");
        assertThat(forgotten.isOpen()).isFalse();
        memory.close();
    }

    @Test
    void forgottenDriverIsNamed() {
        CuFileDriver forgotten = CuFileDriver.open(gds.backend());
        assertReport()
                .hasMessageContaining("1 of 1 drivers were not closed")
                .hasMessageContaining("GdsExtensionTest.forgottenDriverIsNamed");
        forgotten.close();
    }

    @Test
    void strayWriteIntoGuardedMemoryIsReported() {
        GuardedMemory memory = gds.memory(MemoryKind.HOST, 100);
        byte[] other = {(byte) ~memory.byteAt(7)};
        gds.driver().allocator().copyFromHost(MemorySegment.ofArray(other), memory.range().slice(7, 1));
        assertReport().hasMessageContaining("byte 7 of the range");
    }

    @Test
    void faultThatNeverHappenedFailsTheTest() {
        gds.faults().on(Call.FSYNC).fails(Errno.EIO);
        assertReport().hasMessageContaining("a planned fault never happened: FSYNC fails with EIO");
    }

    @Test
    void failedTestKeepsItsOwnFailure() {
        CuFileHandle forgotten = open(gds.driver());
        gds.faults().on(Call.FSYNC).fails(Errno.EIO);
        assertThatCode(() -> gds.afterEach(context(Optional.of(new AssertionError("its own")))))
                .doesNotThrowAnyException();
        assertThat(forgotten.isOpen()).isFalse();
    }

    @Test
    void failedCloseIsReported() {
        open(gds.driver());
        gds.faults().on(Call.CLOSE).fails(Errno.EDQUOT);
        assertReport().hasMessageContaining("EDQUOT");
    }

    @Test
    void eachTestHasItsOwnBackend() {
        CuFileDriver first = gds.driver();
        end();
        assertThatIllegalStateException().isThrownBy(gds::driver);
        gds.beforeEach(context(Optional.empty()));
        assertThat(gds.driver()).isNotSameAs(first);
        end();
    }

    @Test
    void misuseOfAFakeGpuIsReported() {
        FakeGpu gpu = FakeGpu.create();
        GdsExtension over = GdsExtension.over(gpu);
        over.beforeEach(context(Optional.empty()));
        MemoryAllocation leaked = over.driver().allocator().allocate(MemoryKind.CUDA_DEVICE, 4096);
        MemoryAllocation freed = over.driver().allocator().allocate(MemoryKind.CUDA_POOL, 512);
        freed.close();
        MemoryRange raw = MemoryRange.ofAddress(freed.address(), 512, MemoryKind.CUDA_POOL);
        Failures.expect(() -> over.driver().allocator().fill(raw, (byte) 0));
        assertThatThrownBy(() -> over.afterEach(context(Optional.empty())))
                .hasMessageContaining("memory was not freed: 4096 bytes of CUDA_DEVICE")
                .hasMessageContaining("use after free of 512 bytes of CUDA_POOL")
                .hasMessageContaining("GdsExtensionTest.misuseOfAFakeGpuIsReported");
        leaked.close();
    }
}
