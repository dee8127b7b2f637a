package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SlabArray;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls every function through native stubs: arguments, structures by value, out-parameters. */
class FfmCuFileLibraryTest {
    private static final int SIZE = 10_000;

    @TempDir
    private Path folder;

    private final Posix posix = FfmPosix.instance();
    private final FakeCuda cuda = new FakeCuda();
    private final FakeCuFile fake = new FakeCuFile(cuda).withLaterFunctions();
    private final CuFileLibrary library = fake.library();
    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory = arena.allocate(SIZE);
    private int fd;

    @BeforeEach
    void open() throws IOException {
        byte[] content = new byte[SIZE];
        for (int i = 0; i < SIZE; i++) {
            content[i] = (byte) (i % 251);
        }
        Path file = Files.write(folder.resolve("file"), content);
        fd = posix.open(file.toString(), PosixConstants.O_RDWR, 0);
        library.driverOpen();
    }

    @AfterEach
    void close() {
        while (library.useCount() > 0) {
            library.driverClose();
        }
        posix.close(fd);
        arena.close();
        assertThat(fake.violations()).isEmpty();
    }

    private static void fill(MemorySegment segment, int value) {
        segment.fill((byte) value);
    }

    private static byte content(long offset) {
        return (byte) (offset % 251);
    }

    private byte at(long offset) {
        return memory.get(JAVA_BYTE, offset);
    }

    @Test
    void driverIsOpenedCountedAndClosed() {
        library.driverOpen();
        assertThat(library.useCount()).isEqualTo(2);
        library.driverClose();
        library.driverClose();
        assertThat(library.useCount()).isZero();
        assertThat(failure(library::driverClose).error()).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
    }

    @Test
    void registeredHandleServesTransfers() {
        long handle = library.handleRegister(fd);

        assertThat(handle).isEqualTo(0x7f0000001000L);
        assertThat(library.read(handle, memory.address(), 100, 7, 3)).isEqualTo(100);
        assertThat(at(2)).isZero();
        assertThat(at(3)).isEqualTo(content(7));
        assertThat(at(102)).isEqualTo(content(106));
        assertThat(at(103)).isZero();

        fill(memory, 0);
        assertThat(library.read(handle, memory, 4000, 9_000, 50)).isEqualTo(1000);
        assertThat(at(50)).isEqualTo(content(9_000));

        fill(memory, 42);
        assertThat(library.write(handle, memory.address(), 10, SIZE, 5)).isEqualTo(10);
        assertThat(library.write(handle, memory, 10, SIZE + 10, 0)).isEqualTo(10);
        assertThat(posix.statx(fd).size()).isEqualTo(SIZE + 20);
        library.handleDeregister(handle);
        assertThat(fake.transfers().openFiles()).isZero();
    }

    @Test
    void refusedHandleHasItsError() {
        assertThat(failure(() -> library.handleRegister(9999)).error()).isEqualTo(CuFileError.INVALID_VALUE);
        fake.transfers().refuseFiles(5030);
        CuFileException failure = failure(() -> library.handleRegister(fd));
        assertThat(failure.error()).isEqualTo(CuFileError.INTERNAL_ERROR);
        assertThat(failure.function()).isEqualTo("cuFileHandleRegister");
    }

    @Test
    void memoryIsRegisteredWithItsLengthAndFlags() {
        library.bufRegister(memory.address(), 4096, 3);
        assertThat(fake.callsOf("cuFileBufRegister"))
                .containsExactly("cuFileBufRegister(0x%x, 4096, 3)".formatted(memory.address()));
        assertThat(failure(() -> library.bufRegister(memory.address(), 4096, 0)).error())
                .isEqualTo(CuFileError.MEMORY_ALREADY_REGISTERED);
        library.bufDeregister(memory.address());
        assertThat(failure(() -> library.bufDeregister(memory.address())).error())
                .isEqualTo(CuFileError.MEMORY_NOT_REGISTERED);
    }

    @Test
    void errnoBelongsToTheSameCall() {
        long handle = library.handleRegister(fd);
        fake.transfers().answerNext(-1, Errno.ENOSPC);
        assertThat(library.write(handle, memory.address(), 1, 0, 0)).isEqualTo(-Errno.ENOSPC);
        fake.transfers().answerNext(-1, 5027);
        assertThat(library.read(handle, memory, 1, 0, 0)).isEqualTo(-5027);
        fake.transfers().answerNext(-5012, 0);
        assertThat(library.read(handle, memory.address(), 1, 0, 0)).isEqualTo(-5012);
        fake.transfers().answerNext(5006, 0);
        assertThat(library.read(handle, memory.address(), 1, 0, 0)).isEqualTo(-5006);
    }

    /** Uses libc's own pread, so that no Java runs between the failing call and its errno. */
    @Test
    void errnoOfANativeFunctionArrives() {
        SymbolLookup libc = Linker.nativeLinker().defaultLookup();
        CuFileLibrary natively = new FfmCuFileLibrary(
                name -> name.equals("cuFileRead") ? libc.find("pread") : fake.find(name), "pread");

        assertThat(natively.read(-1, memory.address(), 10, 0, 0)).isEqualTo(-Errno.EBADF);
        assertThat(natively.read(fd, 1, 10, 0, 0)).isEqualTo(-Errno.EFAULT);
        assertThat(natively.read(fd, memory, 10, 251, 0)).isEqualTo(10);
        assertThat(at(1)).isEqualTo((byte) 1);
        assertThat(natively.read(fd, memory, 10, -1, 0)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    void propertiesArriveInTheirFields() {
        assertThat(library.driverGetProperties())
                .isEqualTo(DriverProperties.of(0, 0, 4, 1024, 0, 2, 15, 131072, 1024, 33554432, 128, 5));
    }

    @Test
    void limitsArriveUnchanged() {
        library.driverSetPollMode(true, 8);
        library.driverSetMaxDirectIoSize(2048);
        library.driverSetMaxCacheSize(1L << 33);
        library.driverSetMaxPinnedMemSize(1L << 34);
        assertThat(fake.calls())
                .contains(
                        "cuFileDriverSetPollMode(true, 8)",
                        "cuFileDriverSetMaxDirectIOSize(2048)",
                        "cuFileDriverSetMaxCacheSize(8589934592)",
                        "cuFileDriverSetMaxPinnedMemSize(17179869184)");
        assertThat(failure(() -> library.driverSetMaxDirectIoSize(7)).error())
                .isEqualTo(CuFileError.DRIVER_UNSUPPORTED_LIMIT);
    }

    @Test
    void batchIsSubmittedAndItsEventsComeBack() {
        fake.batches().takePosixEntries();
        long handle = library.handleRegister(fd);
        long batch = library.batchIoSetUp(4);
        MemorySegment params = arena.allocate(IoParams.LAYOUT, 2);
        IoParams.write(params, 0, handle, false, memory.address(), 500, 1000, 100, 11);
        IoParams.write(params, 1, handle, true, memory.address(), 7, SIZE, 0, 22);
        library.batchIoSubmit(batch, 2, params, 0);

        MemorySegment count = arena.allocate(JAVA_INT);
        MemorySegment events = arena.allocate(IoEvents.LAYOUT, 4);
        MemorySegment timeout = arena.allocate(Timespec.LAYOUT);
        count.set(JAVA_INT, 0, 4);
        Timespec.write(timeout, 2_500_000_000L);
        assertThat(timeout.get(JAVA_LONG, 0)).isEqualTo(2);
        assertThat(timeout.get(JAVA_LONG, 8)).isEqualTo(500_000_000);
        library.batchIoGetStatus(batch, 2, count, events, timeout);

        assertThat(count.get(JAVA_INT, 0)).isEqualTo(2);
        assertThat(IoEvents.cookie(events, 0)).isEqualTo(11);
        assertThat(IoEvents.status(events, 0)).isEqualTo(0x10);
        assertThat(IoEvents.result(events, 0)).isEqualTo(500);
        assertThat(IoEvents.cookie(events, 1)).isEqualTo(22);
        assertThat(IoEvents.result(events, 1)).isEqualTo(7);
        assertThat(at(100)).isEqualTo(content(1000));
        library.batchIoCancel(batch);
        library.batchIoDestroy(batch);
        assertThat(fake.batches().open()).isZero();
        assertThat(failure(() -> library.batchIoSubmit(batch, 2, params, 0)).error())
                .isEqualTo(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR);
    }

    @Test
    void streamOperationsTakeTheirCells() {
        long handle = library.handleRegister(fd);
        library.streamRegister(77, 15);
        // The library accepts a buffer offset for registered memory only.
        library.bufRegister(memory.address(), memory.byteSize(), 0);
        MemorySegment cells = arena.allocate(JAVA_LONG, 4);
        cells.setAtIndex(JAVA_LONG, 0, 300);
        cells.setAtIndex(JAVA_LONG, 1, 1000);
        cells.setAtIndex(JAVA_LONG, 2, 200);
        library.readAsync(
                handle,
                memory.address(),
                cells.asSlice(0, 8),
                cells.asSlice(8, 8),
                cells.asSlice(16, 8),
                cells.asSlice(24, 8),
                77);
        assertThat(cells.getAtIndex(JAVA_LONG, 3)).isEqualTo(300);
        assertThat(at(200)).isEqualTo(content(1000));
        library.writeAsync(
                handle,
                memory.address(),
                cells.asSlice(0, 8),
                cells.asSlice(8, 8),
                cells.asSlice(16, 8),
                cells.asSlice(24, 8),
                77);
        library.streamDeregister(77);
        library.bufDeregister(memory.address());
        assertThat(fake.calls())
                .contains("cuFileStreamRegister(77, 15)", "cuFileReadAsync(77)", "cuFileWriteAsync(77)")
                .contains("cuFileStreamDeregister(77)");
    }

    @Test
    void parametersAreReadAndStaged() {
        assertThat(library.getParameterSizeT(9)).isEqualTo(128);
        assertThat(library.getParameterBool(1)).isTrue();
        assertThat(library.getParameterString(0)).isEqualTo("ERROR");
        assertThat(library.getParameterMinMaxValue(9)).isEqualTo(new ParameterRange(1, 256));
        assertThat(failure(() -> library.getParameterSizeT(99)).error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(failure(() -> library.setParameterSizeT(9, 5)).error())
                .isEqualTo(CuFileError.DRIVER_ALREADY_OPEN);

        library.driverClose();
        library.setParameterSizeT(9, 64);
        library.setParameterBool(2, true);
        library.setParameterString(0, "TRACE");
        assertThat(fake.calls())
                .contains(
                        "cuFileSetParameterSizeT(9, 64)",
                        "cuFileSetParameterBool(2, true)",
                        "cuFileSetParameterString(0, TRACE)");
        assertThat(library.getParameterSizeT(9)).isEqualTo(64);
        assertThat(library.getParameterBool(2)).isTrue();
    }

    @Test
    void textWithANulNeverReachesTheLibrary() {
        library.driverClose();
        assertThat(failure(() -> library.setParameterString(0, "A\0B")).error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(fake.callsOf("cuFileSetParameterString")).isEmpty();
    }

    @Test
    void slabArraysAreReadWithTheirLength() {
        assertThat(library.getParameterPosixPoolSlabArray(3))
                .isEqualTo(new SlabArray(List.of(4L, 1024L, 16384L), List.of(128L, 64L, 64L)));
        assertThat(failure(() -> library.getParameterPosixPoolSlabArray(2)).error())
                .isEqualTo(CuFileError.INVALID_VALUE);
        library.driverClose();
        library.setParameterPosixPoolSlabArray(new SlabArray(List.of(4L, 64L), List.of(2L, 3L)));
        assertThat(fake.calls()).contains("cuFileSetParameterPosixPoolSlabArray(2)");
    }

    @Test
    void statisticsOfLevelOneArriveInTheirFields() throws ReflectiveOperationException {
        assertThat(failure(library::getStatsL1).error()).isEqualTo(CuFileError.INVALID_VALUE);
        library.setStatsLevel(3);
        assertThat(library.getStatsLevel()).isEqualTo(3);
        library.statsStart();
        library.statsReset();

        List<Long> numbers = numbers(library.getStatsL1());

        assertThat(numbers).containsExactlyInAnyOrderElementsOf(LongStream.rangeClosed(1, 78).boxed().toList());
        StatisticsLevel1 level = library.getStatsL1();
        assertThat(level.readOps()).isEqualTo(new OperationCount(1, 2));
        assertThat(level.bufferDeregisterOps()).isEqualTo(new OperationCount(11, 12));
        assertThat(level.readBytes()).isEqualTo(13);
        assertThat(level.writeBytes()).isEqualTo(14);
        assertThat(level.readBytesPerSecond()).isEqualTo(15);
        assertThat(level.writeLatencySumMicros()).isEqualTo(22);
        assertThat(level.batchSubmitOps()).isEqualTo(new OperationCount(23, 24));
        assertThat(level.batchTotalSubmitOps()).isEqualTo(new OperationCount(51, 52));
        assertThat(level.batchReadBytes()).isEqualTo(53);
        assertThat(level.lastBatchWriteBytes()).isEqualTo(64);
        assertThat(level.readvOps()).isEqualTo(new OperationCount(65, 66));
        assertThat(level.writevBytes()).isEqualTo(70);
        assertThat(level.writevLatencySumMicros()).isEqualTo(78);
        library.statsStop();
    }

    @Test
    void statisticsBeforeCuFile119LackVectors() throws ReflectiveOperationException {
        FakeCuFile older = new FakeCuFile(cuda);
        CuFileLibrary first = older.library();
        first.driverOpen();
        first.setStatsLevel(3);

        assertThat(first.version()).hasToString("1.15");
        assertThat(first.getStatsL1().lastBatchWriteBytes()).isEqualTo(64);
        assertThat(first.getStatsL1().readvOps()).isEqualTo(new OperationCount(0, 0));
        assertThat(first.getStatsL1().writevLatencySumMicros()).isZero();
        assertThat(first.getStatsL2().readSizeKbHistogram())
                .isEqualTo(LongStream.rangeClosed(65, 96).boxed().toList());
        assertThat(numbers(first.getStatsL3().gpus().get(1)))
                .isEqualTo(IntStream.range(0, 29).mapToObj(i -> 2000L + i).toList());
        first.driverClose();
    }

    @Test
    void newerVersionIsServedByTheNewestKnownStructures() {
        CuFileLibrary newer = new FakeCuFile(cuda).withLaterFunctions().reporting(1250, 78).library();
        newer.setStatsLevel(1);

        assertThat(newer.version().isNewerThanKnown()).isTrue();
        assertThat(newer.version()).hasToString("1.25");
        assertThat(newer.getStatsL1().writevLatencySumMicros()).isEqualTo(78);
        assertThat(library.version()).isEqualTo(CuFileVersion.NEWEST_KNOWN);
        assertThat(library.version().isNewerThanKnown()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void structureThatGrewIsRefused(int level) {
        CuFileLibrary newer = new FakeCuFile(cuda).withLaterFunctions().reporting(1250, 79).library();
        newer.setStatsLevel(3);

        CuFileException failure = failure(switch (level) {
            case 1 -> newer::getStatsL1;
            case 2 -> newer::getStatsL2;
            default -> newer::getStatsL3;
        });

        assertThat(failure.error()).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
        assertThat(failure).hasMessageContaining("cuFile 1.25").hasMessageContaining("longer");
    }

    /** Returns all numbers of a record in the order of its components. */
    private static List<Long> numbers(Record record) throws ReflectiveOperationException {
        List<Long> numbers = new ArrayList<>();
        for (RecordComponent component : record.getClass().getRecordComponents()) {
            switch (component.getAccessor().invoke(record)) {
                case Long number -> numbers.add(number);
                case Record inner -> numbers.addAll(numbers(inner));
                default -> {
                }
            }
        }
        return numbers;
    }

    @Test
    void histogramsFollowLevelOne() {
        library.setStatsLevel(2);
        StatisticsLevel2 level = library.getStatsL2();
        assertThat(level.basic().readBytes()).isEqualTo(13);
        assertThat(level.readSizeKbHistogram()).isEqualTo(LongStream.rangeClosed(79, 110).boxed().toList());
        assertThat(level.writeSizeKbHistogram()).isEqualTo(LongStream.rangeClosed(111, 142).boxed().toList());
        assertThat(failure(library::getStatsL3).error()).isEqualTo(CuFileError.INVALID_VALUE);
    }

    @Test
    void eachGpuHasItsCounters() throws ReflectiveOperationException {
        library.setStatsLevel(3);
        StatisticsLevel3 level = library.getStatsL3();
        assertThat(level.gpus()).hasSize(2);
        GpuStatistics second = level.gpus().get(1);
        assertThat(second.uuid()).isEqualTo("101112131415161718191a1b1c1d1e1f");
        assertThat(numbers(second)).isEqualTo(IntStream.range(0, 29).mapToObj(i -> 2000L + i).toList());
        assertThat(level.gpus().getFirst().registeredBytes()).isEqualTo(1028);
    }

    @Test
    void versionAndApertureAreRead() {
        assertThat(library.getVersion()).isEqualTo(1200);
        assertThat(library.getBarSizeInKb(0)).isEqualTo(268435456);
        assertThat(failure(() -> library.getBarSizeInKb(9)).error()).isEqualTo(CuFileError.INVALID_VALUE);
    }

    @Test
    void laterFunctionsAreBoundIfPresent() {
        library.driverSetP2pFlags(4, 1);
        assertThat(library.driverGetP2pFlags(4)).isEqualTo(1);
        assertThat(library.driverGetP2pFlags(5)).isZero();
        Path topology = folder.resolve("topology.json");
        library.exportPcieTopology(topology.toString());
        assertThat(fake.calls())
                .contains("cuFileDriverSetP2PFlags(4, 1)", "cuFileExportPCIeTopology(" + topology + ")");
        assertThat(failure(() -> library.exportPcieTopology("x")).error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(failure(() -> library.getParameterGpuBounceBufferSlabArray(1)).error())
                .isEqualTo(CuFileError.INVALID_VALUE);
        library.driverClose();
        library.setParameterGpuBounceBufferSlabArray(new SlabArray(List.of(1024L), List.of(2L)));
    }

    @Test
    void vectorsAreReadAndWritten() {
        long handle = library.handleRegister(fd);
        MemorySegment vector = arena.allocate(IoVec.LAYOUT, 2);
        IoVec.write(vector, 0, memory.address() + 10, 5);
        IoVec.write(vector, 1, memory.address() + 100, 20);
        assertThat(library.readv(handle, vector, 2, 25, 30, 0)).isEqualTo(25);
        assertThat(at(10)).isEqualTo(content(30));
        assertThat(at(100)).isEqualTo(content(35));
        assertThat(library.writev(handle, vector, 2, 25, SIZE, 0)).isEqualTo(25);
        assertThat(posix.statx(fd).size()).isEqualTo(SIZE + 25);
        fake.transfers().answerNext(-1, Errno.EIO);
        assertThat(library.writev(handle, vector, 2, 25, SIZE, 0)).isEqualTo(-Errno.EIO);
    }

    @ParameterizedTest
    @EnumSource(
            names = {
                    "DRIVER_SET_P2P_FLAGS",
                    "EXPORT_PCIE_TOPOLOGY",
                    "GET_PARAMETER_GPU_BOUNCE_BUFFER_SLAB_ARRAY",
                    "READV",
                    "STATS_START",
                    "GET_VERSION",
                    "STREAM_REGISTER",
                    "BATCH_IO_SET_UP",
                    "USE_COUNT"
            })
    void missingFunctionNamesTheVersionThatHasIt(CuFileFunction function) {
        FakeCuFile older = new FakeCuFile(cuda).withLaterFunctions().without(function.cName());
        CuFileLibrary without = older.library();
        assertThat(without.has(function)).isFalse();
        CuFileException failure = failure(() -> {
            switch (function) {
                case DRIVER_SET_P2P_FLAGS -> without.driverSetP2pFlags(4, 1);
                case EXPORT_PCIE_TOPOLOGY -> without.exportPcieTopology("/x");
                case GET_PARAMETER_GPU_BOUNCE_BUFFER_SLAB_ARRAY -> without.getParameterGpuBounceBufferSlabArray(1);
                case READV -> without.readv(1, memory, 1, 1, 0, 0);
                case STATS_START -> without.statsStart();
                case GET_VERSION -> without.getVersion();
                case STREAM_REGISTER -> without.streamRegister(1, 0);
                case BATCH_IO_SET_UP -> without.batchIoSetUp(1);
                case USE_COUNT -> without.useCount();
                default -> throw new AssertionError(function);
            }
        });
        assertThat(failure.error()).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
        assertThat(failure.function()).isEqualTo(function.cName());
        assertThat(failure.detail()).startsWith("needs cuFile " + function.since()).contains("libcufile");
    }

    @Test
    void missingFunctionsAreNamed() {
        FakeCuFile broken = new FakeCuFile(cuda).without("cuFileRead").without("cuFileDriverOpen");
        assertThatThrownBy(() -> new FfmCuFileLibrary(broken, "/opt/libcufile.so.0"))
                .isInstanceOf(CuFileException.class)
                .hasMessageContaining("/opt/libcufile.so.0")
                .hasMessageContaining("cuFileRead, cuFileDriverOpen");
    }

    @Test
    void closeOfOldLibrariesHasItsOldName() {
        Optional<MemorySegment> close = fake.find("cuFileDriverClose_v2");
        FakeCuFile old = fake;
        CuFileLibrary older = new FfmCuFileLibrary(
                name -> switch (name) {
                    case "cuFileDriverClose_v2" -> Optional.empty();
                    case "cuFileDriverClose" -> close;
                    default -> old.find(name);
                },
                "cuFile 1.3");
        older.driverClose();
        assertThat(library.useCount()).isZero();
    }

    private static CuFileException failure(ThrowingCallable call) {
        return catchThrowableOfType(CuFileException.class, call);
    }
}
