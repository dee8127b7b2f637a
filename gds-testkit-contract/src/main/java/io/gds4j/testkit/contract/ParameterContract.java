package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileDriver;
import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.CuFileParameter;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedMemory;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Contract of {@code cuFileGetParameter*} and {@code cuFileSetParameter*}, and of the properties that depend on them.
 *
 * @since 0.1
 */
public abstract class ParameterContract extends BackendContract {
    /** The largest values are those of the GPU: 256 GiB on an H200, 128 GiB on an H100. */
    private static final Set<SizeParameter> OF_GPU = Set.of(
            SizeParameter.PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB, SizeParameter.PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB);

    private static final long KIB = 1024;

    /** For subclasses. */
    protected ParameterContract() {
    }

    @BeforeEach
    void backendHasParameters() {
        assumeFalse(backend().unbuiltFunctions().contains("cuFileSetParameterSizeT"), "not built");
    }

    private CuFileBackend closedBackend() {
        closeSharedDriverForOtherSettings();
        return backend().createBackend(backend().config());
    }

    /** Ends a test of a parameter that came after the version of the backend. */
    private static void assumeServed(CuFileBackend backend, CuFileParameter<?> parameter) {
        String[] since = parameter.key().since().split("\\.");
        int first = Integer.parseInt(since[0]) * 1000 + Integer.parseInt(since[1]) * 10;
        assumeTrue(backend.controls().getVersion() >= first,
                () -> parameter + " came with cuFile " + parameter.key().since());
    }

    @ParameterizedTest
    @EnumSource
    void everySizeHasTheConfiguredValue(SizeParameter parameter) {
        assertThat(driver().parameter(parameter)).isEqualTo(backend().config().get(parameter.key()));
    }

    @ParameterizedTest
    @EnumSource
    void everySwitchHasTheConfiguredValue(BoolParameter parameter) {
        assertThat(driver().parameter(parameter)).isEqualTo(backend().config().get(parameter.key()));
    }

    @ParameterizedTest
    @EnumSource(names = "ENV_LOGFILE_PATH", mode = EnumSource.Mode.EXCLUDE)
    void everyTextHasTheConfiguredValue(StringParameter parameter) {
        assertThat(driver().parameter(parameter)).isEqualTo(backend().config().get(parameter.key()));
    }

    @Test
    void unsetLogFileOfTheEnvironmentIsInvalid() {
        Failures.expect(CuFileError.INVALID_VALUE, () -> driver().parameter(StringParameter.ENV_LOGFILE_PATH));
    }

    @ParameterizedTest
    @EnumSource(names = "PROFILE_STATS", mode = EnumSource.Mode.EXCLUDE)
    void everySizeExceptTheLevelHasItsRange(SizeParameter parameter) {
        ParameterRange range = driver().parameterRange(parameter);
        ParameterRange known = parameter.range().orElseThrow();
        if (OF_GPU.contains(parameter)) {
            assertThat(range.min()).isEqualTo(known.min());
            assertThat(range.max()).as("an aperture of a GPU, in KiB").isGreaterThan(range.min());
            assertThat(Long.bitCount(range.max())).isEqualTo(1);
        } else {
            // libcufile before 1.17 allows 32 threads.
            boolean few = parameter == SizeParameter.EXECUTION_MAX_IO_THREADS && driver().version() < 1170;
            assertThat(range).isEqualTo(few ? new ParameterRange(known.min(), 32) : known);
        }
    }

    @Test
    void levelOfStatisticsHasNoRange() {
        Failures.expect(CuFileError.INVALID_VALUE, () -> driver().parameterRange(SizeParameter.PROFILE_STATS));
    }

    @ParameterizedTest
    @EnumSource
    void sizeSetWhileClosedAppliesToTheNextOpen(SizeParameter parameter) {
        CuFileBackend backend = closedBackend();
        long before = backend.controls().getParameter(parameter);
        long other = otherThan(parameter, before);
        backend.controls().setParameter(parameter, other);
        assertThat(backend.controls().getParameter(parameter)).as("staged").isEqualTo(other);
        backend.driverOpen();
        assertThat(backend.controls().getParameter(parameter)).as("running").isEqualTo(other);
        backend.driverClose();
        assertThat(backend.controls().getParameter(parameter)).as("after close").isEqualTo(before);
        backend.driverOpen();
        assertThat(backend.controls().getParameter(parameter)).as("the next open").isEqualTo(before);
        backend.driverClose();
    }

    /** Returns another value that is valid together with the defaults of all other parameters. */
    private static long otherThan(SizeParameter parameter, long value) {
        return switch (parameter) {
            case PROFILE_STATS -> value == 1 ? 2 : 1;
            case PROPERTIES_MAX_DIRECT_IO_SIZE_KB -> value == 8192 ? 4096 : 8192;
            case PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB -> value == 262144 ? 524288 : 262144;
            case PROPERTIES_PER_BUFFER_CACHE_SIZE_KB -> value == 512 ? 256 : 512;
            case PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB -> value == 65536 ? 131072 : 65536;
            case EXECUTION_MIN_IO_THRESHOLD_SIZE_KB, POLLTHRESHOLD_SIZE_KB -> value == 16 ? 8 : 16;
            case EXECUTION_MAX_IO_QUEUE_DEPTH,
                    EXECUTION_MAX_IO_THREADS,
                    EXECUTION_MAX_REQUEST_PARALLELISM,
                    PROPERTIES_IO_BATCHSIZE,
                    PROPERTIES_BATCH_IO_TIMEOUT_MS ->
                value == 2 ? 3 : 2;
        };
    }

    @ParameterizedTest
    @EnumSource
    void switchSetWhileClosedAppliesToTheNextOpen(BoolParameter parameter) {
        CuFileBackend backend = closedBackend();
        assumeServed(backend, parameter);
        boolean before = backend.controls().getParameter(parameter);
        backend.controls().setParameter(parameter, !before);
        assertThat(backend.controls().getParameter(parameter)).as("staged").isEqualTo(!before);
        if (parameter == BoolParameter.PROPERTIES_ALLOW_COMPAT_MODE && diverges(Divergence.NEEDS_COMPAT_MODE)) {
            Failures.expect(CuFileError.DRIVER_NOT_INITIALIZED, backend::driverOpen);
            return;
        }
        backend.driverOpen();
        assertThat(backend.controls().getParameter(parameter)).as("running").isEqualTo(!before);
        backend.driverClose();
        assertThat(backend.controls().getParameter(parameter)).as("after close").isEqualTo(before);
    }

    @Test
    void textSetWhileClosedAppliesToTheNextOpen() {
        CuFileBackend backend = closedBackend();
        String before = backend.controls().getParameter(StringParameter.LOGGING_LEVEL);
        backend.controls().setParameter(StringParameter.LOGGING_LEVEL, "WARN");
        backend.driverOpen();
        assertThat(backend.controls().getParameter(StringParameter.LOGGING_LEVEL)).isEqualTo("WARN");
        backend.driverClose();
        assertThat(backend.controls().getParameter(StringParameter.LOGGING_LEVEL)).isEqualTo(before);
    }

    @Test
    void slabsSetWhileClosedApplyToTheNextOpen() {
        CuFileBackend backend = closedBackend();
        SlabArray before = backend.controls().getParameterPosixPoolSlabArray();
        SlabArray other = new SlabArray(List.of(8L, 64L), List.of(4L, 2L));
        backend.controls().setParameterPosixPoolSlabArray(other);
        backend.driverOpen();
        assertThat(backend.controls().getParameterPosixPoolSlabArray()).isEqualTo(other);
        backend.driverClose();
        assertThat(backend.controls().getParameterPosixPoolSlabArray()).isEqualTo(before);
    }

    @Test
    void nothingIsSetWhileTheDriverIsOpen() {
        CuFileBackend backend = closedBackend();
        backend.driverOpen();
        try {
            for (SizeParameter parameter : SizeParameter.values()) {
                Failures.expect(CuFileError.DRIVER_ALREADY_OPEN,
                        () -> backend.controls().setParameter(parameter, otherThan(parameter, 0)));
            }
            for (BoolParameter parameter : BoolParameter.values()) {
                Failures.expect(
                        CuFileError.DRIVER_ALREADY_OPEN, () -> backend.controls().setParameter(parameter, true));
            }
            Failures.expect(CuFileError.DRIVER_ALREADY_OPEN,
                    () -> backend.controls().setParameter(StringParameter.LOGGING_LEVEL, "INFO"));
            Failures.expect(CuFileError.DRIVER_ALREADY_OPEN,
                    () -> backend.controls().setParameterPosixPoolSlabArray(new SlabArray(List.of(4L), List.of(1L))));
        } finally {
            backend.driverClose();
        }
    }

    @ParameterizedTest
    @EnumSource
    void valueOutsideTheRangeIsRefusedAtTheCall(SizeParameter parameter) {
        CuFileBackend backend = closedBackend();
        long before = backend.controls().getParameter(parameter);
        long above = parameter == SizeParameter.PROFILE_STATS ? 4 : Long.MAX_VALUE;
        for (long outside : new long[]{-1, above}) {
            assertThat(Failures.expect(
                    CuFileError.INVALID_VALUE, () -> backend.controls().setParameter(parameter, outside)))
                    .hasMessageContaining(parameter.key().name())
                    .hasMessageContaining(parameter.key().allowed());
        }
        assertThat(backend.controls().getParameter(parameter)).isEqualTo(before);
    }

    @Test
    void unknownLevelOfLoggingIsRefusedAtTheCall() {
        Failures.expect(CuFileError.INVALID_VALUE,
                () -> closedBackend().controls().setParameter(StringParameter.LOGGING_LEVEL, "LOUD"));
    }

    @Test
    void propertiesShowTheRunningValues() {
        CuFileBackend backend = closedBackend();
        backend.controls().setParameter(SizeParameter.PROPERTIES_IO_BATCHSIZE, 17L);
        backend.controls().setParameter(SizeParameter.PROPERTIES_BATCH_IO_TIMEOUT_MS, 9L);
        backend.controls().setParameter(SizeParameter.PROPERTIES_MAX_DIRECT_IO_SIZE_KB, 2048L);
        backend.driverOpen();
        try {
            assertThat(backend.controls().driverGetProperties().maxBatchIoSize()).isEqualTo(17);
            assertThat(backend.controls().driverGetProperties().maxBatchIoTimeoutMsecs()).isEqualTo(9);
            assertThat(backend.controls().driverGetProperties().maxDirectIoSizeKb()).isEqualTo(2048);
            backend.controls().driverSetMaxDirectIoSize(1024);
            assertThat(backend.controls().driverGetProperties().maxDirectIoSizeKb()).isEqualTo(1024);
        } finally {
            backend.driverClose();
        }
        backend.driverOpen();
        assertThat(backend.controls().driverGetProperties().maxDirectIoSizeKb())
                .as("a limit lasts as long as its driver")
                .isEqualTo(backend().config().get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB));
        backend.driverClose();
    }

    @Test
    void limitOfRegisteredDeviceMemoryIsEnforced() {
        MemoryKind device = MemoryKind.CUDA_DEVICE;
        if (!backend().kinds().contains(device)) {
            return;
        }
        int size = (int) (256 * KIB);
        try (CuFileDriver driver = newDriver();
                GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), device, size)) {
            driver.setMaxPinnedMemSize(128);
            Failures.expect(CuFileError.INVALID_MAPPING_SIZE, () -> driver.registerBuffer(memory.range()));
            driver.setMaxPinnedMemSize(256);
            driver.registerBuffer(memory.range()).close();
        }
    }

    @Test
    void barOfAMissingGpuIsRefused() {
        assumeFalse(backend().unbuiltFunctions().contains("cuFileGetBARSizeInKB"), "not built");
        Failures.expect(CuFileError.INVALID_VALUE, () -> driver().barSizeInKb(-1));
        Failures.expect(CuFileError.INVALID_VALUE, () -> driver().barSizeInKb(1 << 20));
    }
}
