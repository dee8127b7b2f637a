package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One call moves several ranges. */
class VectorTransfersTest extends SessionRig {
    private static final int PAGE = 4096;

    @Override
    protected FakeMachine machine() {
        FakeMachine machine = new FakeMachine(true).withDirectStorage();
        machine.fake.reporting(1190, 78);
        return machine;
    }

    private static List<MemoryRange> pages(MemoryAllocation memory, int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> memory.range().slice((long) i * PAGE, PAGE))
                .toList();
    }

    @Test
    void oneCallMovesAllRanges() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4 * PAGE);
        BackendFile file = file();
        assertThat(backend.readv(file, pages(memory, 4), 100, 0)).isEqualTo(4 * PAGE);
        assertThat(bytes(memory, 0, 4 * PAGE)).isEqualTo(expected(100, 4 * PAGE));
        assertThat(backend.writev(file, pages(memory, 4), SIZE, 0)).isEqualTo(4 * PAGE);
        assertThat(file.size()).isEqualTo(SIZE + 4 * PAGE);
        assertThat(fake.transfers().vectors()).isEqualTo(2);
    }

    /** Found by attack: the library chooses its direct descriptor by offset and size, and the kernel refuses an odd address. */
    @ParameterizedTest(name = "{0}")
    @ValueSource(booleans = {false, true})
    void oddHostMemoryOfADirectFileIsNoVector(boolean write) {
        MemoryAllocation memory = allocate(MemoryKind.HOST, 3 * PAGE);
        BackendFile file = backend.handleRegister(
                FileSource.Named.of(path, StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT));
        List<ScatterCopy> fragments = List.of(
                new ScatterCopy(0, PAGE, memory.range(), PAGE + 1), new ScatterCopy(PAGE, PAGE, memory.range(), 1));
        backend.allocator().fill(memory.range(), (byte) 7);
        assertThat(backend.transfer(
                BatchRequest.scattered(file, write ? Operation.WRITE : Operation.READ, 0, 2 * PAGE, fragments)))
                .isEqualTo(2 * PAGE);
        if (!write) {
            assertThat(bytes(memory, PAGE + 1, PAGE)).isEqualTo(expected(0, PAGE));
            assertThat(bytes(memory, 1, PAGE)).isEqualTo(expected(PAGE, PAGE));
        }
    }

    /** Found by attack: libcufile 1.19.1 and 1.20.0 abort the process at a range of 0 bytes. */
    @Test
    void emptyRangesNeverReachTheLibrary() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 2 * PAGE);
        MemoryRange empty = memory.range().slice(PAGE, 0);
        BackendFile file = file();
        assertThat(backend.readv(file, List.of(empty, memory.range(), empty), 100, 0)).isEqualTo(2 * PAGE);
        assertThat(bytes(memory, 0, 2 * PAGE)).isEqualTo(expected(100, 2 * PAGE));
        assertThat(backend.writev(file, List.of(empty, memory.range(), empty), SIZE, 0)).isEqualTo(2 * PAGE);
        assertThat(backend.readv(file, List.of(empty, empty), 0, 0)).isZero();
        assertThat(fake.transfers().vectors()).isEqualTo(2);
    }

    @Test
    void fragmentsThatFillARangeAreOneVector() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4 * PAGE);
        BackendFile file = file();
        List<ScatterCopy> fragments = List.of(
                new ScatterCopy(PAGE + 5, PAGE, memory.range(), 0),
                new ScatterCopy(0, PAGE + 5, memory.range(), 2 * PAGE - 5),
                new ScatterCopy(2 * PAGE + 5, 77, memory.range(), PAGE + 3));
        int size = 2 * PAGE + 82;
        assertThat(backend.transfer(BatchRequest.scattered(file, Operation.READ, 100, size, fragments)))
                .isEqualTo(size);
        assertThat(bytes(memory, 0, PAGE)).isEqualTo(expected(100 + PAGE + 5, PAGE));
        assertThat(bytes(memory, 2 * PAGE - 5, PAGE + 5)).isEqualTo(expected(100, PAGE + 5));
        assertThat(bytes(memory, PAGE + 3, 77)).isEqualTo(expected(100 + 2 * PAGE + 5, 77));
        assertThat(backend.transfer(BatchRequest.scattered(file, Operation.WRITE, SIZE, size, fragments)))
                .isEqualTo(size);
        assertThat(fake.transfers().vectors()).isEqualTo(2);
        assertThat(backend.read(file, memory.range(), size, SIZE, 0)).isEqualTo(size);
        assertThat(bytes(memory, 0, size)).isEqualTo(expected(100, size));
    }

    @Test
    void fragmentsWithGapsOrRowsAreNoVector() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4 * PAGE);
        BackendFile file = file();
        for (List<ScatterCopy> fragments : List.of(
                List.of(new ScatterCopy(0, 10, memory.range(), 0), new ScatterCopy(11, PAGE - 11, memory.range(), 10)),
                List.of(new ScatterCopy(0, PAGE, memory.range(), 0), new ScatterCopy(0, PAGE, memory.range(), PAGE)),
                List.of(new ScatterCopy(0, 10, memory.range(), 0), new ScatterCopy(10, 20, memory.range(), 10)),
                List.of(new ScatterCopy(0, 2048, 1024, 2, memory.range(), 0, 1024),
                        new ScatterCopy(1024, 2048, 1024, 2, memory.range(), PAGE, 1024)))) {
            assertThat(backend.transfer(BatchRequest.scattered(file, Operation.READ, 7, PAGE, fragments)))
                    .isEqualTo(PAGE);
            ScatterCopy first = fragments.getFirst();
            assertThat(bytes(memory, 0, (int) first.width())).isEqualTo(expected(7, (int) first.width()));
        }
        assertThat(fake.transfers().vectors()).isZero();
    }

    /** The library answers EINVAL to more than 128 ranges, and 1.20.0 never closes after more than 64. */
    @Test
    void longVectorTakesSeveralCalls() {
        int count = 2 * 64 + 3;
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, (long) count * PAGE);
        List<MemoryRange> ranges = IntStream.range(0, count)
                .mapToObj(i -> memory.range().slice((long) i * PAGE, 100))
                .toList();
        BackendFile file = file();
        assertThat(backend.readv(file, ranges, 7, 0)).isEqualTo(count * 100L);
        for (int i = 0; i < count; i++) {
            assertThat(bytes(memory, (long) i * PAGE, 100)).isEqualTo(expected(7 + i * 100L, 100));
        }
        assertThat(backend.writev(file, ranges, SIZE, 0)).isEqualTo(count * 100L);
        assertThat(fake.transfers().vectors()).isEqualTo(6);
    }

    @Test
    void shortAnswersAreContinued() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4 * PAGE);
        BackendFile file = file();
        fake.transfers().stopNextAfter(1000);
        assertThat(backend.readv(file, pages(memory, 4), 100, 0)).isEqualTo(4 * PAGE);
        assertThat(bytes(memory, 0, 4 * PAGE)).isEqualTo(expected(100, 4 * PAGE));
        fake.transfers().stopNextAfter(1000);
        assertThat(backend.writev(file, pages(memory, 4), SIZE, 0)).isEqualTo(4 * PAGE);
        assertThat(file.size()).isEqualTo(SIZE + 4 * PAGE);
    }

    @Test
    void readLeavesBytesBehindTheEndUntouched() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4 * PAGE);
        byte[] before = bytes(memory, 0, 4 * PAGE);
        BackendFile file = file();
        long offset = SIZE - 2 * PAGE - 10;
        assertThat(backend.readv(file, pages(memory, 4), offset, 0)).isEqualTo(2 * PAGE + 10);
        assertThat(bytes(memory, 0, 2 * PAGE + 10)).isEqualTo(expected(offset, 2 * PAGE + 10));
        assertThat(bytes(memory, 2 * PAGE + 10, PAGE)).isEqualTo(Arrays.copyOf(before, PAGE));
        assertThat(backend.readv(file, pages(memory, 4), SIZE, 0)).isZero();
    }

    @Test
    void memoryOfSeveralContextsIsServed() {
        MemoryAllocation device = allocate(MemoryKind.CUDA_DEVICE, PAGE);
        MemoryAllocation host = allocate(MemoryKind.HOST, PAGE);
        assertThat(backend.readv(file(), List.of(host.range(), device.range(), host.range().slice(0, 10)), 0, 0))
                .isEqualTo(2 * PAGE + 10);
        assertThat(bytes(device, 0, PAGE)).isEqualTo(expected(PAGE, PAGE));
        assertThat(bytes(host, 0, 10)).isEqualTo(expected(2 * PAGE, 10));
    }

    @Test
    void failureCarriesTheCountOfAllRanges() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4 * PAGE);
        BackendFile file = file();
        fake.transfers().stopNextAfter(1000);
        fake.transfers().answerNext(-1, Errno.ENOSPC);
        CuFileException failure = failure(() -> backend.writev(file, pages(memory, 4), 7, 0));
        assertThat(failure.function()).isEqualTo("cuFileWritev");
        assertThat(failure.errno()).hasValue(Errno.ENOSPC);
        assertThat(failure.bytesTransferred()).isEqualTo(1000);
        assertThat(failure.fileOffset()).hasValue(7);
        assertThat(failure.size()).hasValue(4 * PAGE);
        fake.transfers().answerNext(-1, CuFileError.CUDA_CONTEXT_MISMATCH.code());
        expect(CuFileError.CUDA_CONTEXT_MISMATCH, () -> backend.readv(file, pages(memory, 4), 0, 0));
    }

    @Test
    void virtualThreadsCallTheLibraryFromPlatformThreads() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 2 * PAGE);
        BackendFile file = file();
        AtomicReference<String> thread = new AtomicReference<>();
        fake.transfers().during(() -> thread.set(Thread.currentThread().getName()));
        Thread.ofVirtual().start(() -> backend.readv(file, pages(memory, 2), 0, 0)).join();
        assertThat(thread.get()).startsWith("gds4j-libcufile-");
        assertThat(bytes(memory, 0, 2 * PAGE)).isEqualTo(expected(0, 2 * PAGE));
    }
}
