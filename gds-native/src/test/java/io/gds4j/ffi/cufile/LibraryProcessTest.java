package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.SizeParameter;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** One library for all sessions of the process. */
class LibraryProcessTest extends SessionRig {
    private static CuFileConfig config(long batchSize) {
        return CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.IO_BATCHSIZE, batchSize)
                .build();
    }

    @Test
    void sessionsShareOneOpenLibrary() {
        LibCuFileBackend other = machine.backend();
        other.driverOpen();
        other.driverOpen();
        assertThat(fake.driver().users()).isEqualTo(1);
        assertThat(other.useCount()).isEqualTo(2);
        backend.driverClose();
        assertThat(fake.driver().users()).isEqualTo(1);
        other.driverClose();
        assertThat(fake.driver().users()).isEqualTo(1);
        other.driverClose();
        assertThat(fake.driver().users()).isZero();
    }

    @Test
    void sessionWithOtherSettingsIsRefusedAndNamesTheFirstDifference() {
        LibCuFileBackend other = machine.backend(config(64));
        CuFileException failure = failure(other::driverOpen);
        assertThat(failure.error()).isEqualTo(CuFileError.DRIVER_ALREADY_OPEN);
        assertThat(failure.detail())
                .contains("properties.io_batchsize is 64, but the open library has 128");
        assertThat(other.useCount()).isZero();

        backend.driverClose();
        other.driverOpen();
        assertThat(other.getParameterSizeT(SizeParameter.PROPERTIES_IO_BATCHSIZE)).isEqualTo(64);
        other.driverClose();
    }

    @Test
    void backendThatShallServeDirectlyAloneTellsTheLibrary() {
        backend.driverClose();
        LibCuFileBackend direct = machine.backend(CuFileConfig.defaults(), true);
        direct.driverOpen();
        assertThat(direct.getParameterBool(BoolParameter.PROPERTIES_ALLOW_COMPAT_MODE)).isFalse();
        assertThat(fake.driver().json()).contains("\"allow_compat_mode\": false");
        direct.driverClose();
    }

    @Test
    void settingsAreStagedAgainAtEachOpenButTheFirst() {
        assertThat(fake.callsOf("cuFileSetParameterSizeT")).isEmpty();
        backend.driverClose();
        backend.setParameterSizeT(SizeParameter.EXECUTION_MAX_IO_THREADS, 7);
        backend.driverOpen();
        assertThat(fake.callsOf("cuFileSetParameterSizeT"))
                .hasSize(SizeParameter.values().length)
                .contains("cuFileSetParameterSizeT(2, 7)");
        assertThat(fake.callsOf("cuFileSetParameterBool")).hasSize(BoolParameter.values().length);
        assertThat(backend.getParameterSizeT(SizeParameter.EXECUTION_MAX_IO_THREADS)).isEqualTo(7);
    }

    @Test
    void openThatFailsLeavesNothingOpenAndMaySucceedLater() {
        backend.driverClose();
        fake.driver().failNextOpen(-22 & 0xFFFFFFFFL);
        CuFileException failure = failure(backend::driverOpen);
        assertThat(failure.errno()).hasValue(Errno.EINVAL);
        assertThat(failure.function()).isEqualTo("cuFileDriverOpen");
        assertThat(backend.useCount()).isZero();
        expect(CuFileError.DRIVER_NOT_INITIALIZED, backend::driverClose);
        backend.driverOpen();
        assertThat(file().size()).isEqualTo(SIZE);
    }

    @Test
    void cudaErrorAtOpenIsNamed() {
        backend.driverClose();
        fake.driver().failNextOpen(5011 | 999L << 32);
        CuFileException failure = failure(backend::driverOpen);
        assertThat(failure.error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        assertThat(failure.detail()).contains("999");
    }

    @Test
    void libraryThatOtherCodeHasOpenIsJoined() {
        backend.driverClose();
        fake.driver().openElsewhere(1);
        backend.driverOpen();
        assertThat(fake.driver().users()).isEqualTo(2);
        assertThat(fake.callsOf("cuFileSetParameterSizeT")).isEmpty();
        backend.driverClose();
        assertThat(fake.driver().users()).isEqualTo(1);
        fake.driver().openElsewhere(-1);
    }

    @Test
    void whatBelongsToAnEarlierOpeningNeverReachesTheLibrary() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4096);
        BackendFile old = file();
        backend.bufRegister(memory.range(), 0);
        backend.read(old, memory.range(), 1, 0, 0);
        backend.driverClose();
        backend.driverOpen();
        int handles = fake.callsOf("cuFileHandleDeregister").size();
        int buffers = fake.callsOf("cuFileBufDeregister").size();

        backend.handleDeregister(old);
        expect(CuFileError.MEMORY_NOT_REGISTERED, () -> backend.bufDeregister(memory.range()));

        assertThat(fake.callsOf("cuFileHandleDeregister")).hasSize(handles);
        assertThat(fake.callsOf("cuFileBufDeregister")).hasSize(buffers);
    }

    @Test
    void everythingIsTakenBackBeforeTheLibraryCloses() {
        backend.driverClose();
        LibCuFileBackend direct = machine.withDirectStorage().backend();
        direct.driverOpen();
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4096);
        BackendFile file = direct.handleRegister(source(path));
        BackendBatch batch = direct.batchIoSetUp(4);
        direct.batchIoSubmit(batch, List.of(new BatchRequest(file, false, memory.range(), 4096, 0, 0, 1)), 0);
        direct.bufRegister(memory.range(), 0);
        direct.read(file, memory.range(), 1, 0, 0);
        direct.driverClose();
        List<String> calls = fake.calls();
        int close = calls.lastIndexOf("cuFileDriverClose()");
        assertThat(calls.subList(0, close))
                .contains("cuFileBatchIODestroy()", "cuFileHandleDeregister()")
                .anyMatch(call -> call.startsWith("cuFileBufDeregister"));
    }

    @Test
    void racingSessionsOpenAndCloseOneAfterTheOther() {
        backend.driverClose();
        List<Thread> threads = IntStream.range(0, 8)
                .mapToObj(i -> Thread.ofPlatform().start(() -> {
                    for (int round = 0; round < 20; round++) {
                        LibCuFileBackend own = machine.backend();
                        own.driverOpen();
                        BackendFile file = own.handleRegister(source(path));
                        own.handleDeregister(file);
                        own.driverClose();
                    }
                }))
                .toList();
        threads.forEach(thread -> {
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        assertThat(fake.driver().users()).isZero();
    }

    @Test
    void withoutAGpuOpeningSaysWhy() {
        LibCuFileBackend none = new LibCuFileBackend(
                machine.process,
                CuFileConfig.defaults(),
                false,
                DirectStorage.ofThisMachine(),
                FfmPosix.instance(),
                new CudaAvailability.Unavailable("no CUDA driver", "install it"));
        CuFileException failure = failure(none::driverOpen);
        assertThat(failure.error()).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
        assertThat(failure.detail()).isEqualTo("libcufile needs a GPU: no CUDA driver (install it)");
    }

    @Test
    void parametersOfAClosedDriverAreThoseOfTheNextOpen() {
        backend.driverClose();
        assertThat(backend.getParameterSizeT(SizeParameter.PROPERTIES_IO_BATCHSIZE)).isEqualTo(128);
        backend.setParameterSizeT(SizeParameter.PROPERTIES_IO_BATCHSIZE, 5);
        assertThat(backend.getParameterSizeT(SizeParameter.PROPERTIES_IO_BATCHSIZE)).isEqualTo(5);
        expect(
                CuFileError.INVALID_VALUE,
                () -> backend.setParameterSizeT(SizeParameter.PROPERTIES_IO_BATCHSIZE, 257));
        assertThat(fake.callsOf("cuFileSetParameterSizeT")).isEmpty();
    }

    @Test
    void versionIsKnownWithoutOpening() {
        backend.driverClose();
        assertThat(machine.backend().getVersion()).isEqualTo(1150);
        assertThat(fake.driver().users()).isZero();
    }

    @Test
    void jvmThatExitsUnderTransfersEndsWithItsOwnStatus() throws Exception {
        Process child = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                ExitUnderTransfers.class.getName(),
                path.toString())
                .redirectErrorStream(true)
                .start();
        String output = new String(child.getInputStream().readAllBytes());
        assertThat(child.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(child.exitValue()).as(output).isEqualTo(7);
        assertThat(output.lines().toList()).containsExactly("exiting", "closed with 0 violations");
    }

    /** Exits with status 7 while threads read. */
    static final class ExitUnderTransfers {
        public static void main(String[] args) {
            FakeMachine machine = new FakeMachine();
            LibCuFileBackend backend = machine.backend();
            backend.driverOpen();
            BackendFile file = backend.handleRegister(source(Path.of(args[0])));
            CountDownLatch running = new CountDownLatch(4);
            machine.fake.driver().onClose(() -> System.out.println(
                    "closed with " + machine.fake.violations().size() + " violations"));
            Stream.generate(() -> backend.allocator().allocate(MemoryKind.CUDA_DEVICE, 1 << 20))
                    .limit(4)
                    .forEach(memory -> Thread.ofPlatform().start(() -> {
                        try {
                            while (true) {
                                backend.read(file, memory.range(), 1 << 20, 0, 0);
                                running.countDown();
                            }
                        } catch (CuFileException refused) {
                            if (refused.error() != CuFileError.DRIVER_CLOSING) {
                                System.out.println(refused);
                            }
                        }
                    }));
            try {
                running.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            System.out.println("exiting");
            System.exit(7);
        }
    }
}
