package io.gds4j.internal.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.tuple;

import io.gds4j.CuFileOpenOption;
import io.gds4j.Logged;
import io.gds4j.RecordingBackend;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.Operation;
import io.gds4j.spi.StreamRequest;
import io.gds4j.statistics.IoPath;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests which of two backends serves a call. */
class RoutingBackendTest {
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("second repeats", "second serves instead");

    private final RecordingBackend first = new RecordingBackend();
    private final RecordingBackend second = new RecordingBackend();
    private final AtomicInteger made = new AtomicInteger();
    private final RoutingBackend routing = new RoutingBackend(first, () -> {
        made.incrementAndGet();
        return second;
    });
    private final MemoryAllocation memory = first.allocator().allocate(MemoryKind.HOST, 4096);

    @BeforeEach
    void names() {
        first.name = "first";
        second.name = "second";
        routing.driverOpen();
    }

    @AfterEach
    void free() {
        memory.close();
    }

    private static FileSource source(String path) {
        return FileSource.Named.of(Path.of(path), StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    private static Runnable failing(CuFileError error) {
        return () -> {
            throw CuFileException.of(error, "cuFileHandleRegister", "no udev entry for 254:0");
        };
    }

    private static CuFileException failure(ThrowingCallable call) {
        return catchThrowableOfType(CuFileException.class, call);
    }

    /** A file that the first backend refuses. */
    private BackendFile refused() {
        first.during("handleRegister", failing(CuFileError.HANDLE_NOT_REGISTERED));
        BackendFile file = routing.handleRegister(source("/refused"));
        first.during("handleRegister", () -> {
        });
        return file;
    }

    private static Runnable failingAfter(Runnable action) {
        return () -> {
            action.run();
            throw CuFileException.of(CuFileError.NOMEM_ERROR, "cuFileRead", "no bounce buffer is free");
        };
    }

    @Test
    void secondStaysClosedIfTheDriverClosesDuringAFailure() {
        BackendFile file = routing.handleRegister(source("/a"));
        first.ownDescriptor = 42;
        first.during("read", failingAfter(routing::driverClose));

        assertThat(failure(() -> routing.read(file, memory.range(), 10, 20, 30)).error())
                .isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
        assertThat(second.calls).isEmpty();
    }

    @Test
    void secondGetsNoDescriptorOfAnEarlierSession() {
        BackendFile file = routing.handleRegister(source("/a"));
        first.ownDescriptor = 42;
        first.during("read", failingAfter(() -> {
            routing.driverClose();
            routing.driverOpen();
        }));

        assertThat(failure(() -> routing.read(file, memory.range(), 10, 20, 30)).error())
                .isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
        assertThat(second.calls).isEmpty();
    }

    @Test
    void secondGetsNoDescriptorOfADeregisteredFile() {
        BackendFile file = routing.handleRegister(source("/a"));
        first.ownDescriptor = 42;
        first.during("read", failingAfter(() -> routing.handleDeregister(file)));

        assertThat(failure(() -> routing.read(file, memory.range(), 10, 20, 30)).error())
                .isEqualTo(CuFileError.HANDLE_NOT_REGISTERED);
        assertThat(second.callsOf("handleRegister")).isEmpty();
    }

    @Test
    void secondIsNotMadeWhileTheFirstServes() {
        BackendFile file = routing.handleRegister(source("/a"));
        routing.bufRegister(memory.range(), 0);
        routing.read(file, memory.range(), 10, 20, 30);
        routing.write(file, memory.range(), 1, 2, 3);
        routing.bufDeregister(memory.range());
        routing.handleDeregister(file);
        routing.driverClose();

        assertThat(made).hasValue(0);
        assertThat(first.calls)
                .containsExactly(
                        "driverOpen",
                        "handleRegister /a",
                        "bufRegister 4096",
                        "read /a 10 20 30",
                        "write /a 1 2 3",
                        "bufDeregister 4096",
                        "handleDeregister /a",
                        "driverClose");
    }

    @ParameterizedTest
    @EnumSource(
            names = {
                    "IO_NOT_SUPPORTED",
                    "HANDLE_NOT_REGISTERED",
                    "INTERNAL_ERROR",
                    "IO_DISABLED",
                    "DEVICE_NOT_SUPPORTED",
                    "DRIVER_NOT_INITIALIZED",
                    "GETNEWFD_FAILED"
            })
    void secondServesFilesThatTheFirstCannot(CuFileError error) {
        first.during("handleRegister", failing(error));
        BackendFile file = routing.handleRegister(source("/a"));
        routing.read(file, memory.range(), 10, 20, 30);
        routing.handleDeregister(file);

        assertThat(first.callsOf("read", "handleDeregister")).isEmpty();
        assertThat(second.calls)
                .containsExactly("driverOpen", "handleRegister /a", "read /a 10 20 30", "handleDeregister /a");
        assertThat(file.ioPath().reason()).isEqualTo("the test says so; first: no udev entry for 254:0");
        assertThat(routing.name()).isEqualTo("first");
    }

    @ParameterizedTest
    @EnumSource(names = {"INVALID_FILE_TYPE", "INVALID_FILE_OPEN_FLAG", "HANDLE_ALREADY_REGISTERED", "INVALID_VALUE"})
    void invalidFileIsRefused(CuFileError error) {
        first.during("handleRegister", failing(error));
        assertThat(failure(() -> routing.handleRegister(source("/a"))).error()).isEqualTo(error);
        assertThat(made).hasValue(0);
    }

    @Test
    void fileThatTheKernelRefusesIsRefused() {
        first.during("handleRegister", () -> {
            throw CuFileException.builder("cuFileHandleRegister")
                    .error(CuFileError.IO_NOT_SUPPORTED)
                    .errno(Errno.EOPNOTSUPP)
                    .build();
        });
        assertThat(failure(() -> routing.handleRegister(source("/a"))).errno()).hasValue(Errno.EOPNOTSUPP);
        assertThat(made).hasValue(0);
    }

    @Test
    void secondOpensTheFileThatTheFirstCreated() {
        first.during("handleRegister", failing(CuFileError.INTERNAL_ERROR));
        FileSource.Named[] seen = new FileSource.Named[1];
        CuFileBackend watching = new RecordingBackend() {
            @Override
            public BackendFile handleRegister(FileSource source) {
                seen[0] = (FileSource.Named) source;
                return super.handleRegister(source);
            }
        };
        RoutingBackend own = new RoutingBackend(first, () -> watching);
        own.handleRegister(
                FileSource.Named.of(Path.of("/new"), StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW,
                        StandardOpenOption.TRUNCATE_EXISTING, CuFileOpenOption.DIRECT, StandardOpenOption.SYNC,
                        CuFileOpenOption.DROP));
        assertThat(seen[0])
                .isEqualTo(
                        FileSource.Named.of(Path.of("/new"), StandardOpenOption.WRITE, StandardOpenOption.CREATE,
                                StandardOpenOption.TRUNCATE_EXISTING, CuFileOpenOption.DIRECT, StandardOpenOption.SYNC,
                                CuFileOpenOption.DROP));
    }

    @Test
    void secondServesAllIfTheFirstCannotBeOpened() {
        routing.driverClose();
        first.during("driverOpen", failing(CuFileError.DRIVER_VERSION_MISMATCH));
        routing.driverOpen();
        assertThat(routing.name()).isEqualTo("second");
        BackendFile file = routing.handleRegister(source("/a"));
        routing.read(file, memory.range(), 1, 2, 3);
        routing.controls().setStatsLevel(1);
        assertThat(file.ioPath().reason()).contains("first cannot be opened").contains("5004");
        routing.driverClose();
        assertThat(second.calls)
                .containsExactly("driverOpen", "handleRegister /a", "read /a 1 2 3", "setStatsLevel 1", "driverClose");
        assertThat(first.callsOf("driverClose")).hasSize(1);
        assertThat(logged.lines()).singleElement().asString().startsWith("WARNING first cannot be opened: ");
    }

    @Test
    void settingsThatDifferFromTheOpenLibraryAreRefused() {
        routing.driverClose();
        first.during("driverOpen", failing(CuFileError.DRIVER_ALREADY_OPEN));
        assertThat(failure(routing::driverOpen).error()).isEqualTo(CuFileError.DRIVER_ALREADY_OPEN);
        assertThat(made).hasValue(0);
        assertThat(routing.useCount()).isZero();
    }

    @Test
    void secondContinuesATransferWhereItFailed() {
        first.ownDescriptor = 42;
        BackendFile file = routing.handleRegister(source("/a"));
        Runnable broken = () -> {
            throw CuFileException.builder("cuFileWrite")
                    .error(CuFileError.IO_ERROR)
                    .errno(Errno.EIO)
                    .transferred(100)
                    .build();
        };
        first.during("write", broken);
        first.during("read", broken);

        assertThat(routing.write(file, memory.range(), 1000, 5000, 7)).isEqualTo(1000);
        assertThat(routing.read(file, memory.range(), 1000, 5000, 7)).isEqualTo(1000);
        routing.handleDeregister(file);

        assertThat(second.calls)
                .containsExactly(
                        "driverOpen",
                        "handleRegister fd 42",
                        "write fd 42 900 5100 107",
                        "read fd 42 900 5100 107",
                        "handleDeregister fd 42");
        assertThat(first.callsOf("handleDeregister")).hasSize(1);
        assertThat(logged.lines()).singleElement().asString().contains("EIO")
                .endsWith("second repeats what first fails to do");
    }

    @Test
    void failureOfBothCountsTheBytesOfBoth() {
        first.ownDescriptor = 42;
        BackendFile file = routing.handleRegister(source("/a"));
        first.during("write", () -> {
            throw CuFileException.builder("cuFileWrite").error(CuFileError.IO_ERROR).transferred(100).build();
        });
        second.during("write", () -> {
            throw CuFileException.builder("cuFileWrite")
                    .error(CuFileError.IO_ERROR)
                    .errno(Errno.ENOSPC)
                    .transferred(50)
                    .detail("disk full")
                    .build();
        });
        CuFileException failure = failure(() -> routing.write(file, memory.range(), 1000, 5000, 7));
        assertThat(failure.errno()).hasValue(Errno.ENOSPC);
        assertThat(failure.bytesTransferred()).isEqualTo(150);
        assertThat(failure.fileOffset()).hasValue(5000);
        assertThat(failure.size()).hasValue(1000);
        assertThat(failure.detail()).isEqualTo("disk full");
        assertThat(failure.getSuppressed()).hasSize(1);
        assertThat(logged.lines()).hasSize(1);
    }

    @Test
    void secondContinuesVectorsAndReportedRequestsWhereTheyFailed() {
        first.ownDescriptor = 42;
        BackendFile file = routing.handleRegister(source("/a"));
        List<MemoryRange> ranges =
                List.of(memory.range().slice(0, 60), memory.range().slice(60, 60), memory.range().slice(120, 80));
        for (String call : List.of("readv", "writev", "read", "write")) {
            first.during(call, () -> {
                throw CuFileException.builder(call).error(CuFileError.IO_ERROR).transferred(100).build();
            });
        }
        second.during("writev", () -> {
            throw CuFileException.builder("cuFileWritev").error(CuFileError.IO_ERROR).transferred(40).build();
        });
        routing.readv(file, ranges, 5000, 0);
        CuFileException failure = failure(() -> routing.writev(file, ranges, 5000, 0));
        assertThat(failure.bytesTransferred()).isEqualTo(140);
        assertThat(failure.size()).hasValue(200);
        Map<IoPath, Long> moved = new EnumMap<>(IoPath.class);
        BatchRequest request = new BatchRequest(file, Operation.WRITE, memory.range(), 1000, 5000, 7, 0)
                .reportTo((path, offset, bytes) -> moved.merge(path, bytes, Long::sum));
        assertThat(routing.transfer(request)).isEqualTo(1000);
        assertThat(moved.values().stream().mapToLong(Long::longValue).sum()).isEqualTo(1000);
        List<ScatterCopy> copies = List.of(
                new ScatterCopy(0, 150, memory.range(), 0), new ScatterCopy(150, 150, memory.range(), 200));
        BatchRequest rest = BatchRequest.scattered(file, Operation.WRITE, 5000, 300, copies).rest(100);
        assertThat(rest.fileOffset()).isEqualTo(5100);
        assertThat(rest.size()).isEqualTo(200);
        assertThat(rest.copies())
                .extracting(ScatterCopy::sourceOffset, ScatterCopy::bytes, ScatterCopy::destinationOffset)
                .containsExactly(tuple(0L, 50L, 100L), tuple(50L, 150L, 200L));
        assertThat(second.callsOf("readv", "writev", "write"))
                .containsExactly("readv 2 5100", "writev 2 5100", "write fd 42 900 5100 107");
    }

    @Test
    void transferThatCannotBeRepeatedFails() {
        BackendFile file = routing.handleRegister(source("/a"));
        first.during("read", failing(CuFileError.NOMEM_ERROR));
        assertThat(failure(() -> routing.read(file, memory.range(), 1, 0, 0)).error())
                .isEqualTo(CuFileError.NOMEM_ERROR);
    }

    @ParameterizedTest
    @EnumSource(
            names = {
                    "INVALID_VALUE",
                    "CUDA_POINTER_INVALID",
                    "CUDA_POINTER_RANGE_ERROR",
                    "INVALID_FILE_OPEN_FLAG",
                    "HANDLE_NOT_REGISTERED",
                    "DRIVER_CLOSING"
            })
    void invalidTransferIsNotRepeated(CuFileError error) {
        first.ownDescriptor = 42;
        BackendFile file = routing.handleRegister(source("/a"));
        first.during("read", failing(error));
        assertThat(failure(() -> routing.read(file, memory.range(), 1, 0, 0)).error()).isEqualTo(error);
        assertThat(made).hasValue(0);
    }

    @Test
    void memoryIsRegisteredWithBothWhenTheSecondOpens() {
        routing.bufRegister(memory.range(), 3);
        BackendFile file = refused();
        MemoryRange other = memory.range().slice(100, 50);
        routing.bufRegister(other, 0);
        routing.bufDeregister(memory.range());
        assertThat(second.callsOf("bufRegister", "bufDeregister"))
                .containsExactly("bufRegister 4096 flags 3", "bufRegister 50", "bufDeregister 4096");
        assertThat(first.callsOf("bufRegister", "bufDeregister"))
                .containsExactly("bufRegister 4096 flags 3", "bufRegister 50", "bufDeregister 4096");
        assertThat(failure(() -> routing.bufDeregister(memory.range())).error())
                .isEqualTo(CuFileError.MEMORY_NOT_REGISTERED);
        routing.handleDeregister(file);
    }

    private static BatchRequest entry(BackendFile file, MemoryAllocation memory, long cookie) {
        return new BatchRequest(file, Operation.READ, memory.range(), 10, 0, 0, cookie);
    }

    @Test
    void firstServesABatchOfItsOwnFiles() {
        BackendFile file = routing.handleRegister(source("/a"));
        BackendBatch batch = routing.batchIoSetUp(4);
        routing.batchIoSubmit(batch, List.of(entry(file, memory, 1), entry(file, memory, 2)), 0);
        assertThat(routing.batchIoGetStatus(batch, 2, 4, Optional.of(Duration.ofSeconds(1)))).hasSize(2);
        routing.batchIoDestroy(batch);
        assertThat(made).hasValue(0);
    }

    @Test
    void secondServesABatchThatHoldsOneOfItsFiles() {
        first.ownDescriptor = 42;
        BackendFile served = routing.handleRegister(source("/a"));
        BackendFile refused = refused();
        BackendBatch batch = routing.batchIoSetUp(4);
        routing.batchIoSubmit(batch, List.of(entry(served, memory, 1), entry(refused, memory, 2)), 0);
        assertThat(first.callsOf("batchIoSubmit")).isEmpty();
        assertThat(second.callsOf("batchIoSubmit", "handleRegister"))
                .containsExactly("handleRegister /refused", "handleRegister fd 42", "batchIoSubmit 2");
        assertThat(routing.batchIoGetStatus(batch, 2, 4, Optional.of(Duration.ofSeconds(1))))
                .hasSize(2)
                .allMatch(event -> event.status() == BatchStatus.COMPLETE);
    }

    @Test
    void batchOnBothHasOneCapacityAndDeliversAllEvents() {
        BackendFile served = routing.handleRegister(source("/a"));
        BackendFile refused = refused();
        BackendBatch batch = routing.batchIoSetUp(4);
        routing.batchIoSubmit(batch, List.of(entry(served, memory, 1), entry(served, memory, 2)), 0);
        routing.batchIoSubmit(batch, List.of(entry(refused, memory, 3)), 0);
        assertThat(failure(() -> routing.batchIoSubmit(
                batch, List.of(entry(refused, memory, 4), entry(refused, memory, 5)), 0))
                .error())
                .isEqualTo(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR);
        assertThat(routing.batchIoGetStatus(batch, 3, 4, Optional.of(Duration.ofSeconds(1))))
                .extracting("cookie")
                .containsExactlyInAnyOrder(1L, 2L, 3L);
        routing.batchIoCancel(batch);
        routing.batchIoDestroy(batch);
        assertThat(first.callsOf("batchIoCancel", "batchIoDestroy")).hasSize(2);
        assertThat(second.callsOf("batchIoCancel", "batchIoDestroy")).hasSize(2);
    }

    @Test
    void streamIsRegisteredWithTheSecondAtItsFirstUse() {
        BackendFile served = routing.handleRegister(source("/a"));
        BackendFile refused = refused();
        routing.streamRegister(77, 5);
        routing.readAsync(request(served));
        assertThat(second.callsOf("streamRegister")).isEmpty();
        routing.readAsync(request(refused));
        routing.writeAsync(request(refused));
        routing.streamDeregister(77);
        assertThat(second.callsOf("streamRegister", "readAsync", "writeAsync", "streamDeregister"))
                .containsExactly(
                        "streamRegister 77 flags 5",
                        "readAsync /refused",
                        "writeAsync /refused",
                        "streamDeregister 77");
        assertThat(first.callsOf("streamRegister", "readAsync", "streamDeregister"))
                .containsExactly("streamRegister 77 flags 5", "readAsync /a", "streamDeregister 77");
    }

    @Test
    void secondServesAStreamThatTheFirstDoesNotKnow() {
        first.ownDescriptor = 42;
        BackendFile served = routing.handleRegister(source("/a"));
        first.during("streamRegister", failing(CuFileError.IO_NOT_SUPPORTED));
        routing.streamRegister(77, 5);
        routing.readAsync(request(served));
        routing.streamDeregister(77);
        assertThat(first.callsOf("readAsync", "streamDeregister")).isEmpty();
        assertThat(second.callsOf("streamRegister", "readAsync", "streamDeregister"))
                .containsExactly("streamRegister 77 flags 5", "readAsync fd 42", "streamDeregister 77");
    }

    private StreamRequest request(BackendFile file) {
        MemorySegment cell = memory.range().segment().orElseThrow().asSlice(0, 8);
        return new StreamRequest(file, memory.range(), cell, cell, cell, cell, 77);
    }

    @Test
    void fileOfAnotherOrAClosedDriverIsUnknown() {
        BackendFile file = routing.handleRegister(source("/a"));
        RoutingBackend other = new RoutingBackend(new RecordingBackend(), RecordingBackend::new);
        other.driverOpen();
        other.handleDeregister(file);
        assertThat(failure(() -> other.read(file, memory.range(), 1, 0, 0)).error())
                .isEqualTo(CuFileError.HANDLE_NOT_REGISTERED);
        assertThat(routing.read(file, memory.range(), 1, 0, 0)).isEqualTo(1);
        routing.handleDeregister(file);
        assertThat(failure(() -> routing.read(file, memory.range(), 1, 0, 0)).error())
                .isEqualTo(CuFileError.HANDLE_NOT_REGISTERED);
        routing.driverClose();
        assertThat(failure(() -> routing.read(file, memory.range(), 1, 0, 0)).error())
                .isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
    }

    @Test
    void limitsHoldForBothAndCountsAreAdded() {
        refused();
        routing.controls().driverSetMaxDirectIoSize(64);
        assertThat(first.callsOf("driverSetMaxDirectIoSize")).hasSize(1);
        assertThat(second.callsOf("driverSetMaxDirectIoSize")).hasSize(1);
        assertThat(routing.controls().engineStatistics().bytesByPath().values()).containsExactly(14L);
        assertThat(routing.controls().engineStatistics().bouncePoolPeakBytes()).isEqualTo(8192);
    }
}
