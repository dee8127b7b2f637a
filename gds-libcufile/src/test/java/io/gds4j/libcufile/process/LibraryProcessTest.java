package io.gds4j.libcufile.process;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.Logged;
import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.engine.lifecycle.Traffic;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.libcufile.FakeMachine;
import io.gds4j.libcufile.SessionRig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.Operation;
import io.gds4j.testkit.Gate;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** All sessions of the process share one library. */
class LibraryProcessTest extends SessionRig {
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.libcufile")
            .about("other code of this process has opened", "gds4j knows versions up to 1.20");

    private final Posix posix = FfmPosix.instance();

    private static CuFileConfig config(long batchSize) {
        return CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.IO_BATCHSIZE, batchSize)
                .build();
    }

    @Test
    void sessionsShareOneOpenLibrary() {
        CuFileBackend other = machine.backend();
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
    void sessionWithOtherSettingsIsRefused() {
        CuFileBackend other = machine.backend(config(64));
        CuFileException failure = failure(other::driverOpen);
        assertThat(failure.error()).isEqualTo(CuFileError.DRIVER_ALREADY_OPEN);
        assertThat(failure.detail())
                .contains("properties.io_batchsize is 64, but the open library has 128");
        assertThat(other.useCount()).isZero();

        backend.driverClose();
        other.driverOpen();
        assertThat(other.controls().getParameter(SizeParameter.PROPERTIES_IO_BATCHSIZE)).isEqualTo(64);
        other.driverClose();
    }

    @Test
    void directOnlyBackendForbidsCompatMode() {
        backend.driverClose();
        CuFileBackend direct = machine.backend(CuFileConfig.defaults(), true);
        direct.driverOpen();
        assertThat(direct.controls().getParameter(BoolParameter.PROPERTIES_ALLOW_COMPAT_MODE)).isFalse();
        assertThat(fake.driver().json()).contains("\"allow_compat_mode\": false");
        direct.driverClose();
    }

    @Test
    void laterOpensStageSettingsAgain() {
        assertThat(fake.callsOf("cuFileSetParameterSizeT")).isEmpty();
        backend.driverClose();
        backend.controls().setParameter(SizeParameter.EXECUTION_MAX_IO_THREADS, 7L);
        backend.driverOpen();
        assertThat(fake.callsOf("cuFileSetParameterSizeT"))
                .hasSize(SizeParameter.values().length)
                .contains("cuFileSetParameterSizeT(2, 7)");
        assertThat(fake.callsOf("cuFileSetParameterBool"))
                .as("those that 1.15 has")
                .hasSize(BoolParameter.STREAM_MEMOPS_BYPASS.index() + 1);
        assertThat(backend.controls().getParameter(SizeParameter.EXECUTION_MAX_IO_THREADS)).isEqualTo(7);
    }

    /** Version 1.15 would answer the open with EINVAL, and 1.17 allows 128. */
    @Test
    void moreThreadsThanTheVersionAllowsAreRefused() {
        backend.driverClose();
        backend.controls().setParameter(SizeParameter.EXECUTION_MAX_IO_THREADS, 33L);
        CuFileException failure = failure(backend::driverOpen);
        assertThat(failure.error()).isEqualTo(CuFileError.DRIVER_INVALID_PROPS);
        assertThat(failure).hasMessageContaining("execution.max_io_threads is 33").hasMessageContaining("0 to 32");
        backend.controls().setParameter(SizeParameter.EXECUTION_MAX_IO_THREADS, 32L);
        backend.driverOpen();
        CuFileBackend later = new FakeMachine(true).backend();
        later.controls().setParameter(SizeParameter.EXECUTION_MAX_IO_THREADS, 128L);
        later.driverOpen();
        assertThat(later.controls().getParameter(SizeParameter.EXECUTION_MAX_IO_THREADS)).isEqualTo(128);
        later.driverClose();
    }

    @Test
    void parameterOfALaterVersionIsRefusedAndOneThatIsGoneIsKept() {
        backend.driverClose();
        CuFileException failure = failure(() -> backend.controls().setParameter(BoolParameter.GDS_FALLBACK_IO, true));
        assertThat(failure.error()).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
        assertThat(failure).hasMessageContaining("needs cuFile 1.19");
        CuFileBackend later = new FakeMachine(true).backend();
        later.controls().setParameter(BoolParameter.GDS_FALLBACK_IO, true);
        later.controls().setParameter(BoolParameter.PROFILE_NVTX, true);
        later.driverOpen();
        assertThat(later.controls().getParameter(BoolParameter.GDS_FALLBACK_IO)).isTrue();
        assertThat(later.controls().getParameter(BoolParameter.PROFILE_NVTX)).isTrue();
        later.driverClose();
        backend.driverOpen();
    }

    /** Libcufile 1.19.1 reads its file at the first open only. */
    @Test
    void laterOpensStageGpuSlabs() {
        FakeMachine newer = new FakeMachine(true);
        CuFileBackend later = newer.backend();
        later.driverOpen();
        later.driverClose();
        assertThat(newer.fake.callsOf("cuFileSetParameterGpuBounceBufferSlabArray")).isEmpty();
        later.controls().setParameterGpuBounceBufferSlabArray(new SlabArray(List.of(1024L, 8192L), List.of(4L, 2L)));
        later.driverOpen();
        assertThat(newer.fake.callsOf("cuFileSetParameterGpuBounceBufferSlabArray"))
                .containsExactly("cuFileSetParameterGpuBounceBufferSlabArray(2)");
        later.driverClose();
    }

    @Test
    void newerLibraryWorksAndIsNotedOnce() {
        FakeMachine newer = new FakeMachine(true);
        newer.fake.reporting(1250, 78);
        CuFileBackend later = newer.backend();
        for (int i = 0; i < 2; i++) {
            later.driverOpen();
            later.driverClose();
        }
        assertThat(later.controls().getVersion()).isEqualTo(1250);
        assertThat(logged.lines()).singleElement().asString()
                .contains("is cuFile 1.25; gds4j knows versions up to 1.20");
        assertThat(newer.fake.violations()).isEmpty();
    }

    @Test
    void failedOpenLeavesNothingOpenAndCanBeRepeated() {
        backend.driverClose();
        Set<Thread> threads = Thread.getAllStackTraces().keySet();
        fake.driver().failNextOpen(-22 & 0xFFFFFFFFL);
        CuFileException failure = failure(backend::driverOpen);
        assertThat(Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("gds4j-libcufile-")))
                .isSubsetOf(threads);
        assertThat(failure.errno()).hasValue(Errno.EINVAL);
        assertThat(failure.function()).isEqualTo("cuFileDriverOpen");
        assertThat(backend.useCount()).isZero();
        expect(CuFileError.DRIVER_NOT_INITIALIZED, backend::driverClose);
        backend.driverOpen();
        assertThat(file().size()).isEqualTo(SIZE);
    }

    @Test
    void closeFreesTheStreamsOfTheAllocator() {
        allocate(MemoryKind.CUDA_DEVICE, 4096);
        assertThat(machine.cuda.leaks()).anyMatch(leak -> leak.startsWith("stream"));
        backend.driverClose();
        assertThat(machine.cuda.leaks()).noneMatch(leak -> leak.startsWith("stream"));
    }

    @Test
    void failedOpenNamesTheCudaError() {
        backend.driverClose();
        fake.driver().failNextOpen(5011 | 999L << 32);
        CuFileException failure = failure(backend::driverOpen);
        assertThat(failure.error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        assertThat(failure.detail()).contains("999");
    }

    @Test
    void sessionJoinsALibraryThatOtherCodeOpened() {
        backend.driverClose();
        fake.driver().openElsewhere(1);
        backend.driverOpen();
        assertThat(fake.driver().users()).isEqualTo(2);
        assertThat(fake.callsOf("cuFileSetParameterSizeT")).isEmpty();
        backend.driverClose();
        assertThat(fake.driver().users()).isEqualTo(1);
        fake.driver().openElsewhere(-1);
        assertThat(logged.lines()).hasSize(1);
    }

    @Test
    void handlesOfAnEarlierOpenNeverReachTheLibrary() {
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
    void closeTakesEverythingBackFirst() {
        backend.driverClose();
        CuFileBackend direct = machine.withDirectStorage().backend();
        direct.driverOpen();
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4096);
        BackendFile file = direct.handleRegister(source(path));
        BackendBatch batch = direct.batchIoSetUp(4);
        direct.batchIoSubmit(batch, List.of(new BatchRequest(file, Operation.READ, memory.range(), 4096, 0, 0, 1)), 0);
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
                        CuFileBackend own = machine.backend();
                        own.driverOpen();
                        BackendFile file = own.handleRegister(source(path));
                        own.handleDeregister(file);
                        own.driverClose();
                    }
                }))
                .toList();
        threads.forEach(LibraryProcessTest::join);
        assertThat(fake.driver().users()).isZero();
    }

    @Test
    void openWithoutAGpuNamesTheReason() {
        CuFileBackend none = machine.backend(
                new CudaAvailability.Unavailable("no CUDA driver", "install it"));
        CuFileException failure = failure(none::driverOpen);
        assertThat(failure.error()).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
        assertThat(failure.detail()).isEqualTo("libcufile needs a GPU: no CUDA driver (install it)");
    }

    @Test
    void parametersOfAClosedDriverAreThoseOfTheNextOpen() {
        backend.driverClose();
        assertThat(backend.controls().getParameter(SizeParameter.PROPERTIES_IO_BATCHSIZE)).isEqualTo(128);
        backend.controls().setParameter(SizeParameter.PROPERTIES_IO_BATCHSIZE, 5L);
        assertThat(backend.controls().getParameter(SizeParameter.PROPERTIES_IO_BATCHSIZE)).isEqualTo(5);
        expect(
                CuFileError.INVALID_VALUE,
                () -> backend.controls().setParameter(SizeParameter.PROPERTIES_IO_BATCHSIZE, 257L));
        assertThat(fake.callsOf("cuFileSetParameterSizeT")).isEmpty();
    }

    @Test
    void versionIsKnownWithoutOpening() {
        backend.driverClose();
        assertThat(machine.backend().controls().getVersion()).isEqualTo(1150);
        assertThat(fake.driver().users()).isZero();
    }

    /** Opening pins memory and closing unpins it, and both wait for all streams. */
    @Test
    void libraryOpensAndClosesOnlyWhileNoStreamWaits() {
        backend.driverClose();
        CudaAvailability.Available gpu = machine.cuda.available();
        CuFileBackend own = machine.backend(gpu);
        for (Runnable step : List.<Runnable>of(own::driverOpen, own::driverClose)) {
            int calls = fake.calls().size();
            StreamWaits.of(gpu.contexts()).begin(true);
            Thread thread = Thread.ofPlatform().start(step);
            awaitState(thread, Thread.State.TIMED_WAITING);
            assertThat(fake.calls()).hasSize(calls);
            StreamWaits.of(gpu.contexts()).end(true);
            join(thread);
        }
        assertThat(fake.calls()).endsWith("cuFileDriverClose()");
    }

    @Test
    void limitsAreSetByOneThreadAtATime() {
        Gate gate = new Gate();
        fake.driver().onLimit(gate::pass);
        Thread first = Thread.ofPlatform().start(() -> backend.controls().driverSetMaxCacheSize(4096));
        gate.awaitArrival();
        Thread second = Thread.ofPlatform().start(() -> backend.controls().driverSetMaxCacheSize(8192));
        awaitState(second, Thread.State.BLOCKED);
        gate.open();
        join(first);
        join(second);
        assertThat(fake.callsOf("cuFileDriverSetMaxCacheSize")).hasSize(2);
        assertThat(backend.controls().driverGetProperties().maxDeviceCacheSizeKb()).isEqualTo(8192);
    }

    @Test
    void unsafeLimitsAreReportedButNotPassedOn() {
        backend.controls().driverSetPollMode(true, 8);
        backend.controls().driverSetMaxDirectIoSize(128);
        backend.controls().driverSetMaxPinnedMemSize(64);
        DriverProperties properties = backend.controls().driverGetProperties();
        assertThat(properties.driverControlFlags() & 1).isEqualTo(1);
        assertThat(properties.pollThresholdKb()).isEqualTo(8);
        assertThat(properties.maxDirectIoSizeKb()).isEqualTo(128);
        assertThat(properties.maxDevicePinnedMemSizeKb()).isEqualTo(64);
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65537);
        expect(CuFileError.INVALID_MAPPING_SIZE, () -> backend.bufRegister(memory.range(), 0));
        assertThat(fake.calls()).noneMatch(call -> call.startsWith("cuFileDriverSet"));
    }

    private static void awaitState(Thread thread, Thread.State state) {
        while (thread.isAlive() && thread.getState() != state) {
            Thread.onSpinWait();
        }
    }

    /** While the JVM exits, programs close objects and begin new calls. */
    @Test
    void afterTheExitNothingReachesTheLibrary() {
        backend.driverClose();
        CuFileBackend direct = machine.withDirectStorage().backend();
        direct.driverOpen();
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4096);
        MemoryAllocation other = allocate(MemoryKind.CUDA_DEVICE, 4096);
        BackendFile file = direct.handleRegister(source(path));
        BackendFile second = direct.handleRegister(source(path));
        BackendBatch batch = direct.batchIoSetUp(4);
        direct.batchIoSubmit(batch, List.of(new BatchRequest(file, Operation.READ, memory.range(), 4096, 0, 0, 1)), 0);
        direct.batchIoGetStatus(batch, 1, 1, Optional.empty());
        direct.bufRegisterNow(memory.range(), 0);
        direct.bufRegisterNow(other.range(), 0);
        long stream = Traffic.streamOf(machine.cuda.available()).address();
        direct.streamRegister(stream, 0);

        machine.process.exit();
        int calls = fake.calls().size();
        expect(CuFileError.DRIVER_CLOSING, () -> direct.handleRegister(source(path)));
        expect(CuFileError.DRIVER_CLOSING, () -> direct.read(file, memory.range(), 1, 0, 0));
        expect(CuFileError.DRIVER_CLOSING, () -> direct.bufRegisterNow(allocate(MemoryKind.CUDA_DEVICE, 1).range(), 0));
        expect(CuFileError.DRIVER_CLOSING, () -> direct.controls().getBarSizeInKb(0));
        expect(CuFileError.DRIVER_CLOSING, () -> machine.backend().driverOpen());
        direct.handleDeregister(second);
        int descriptor = second.ownDescriptor().orElseThrow();
        assertThat(posix.fcntl(descriptor, PosixConstants.F_GETFD, 0)).as("descriptor").isNotNegative();
        posix.close(descriptor);
        direct.bufDeregister(other.range());
        direct.streamDeregister(stream);
        direct.driverClose();
        CudaContexts contexts = machine.cuda.available().contexts();
        contexts.in(contexts.primary(0), () -> machine.cuda.streamDestroy(stream));

        assertThat(fake.calls()).hasSize(calls).contains("cuFileBatchIODestroy()");
        assertThat(fake.driver().users()).isZero();
    }

    @Test
    void exitCancelsEntriesThatHaveNotBegun() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 4096);
        BackendFile file = file();
        BackendBatch batch = backend.batchIoSetUp(32);
        Gate gate = new Gate();
        fake.transfers().during(gate::pass);
        backend.batchIoSubmit(
                batch,
                IntStream.range(0, 32)
                        .mapToObj(i -> new BatchRequest(file, Operation.READ, memory.range(), 1, i, i, i))
                        .toList(),
                0);
        gate.awaitArrival();
        Thread exit = Thread.ofPlatform().start(machine.process::exit);
        List<BatchEvent> events = backend.batchIoGetStatus(batch, 1, 32, Optional.empty());
        assertThat(events).extracting(BatchEvent::status).containsOnly(BatchStatus.CANCELED);
        gate.open();
        join(exit);
        assertThat(fake.driver().users()).isZero();
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
