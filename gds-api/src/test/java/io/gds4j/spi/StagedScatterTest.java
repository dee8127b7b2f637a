package io.gds4j.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;
import io.gds4j.RecordingBackend;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Fragments on a backend that reads and writes one memory at a time. */
class StagedScatterTest {
    private static final int MIB = 1 << 20;

    /** A backend whose copies between memories fail. */
    private static final class WithoutCopies extends RecordingBackend {
        @Override
        public MemoryAllocator allocator() {
            MemoryAllocator works = super.allocator();
            return (MemoryAllocator) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[]{MemoryAllocator.class}, (proxy, method, arguments) -> {
                        if (method.getName().startsWith("copy")) {
                            throw CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, "cuMemcpyAsync", "lost");
                        }
                        return method.invoke(works, arguments);
                    });
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aCopyThatFailsLeavesTheCountOfThePiecesBefore(boolean write) {
        try (CuFileDriver driver = CuFileDriver.open(new WithoutCopies());
                CuFileHandle handle = driver.openFile(Path.of("file"));
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 2 * MIB)) {
            List<ScatterCopy> copies = List.of(
                    new ScatterCopy(0, MIB, memory, 0), // by a call of its own
                    new ScatterCopy(MIB, 100, memory, MIB),
                    new ScatterCopy(MIB + 100, 200, memory, MIB + 100));
            IoResult result = new IoResult();

            CuFileException failure = catchThrowableOfType(CuFileException.class, () -> {
                if (write) {
                    handle.writeScattered(4096, MIB + 300, copies, result);
                } else {
                    handle.readScattered(4096, MIB + 300, copies, result);
                }
            });

            assertThat(failure.error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
            assertThat(failure.function()).isEqualTo(write ? "cuFileWrite" : "cuFileRead");
            assertThat(failure.fileOffset()).hasValue(4096);
            assertThat(failure.bytesTransferred()).isEqualTo(MIB);
            assertThat(result.moved()).isEqualTo(MIB);
        }
    }
}
