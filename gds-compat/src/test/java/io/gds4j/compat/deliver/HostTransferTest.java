package io.gds4j.compat.deliver;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.Rig;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.TestFile;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.Operation;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests of host memory: memory of the program's arenas, and what hears of pieces. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class HostTransferTest {
    private static final int SIZE = 3 * Rig.PIECE + 100;
    private static final int AT = 5000;
    private static final int PAGE = 4096;

    private static List<ScatterCopy> halves(MemoryRange memory, long at) {
        long half = SIZE / 2;
        return List.of(new ScatterCopy(0, half, memory, at), new ScatterCopy(half, SIZE - half, memory, at + half));
    }

    /** At least two threads read if there are workers. */
    @ParameterizedTest
    @CsvSource({"true, 0, false", "true, 4, false", "false, 0, false", "false, 4, false",
            "true, 0, true", "true, 4, true", "false, 0, true", "false, 4, true"})
    void bytesMoveToTheirPlaceInAnArena(boolean shared, long workers, boolean scattered) {
        try (Rig rig = Rig.onHost(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, workers));
                Arena arena = shared ? Arena.ofShared() : Arena.ofConfined()) {
            GuardedFile file = rig.file(SIZE);
            MemorySegment segment = arena.allocate(SIZE + 2 * AT, PAGE);
            MemoryRange memory = MemoryRange.ofSegment(segment);
            if (workers > 0) {
                rig.posix().on(PosixCall.PREAD).runsFirst(() -> {
                    while (rig.posix().calls(PosixCall.PREAD) < 2) {
                        Thread.onSpinWait();
                    }
                });
            }
            byte[] content = file.expected(0, SIZE);
            byte[] inMemory = new byte[SIZE + 2 * AT];
            System.arraycopy(content, 0, inMemory, AT, SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(scattered ? handle.readScattered(0, SIZE, halves(memory, AT))
                        : handle.read(memory, SIZE, 0, AT)).isEqualTo(SIZE);
                assertThat(segment.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(inMemory);
                for (int i = 0; i < SIZE; i++) {
                    content[i] ^= 0x55;
                }
                MemorySegment.copy(content, 0, segment, ValueLayout.JAVA_BYTE, 2 * AT, SIZE);
                assertThat(scattered ? handle.writeScattered(0, SIZE, halves(memory, 2 * AT))
                        : handle.write(memory, SIZE, 0, 2 * AT)).isEqualTo(SIZE);
            }
            file.expectWrite(0, content);
            file.verify();
        }
    }

    @ParameterizedTest
    @CsvSource({"true, false", "false, false", "true, true", "false, true"})
    void anArenaThatIsClosedDuringARequestIsNamed(boolean shared, boolean scattered) {
        try (Rig rig = Rig.onHost();
                CuFileHandle handle = rig.open(rig.file(SIZE))) {
            Arena arena = shared ? Arena.ofShared() : Arena.ofConfined();
            MemoryRange memory = MemoryRange.ofSegment(arena.allocate(SIZE, PAGE));
            rig.posix().on(PosixCall.PREAD).covering(Rig.PIECE).runsFirst(arena::close);
            CuFileException failure = Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> {
                if (scattered) {
                    handle.readScattered(0, SIZE, halves(memory, 0));
                } else {
                    handle.read(memory, SIZE, 0, 0);
                }
            });
            assertThat(failure).hasMessageContaining("arena was closed");
            assertThat(failure.bytesTransferred()).isEqualTo(Rig.PIECE);
        }
    }

    /** Also a fragment behind those of a GPU. */
    @Test
    void hostFragmentsAreRefusedWhereHostMemoryIs() {
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.ALLOW_SYSTEM_MEMORY, false));
                CuFileHandle handle = rig.open(rig.file(SIZE));
                Arena arena = Arena.ofShared()) {
            MemorySegment segment = arena.allocate(SIZE, PAGE);
            ScatterCopy toGpu = new ScatterCopy(0, 100, rig.memory(MemoryKind.CUDA_DEVICE, 100).range(), 0);
            ScatterCopy toHost = new ScatterCopy(100, 100, MemoryRange.ofSegment(segment), 0);
            assertThat(handle.readScattered(0, 200, List.of(toGpu))).isEqualTo(200);
            for (List<ScatterCopy> copies : List.of(List.of(toHost, toGpu), List.of(toGpu, toHost))) {
                Failures.expect(CuFileError.CUDA_MEMORY_TYPE_INVALID, () -> handle.readScattered(0, 200, copies));
            }
            assertThat(segment.asSlice(0, 100).toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
        }
    }

    /** A piece of the request, and what was moved of it. */
    private record Told(long at, long bytes) {
    }

    /** Moves a gathered read of a file, of which the system calls only count the bytes. */
    private static List<Told> told(boolean gathered, long pieces, long fileSize) {
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> call.getName().equals("pread")
                ? Math.clamp(fileSize - (long) arguments[3], 0, (long) arguments[2])
                : kernel.call());
        CompatFile file = TestFile.local(posix);
        long size = pieces * PAGE - 100;
        MemoryRange memory = MemoryRange.ofAddress(1 << 20, size, MemoryKind.HOST);
        HostTransfer transfer =
                new HostTransfer(new TransferRequest().set(file, memory, Operation.READ, size, 100, 0), null);
        transfer.plan().buffered(100, size, PAGE).gathered(gathered ? 1 : 0);
        transfer.target();
        List<Told> told = new ArrayList<>();
        transfer.tell((at, bytes) -> told.add(new Told(at, bytes)));
        transfer.begin();
        BouncePool pool = new BouncePool(posix, CuFileConfig.defaults());
        transfer.run(new ThreadContext(false, posix, new PathCounters(), pool, null));
        assertThat(transfer.result("cuFileRead", Optional.empty())).isEqualTo(Math.min(size, fileSize - 100));
        return told;
    }

    @ParameterizedTest
    @CsvSource({"1000000, 4096, 3", "9000, 808, 3", "8192, 4096, 2"})
    void whatAGatheredReadMovesIsTold(long fileSize, long last, int count) {
        List<Told> told = told(true, 3, fileSize);
        assertThat(told).hasSize(count).first().isEqualTo(new Told(0, PAGE - 100));
        assertThat(told.get(1)).isEqualTo(new Told(PAGE - 100, PAGE));
        assertThat(told.getLast().bytes()).isEqualTo(last);
    }

    /** The board has room for fewer pieces. */
    @ParameterizedTest
    @CsvSource({"false, 3, 0", "true, 511, 511", "true, 512, 0"})
    void otherReadsTellNothing(boolean gathered, long pieces, int count) {
        assertThat(PieceBoard.PIECES).isEqualTo(512);
        assertThat(told(gathered, pieces, 1 << 30)).hasSize(count);
    }
}
