package io.gds4j.compat.transfer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What is refused before a byte moves. */
@Timeout(60)
class RefusedRequestsTest {
    private static final int SIZE = 1000;

    @TempDir
    private Path folder;

    private final FakeCuda cuda = new FakeCuda(2, 64 << 20);

    /** Uses an open backend, and checks that nothing is left. */
    @FunctionalInterface
    private interface Use {
        void of(CuFileBackend backend);
    }

    private void use(boolean allowsSystemMemory, Use use) {
        CuFileBackend backend = new CompatBackend(CuFileConfig.builder().withoutEnvironment()
                .set(CuFileKeys.ALLOW_SYSTEM_MEMORY, allowsSystemMemory).build(), FfmPosix.instance(),
                cuda.available());
        backend.driverOpen();
        try {
            use.of(backend);
        } finally {
            backend.driverClose();
        }
        assertThat(cuda.violations()).isEmpty();
    }

    private BackendFile file(CuFileBackend backend, OpenOption... options) {
        try {
            Path path = Files.write(folder.resolve("file"), new byte[SIZE]);
            return backend.handleRegister(FileSource.Named.of(path, options));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static CuFileError refusal(CuFileBackend backend, BatchRequest request) {
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> backend.transfer(request));
        assertThat(e).as("%s", request).isNotNull();
        return e.error();
    }

    private static BatchRequest plain(BackendFile file, Operation operation, MemoryRange memory, long... numbers) {
        return new BatchRequest(file, operation, memory, numbers[0], numbers[1], numbers[2], 7)
                .reportTo((path, at, bytes) -> {
                    throw new AssertionError("bytes are moved");
                });
    }

    @ParameterizedTest
    @CsvSource({"-1, 0, 0, INVALID_VALUE", "1, -1, 0, INVALID_VALUE", "1, 0, -1, INVALID_VALUE",
            "2, 9223372036854775806, 0, INVALID_VALUE", "10, 0, 91, CUDA_POINTER_RANGE_ERROR"})
    void numbersOutOfRangeAreRefused(long size, long fileOffset, long bufferOffset, CuFileError error) {
        use(true, backend -> {
            MemoryAllocation memory = backend.allocator().allocate(MemoryKind.HOST, 100, MemoryRange.NO_DEVICE);
            BackendFile file = file(backend, StandardOpenOption.READ, StandardOpenOption.WRITE);
            for (Operation operation : List.of(Operation.READ, Operation.WRITE)) {
                assertThat(refusal(backend, plain(file, operation, memory.range(), size, fileOffset, bufferOffset)))
                        .isEqualTo(error);
                assertThat(catchThrowableOfType(CuFileException.class, () -> {
                    if (operation.isWrite()) {
                        backend.write(file, memory.range(), size, fileOffset, bufferOffset);
                    } else {
                        backend.read(file, memory.range(), size, fileOffset, bufferOffset);
                    }
                }).error()).isEqualTo(error);
            }
            memory.close();
        });
    }

    /** Reads copies as "OFFSET+BYTES OFFSET+BYTES", one behind the other in memory. */
    private static List<ScatterCopy> copies(String text, MemoryRange memory) {
        List<ScatterCopy> copies = new ArrayList<>();
        long at = 0;
        for (String copy : text.split(" ")) {
            String[] numbers = copy.split("\\+");
            copies.add(new ScatterCopy(Long.parseLong(numbers[0]), Long.parseLong(numbers[1]), memory, at));
            at += Long.parseLong(numbers[1]);
        }
        return copies;
    }

    @ParameterizedTest(name = "{0} of {2} bytes from {3} on with {4}")
    @CsvSource({"READ, true, 100, 0, 0+60 60+40, ''", "READ, true, 100, 0, 50+20, ''",
            "READ, true, 100, 0, 0+60 60+41, a copy ends past the file range",
            "READ, true, 100, -1, 0+60, file offset is negative",
            "READ, true, 100, 9223372036854775800, 0+60, overflow",
            "WRITE, true, 100, 0, 0+60 60+40, ''",
            "WRITE, true, 100, 0, 0+60 60+39, the copies hold 99 of 100 bytes",
            "WRITE, true, 100, 0, 0+60 50+50, the copies hold 110 of 100 bytes",
            "WRITE, false, 100, 0, 0+60 60+40, the file is not open for writing",
            "READ, false, 100, 0, 0+60 60+40, ''"})
    void fragmentsAreThoseOfTheFileRange(
            String name, boolean isWritable, long size, long fileOffset, String text, String message) {
        Operation operation = name.equals("READ") ? Operation.READ : Operation.WRITE;
        use(true, backend -> {
            MemoryAllocation memory = backend.allocator().allocate(MemoryKind.HOST, 200, MemoryRange.NO_DEVICE);
            BackendFile file = isWritable ? file(backend, StandardOpenOption.READ, StandardOpenOption.WRITE)
                    : file(backend, StandardOpenOption.READ);
            BatchRequest request =
                    BatchRequest.scattered(file, operation, fileOffset, size, copies(text, memory.range()));
            if (message.isEmpty()) {
                assertThat(backend.transfer(request)).isEqualTo(size);
            } else {
                CuFileException e = catchThrowableOfType(CuFileException.class, () -> backend.transfer(request));
                assertThat(e).hasMessageContaining(message);
            }
            memory.close();
        });
    }

    /** Of calls with and without a report, of fragments and of entries of batches. */
    @ParameterizedTest
    @EnumSource(names = {"HOST", "HOST_PINNED"})
    void systemMemoryIsRefusedToEveryRequest(MemoryKind kind) {
        use(false, backend -> {
            MemoryAllocation host = backend.allocator().allocate(kind, 100, MemoryRange.NO_DEVICE);
            MemoryAllocation gpu = backend.allocator().allocate(MemoryKind.CUDA_DEVICE, 100, 1);
            byte[] ones = new byte[100];
            Arrays.fill(ones, (byte) 1);
            backend.allocator().copyFromHost(MemorySegment.ofArray(ones), host.range());
            BackendFile file = file(backend, StandardOpenOption.READ);
            BatchRequest read = plain(file, Operation.READ, host.range(), 100, 0, 0);
            assertThat(refusal(backend, read)).isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
            assertThat(catchThrowableOfType(
                    CuFileException.class, () -> backend.read(file, host.range(), 100, 0, 0)).error())
                    .isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
            ScatterCopy toHost = new ScatterCopy(0, 50, host.range(), 0);
            ScatterCopy toGpu = new ScatterCopy(50, 50, gpu.range(), 0);
            for (List<ScatterCopy> copies : List.of(
                    List.of(toHost), List.of(toHost, toGpu), List.of(toGpu, toHost))) {
                BatchRequest fragments = BatchRequest.scattered(file, Operation.READ, 0, 100, copies);
                assertThat(refusal(backend, fragments)).isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
            }
            BackendBatch batch = backend.batchIoSetUp(2);
            backend.batchIoSubmit(batch, List.of(
                    read, new BatchRequest(file, Operation.READ, gpu.range(), 100, 0, 0, 8)), 0);
            assertThat(backend.batchIoGetStatus(batch, 2, 2, Optional.of(Duration.ofSeconds(30))))
                    .containsExactlyInAnyOrder(
                            new BatchEvent(7, BatchStatus.FAILED, -CuFileError.CUDA_MEMORY_TYPE_INVALID.code()),
                            new BatchEvent(8, BatchStatus.COMPLETE, 100));
            backend.batchIoDestroy(batch);
            MemorySegment into = MemorySegment.ofArray(new byte[100]);
            backend.allocator().copyToHost(host.range(), into);
            assertThat(into.mismatch(MemorySegment.ofArray(ones))).isEqualTo(-1);
            host.close();
            gpu.close();
        });
    }

    @Test
    void noBytesAreMovedForNone() {
        use(true, backend -> {
            MemoryAllocation memory = backend.allocator().allocate(MemoryKind.HOST, 100, MemoryRange.NO_DEVICE);
            BackendFile file = file(backend, StandardOpenOption.READ);
            assertThat(backend.transfer(plain(file, Operation.READ, memory.range(), 0, 0, 100))).isZero();
            memory.close();
        });
    }
}
