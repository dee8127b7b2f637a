package io.gds4j.libcufile.guard;

import static io.gds4j.error.CuFileError.CUDA_POINTER_INVALID;
import static io.gds4j.error.CuFileError.CUDA_POINTER_RANGE_ERROR;
import static io.gds4j.error.CuFileError.DRIVER_UNSUPPORTED_LIMIT;
import static io.gds4j.error.CuFileError.INTERNAL_BATCH_SUBMIT_ERROR;
import static io.gds4j.error.CuFileError.INVALID_FILE_OPEN_FLAG;
import static io.gds4j.error.CuFileError.INVALID_VALUE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.gds4j.config.TargetType;
import io.gds4j.error.CuFileError;
import io.gds4j.libcufile.FakeMachine;
import io.gds4j.libcufile.SessionRig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Arguments that libcufile answers wrongly or does not survive: each is refused with cuFile's code, before the library sees it. */
class LibraryPreconditionsTest extends SessionRig {
    private static final int LENGTH = 65536;
    private static final long TOO_LARGE = (1L << 62) + 1;

    private final AtomicInteger transfers = new AtomicInteger();
    private MemoryRange gpu;
    private MemoryRange host;
    private BackendFile file;
    private BackendFile readOnly;
    private BackendFile writeOnly;

    @Override
    protected FakeMachine machine() {
        return new FakeMachine(true);
    }

    @BeforeEach
    void prepare() {
        MemoryAllocation onGpu = allocate(MemoryKind.CUDA_DEVICE, LENGTH);
        MemoryAllocation onHost = allocate(MemoryKind.HOST, LENGTH);
        gpu = onGpu.range();
        host = onHost.range();
        file = file();
        readOnly = backend.handleRegister(
                FileSource.Named.of(path, StandardOpenOption.READ));
        writeOnly = backend.handleRegister(
                FileSource.Named.of(path, StandardOpenOption.WRITE));
        fake.transfers().during(transfers::incrementAndGet);
    }

    private interface Call {
        void on(LibraryPreconditionsTest test, CuFileBackend backend);
    }

    private record Case(CuFileError error, String name, Call call) {
        @Override
        public String toString() {
            return name;
        }
    }

    private void submit(MemoryRange memory, BackendFile target, boolean write, long size, long at, long bufferOffset) {
        backend.batchIoSubmit(
                backend.batchIoSetUp(1),
                List.of(new BatchRequest(target, write ? Operation.WRITE : Operation.READ, memory, size, at,
                        bufferOffset, 0)),
                0);
    }

    static List<Case> refused() {
        return List.of(
                new Case(INVALID_VALUE, "size -1", (t, b) -> b.read(t.file, t.gpu, -1, 0, 0)),
                new Case(INVALID_VALUE, "size above 2^62", (t, b) -> b.read(t.file, t.gpu, TOO_LARGE, 0, 0)),
                new Case(INVALID_VALUE, "file offset -1", (t, b) -> b.read(t.file, t.gpu, 1, -1, 0)),
                new Case(INVALID_VALUE, "end past 2^63 - 1", (t, b) -> b.write(t.file, t.gpu, 1, Long.MAX_VALUE, 0)),
                new Case(INVALID_VALUE, "buffer offset -1", (t, b) -> b.write(t.file, t.gpu, 1, 0, -1)),
                new Case(CUDA_POINTER_RANGE_ERROR, "buffer offset past the end",
                        (t, b) -> b.read(t.file, t.gpu, 0, 0, LENGTH + 1)),
                new Case(CUDA_POINTER_RANGE_ERROR, "size past the end", (t, b) -> b.read(t.file, t.host, LENGTH, 0, 1)),
                new Case(INVALID_FILE_OPEN_FLAG, "write, read-only", (t, b) -> b.write(t.readOnly, t.gpu, 1, 0, 0)),
                new Case(INVALID_FILE_OPEN_FLAG, "read, write-only", (t, b) -> b.read(t.writeOnly, t.host, 1, 0, 0)),
                new Case(INVALID_VALUE, "capacity 0", (t, b) -> b.batchIoSetUp(0)),
                new Case(INVALID_VALUE, "capacity above io_batchsize", (t, b) -> b.batchIoSetUp(129)),
                new Case(INTERNAL_BATCH_SUBMIT_ERROR, "flags of a batch",
                        (t, b) -> b.batchIoSubmit(
                                b.batchIoSetUp(1),
                                List.of(new BatchRequest(t.file, Operation.READ, t.gpu, 1, 0, 0, 0)),
                                1)),
                new Case(INTERNAL_BATCH_SUBMIT_ERROR, "entry with size -1",
                        (t, b) -> t.submit(t.gpu, t.file, false, -1, 0, 0)),
                new Case(INTERNAL_BATCH_SUBMIT_ERROR, "entry past the memory",
                        (t, b) -> t.submit(t.gpu, t.file, false, LENGTH, 0, 1)),
                new Case(INTERNAL_BATCH_SUBMIT_ERROR, "entry against the access mode",
                        (t, b) -> t.submit(t.gpu, t.readOnly, true, 1, 0, 0)),
                new Case(INVALID_VALUE, "empty range registered", (t, b) -> b.bufRegister(t.gpu.slice(0, 0), 0)),
                new Case(CUDA_POINTER_INVALID, "unknown address registered",
                        (t, b) -> b.bufRegister(MemoryRange.ofAddress(4096, 4096, MemoryKind.CUDA_DEVICE), 0)),
                new Case(CUDA_POINTER_RANGE_ERROR, "range past its allocation registered",
                        (t, b) -> b.bufRegisterNow(
                                MemoryRange.ofAddress(t.gpu.address(), 2 * LENGTH, MemoryKind.CUDA_DEVICE), 0)),
                new Case(INVALID_VALUE, "vector at file offset -1", (t, b) -> b.readv(t.file, List.of(t.gpu), -1, 0)),
                new Case(INVALID_VALUE, "vector with flags", (t, b) -> b.writev(t.file, List.of(t.gpu), 0, 1)),
                new Case(INVALID_VALUE, "vector that ends past 2^63 - 1",
                        (t, b) -> b.writev(t.file, List.of(t.gpu), Long.MAX_VALUE - LENGTH + 1, 0)),
                new Case(INVALID_FILE_OPEN_FLAG, "vector against the access mode",
                        (t, b) -> b.writev(t.readOnly, List.of(t.gpu), 0, 0)),
                new Case(INVALID_VALUE, "no P2P flag",
                        (t, b) -> b.controls().driverSetP2pFlags(TargetType.values()[0], 0)),
                new Case(INVALID_VALUE, "unknown P2P flag",
                        (t, b) -> b.controls().driverSetP2pFlags(TargetType.values()[0], 32)),
                new Case(DRIVER_UNSUPPORTED_LIMIT, "poll threshold 0",
                        (t, b) -> b.controls().driverSetPollMode(true, 0)),
                new Case(DRIVER_UNSUPPORTED_LIMIT, "poll threshold 5",
                        (t, b) -> b.controls().driverSetPollMode(true, 5)),
                new Case(DRIVER_UNSUPPORTED_LIMIT, "direct I/O 0", (t, b) -> b.controls().driverSetMaxDirectIoSize(0)),
                new Case(DRIVER_UNSUPPORTED_LIMIT, "direct I/O 65",
                        (t, b) -> b.controls().driverSetMaxDirectIoSize(65)),
                new Case(DRIVER_UNSUPPORTED_LIMIT, "direct I/O 16448",
                        (t, b) -> b.controls().driverSetMaxDirectIoSize(16448)),
                new Case(DRIVER_UNSUPPORTED_LIMIT, "cache -4", (t, b) -> b.controls().driverSetMaxCacheSize(-4)),
                new Case(DRIVER_UNSUPPORTED_LIMIT, "cache 3", (t, b) -> b.controls().driverSetMaxCacheSize(3)),
                new Case(DRIVER_UNSUPPORTED_LIMIT, "pinned 60", (t, b) -> b.controls().driverSetMaxPinnedMemSize(60)),
                new Case(DRIVER_UNSUPPORTED_LIMIT, "pinned 66", (t, b) -> b.controls().driverSetMaxPinnedMemSize(66)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("refused")
    void badArgumentNeverReachesTheLibrary(Case bad) {
        List<String> before = fake.calls();
        expect(bad.error, () -> bad.call.on(this, backend));
        assertThat(fake.calls()).isEqualTo(before);
        assertThat(transfers).hasValue(0);
    }

    private static Case accepted(String name, Call call) {
        return new Case(CuFileError.SUCCESS, name, call);
    }

    static List<Case> accepted() {
        return List.of(
                accepted("size 0 at the end of the memory", (t, b) -> b.read(t.file, t.gpu, 0, 0, LENGTH)),
                accepted("size 0 at the last offset", (t, b) -> b.write(t.file, t.gpu, 0, Long.MAX_VALUE, 0)),
                accepted("all of the memory", (t, b) -> b.read(t.file, t.gpu, LENGTH, 0, 0)),
                accepted("last byte of the memory", (t, b) -> b.write(t.file, t.host, 1, 0, LENGTH - 1)),
                accepted("read, read-only", (t, b) -> b.read(t.readOnly, t.gpu, 1, 0, 0)),
                accepted("write, write-only", (t, b) -> b.write(t.writeOnly, t.gpu, 1, 0, 0)),
                accepted("capacity 1", (t, b) -> b.batchIoSetUp(1)),
                accepted("capacity io_batchsize", (t, b) -> b.batchIoSetUp(128)),
                accepted("empty vector", (t, b) -> b.readv(t.file, List.of(), 0, 0)),
                accepted("P2P flag 1", (t, b) -> b.controls().driverSetP2pFlags(TargetType.values()[0], 1)),
                accepted("poll threshold 4", (t, b) -> b.controls().driverSetPollMode(true, 4)),
                accepted("direct I/O 64", (t, b) -> b.controls().driverSetMaxDirectIoSize(64)),
                accepted("direct I/O 16384", (t, b) -> b.controls().driverSetMaxDirectIoSize(16384)),
                accepted("cache 0", (t, b) -> b.controls().driverSetMaxCacheSize(0)),
                accepted("pinned 64", (t, b) -> b.controls().driverSetMaxPinnedMemSize(64)));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("accepted")
    void argumentAtTheLimitIsAccepted(Case good) {
        assertThatCode(() -> good.call.on(this, backend)).doesNotThrowAnyException();
    }
}
