package io.gds4j.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.StringParameter;
import io.gds4j.config.TargetType;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that functions after cuFile 1.0 are optional, and fail by default. */
class BackendDefaultsTest {
    private interface Call {
        void on(CuFileBackend backend);
    }

    static Stream<Arguments> functions() {
        var slabs = CuFileConfig.defaults().posixPoolSlabs();
        return Stream.of(
                row("cuFileUseCount", "1.4", CuFileBackend::useCount),
                row("cuFileBatchIOSetUp", "1.6", b -> b.batchIoSetUp(1)),
                row("cuFileBatchIOSubmit", "1.6", b -> b.batchIoSubmit(() -> 1, List.of(), 0)),
                row("cuFileBatchIOGetStatus", "1.6", b -> b.batchIoGetStatus(() -> 1, 0, 1, Optional.empty())),
                row("cuFileBatchIOCancel", "1.6", b -> b.batchIoCancel(() -> 1)),
                row("cuFileBatchIODestroy", "1.6", b -> b.batchIoDestroy(() -> 1)),
                row("cuFileReadAsync", "1.7", b -> b.readAsync(null)),
                row("cuFileWriteAsync", "1.7", b -> b.writeAsync(null)),
                row("cuFileStreamRegister", "1.7", b -> b.streamRegister(1, 0)),
                row("cuFileStreamDeregister", "1.7", b -> b.streamDeregister(1)),
                row("cuFileGetVersion", "1.8", b -> b.controls().getVersion()),
                row("cuFileGetParameterSizeT", "1.14", b -> b.controls().getParameter(SizeParameter.PROFILE_STATS)),
                row("cuFileGetParameterBool", "1.14", b -> b.controls().getParameter(BoolParameter.PROFILE_NVTX)),
                row("cuFileGetParameterString", "1.14", b -> b.controls().getParameter(StringParameter.LOG_DIR)),
                row("cuFileSetParameterSizeT", "1.14", b -> b.controls().setParameter(SizeParameter.PROFILE_STATS, 1L)),
                row("cuFileSetParameterBool", "1.14", b -> b.controls().setParameter(BoolParameter.PROFILE_NVTX, true)),
                row("cuFileSetParameterString", "1.14", b -> b.controls().setParameter(StringParameter.LOG_DIR, "")),
                row(
                        "cuFileGetParameterMinMaxValue",
                        "1.15",
                        b -> b.controls().getParameterMinMaxValue(SizeParameter.PROFILE_STATS)),
                row("cuFileSetStatsLevel", "1.15", b -> b.controls().setStatsLevel(1)),
                row("cuFileGetStatsLevel", "1.15", b -> b.controls().getStatsLevel()),
                row("cuFileStatsStart", "1.15", b -> b.controls().statsStart()),
                row("cuFileStatsStop", "1.15", b -> b.controls().statsStop()),
                row("cuFileStatsReset", "1.15", b -> b.controls().statsReset()),
                row("cuFileGetStatsL1", "1.15", b -> b.controls().getStatsL1()),
                row("cuFileGetStatsL2", "1.15", b -> b.controls().getStatsL2()),
                row("cuFileGetStatsL3", "1.15", b -> b.controls().getStatsL3()),
                row("cuFileGetBARSizeInKB", "1.15", b -> b.controls().getBarSizeInKb(0)),
                row("cuFileSetParameterPosixPoolSlabArray", "1.15",
                        b -> b.controls().setParameterPosixPoolSlabArray(slabs)),
                row("cuFileGetParameterPosixPoolSlabArray", "1.15", b -> b.controls().getParameterPosixPoolSlabArray()),
                row("cuFileDriverSetP2PFlags", "1.16", b -> b.controls().driverSetP2pFlags(TargetType.NVME, 1)),
                row("cuFileDriverGetP2PFlags", "1.16", b -> b.controls().driverGetP2pFlags(TargetType.NVME)),
                row("cuFileExportPCIeTopology", "1.17", b -> b.controls().exportPcieTopology(Path.of("x"))),
                row(
                        "cuFileSetParameterGpuBounceBufferSlabArray",
                        "1.17",
                        b -> b.controls().setParameterGpuBounceBufferSlabArray(slabs)),
                row(
                        "cuFileGetParameterGpuBounceBufferSlabArray",
                        "1.17",
                        b -> b.controls().getParameterGpuBounceBufferSlabArray()),
                row("cuFileReadv", "1.19", b -> b.readv(null, List.of(), 0, 0)),
                row("cuFileWritev", "1.19", b -> b.writev(null, List.of(), 0, 0)));
    }

    private static Arguments row(String function, String since, Call call) {
        return Arguments.of(function, since, call);
    }

    @ParameterizedTest(name = "{0} of cuFile {1}")
    @MethodSource("functions")
    void laterFunctionsAreUnsupportedByDefault(String function, String since, Call call) {
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> call.on(minimal()));

        assertThat(e.error()).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
        assertThat(e.function()).isEqualTo(function);
        assertThat(e.detail())
                .isEqualTo("the backend 'minimal' does not have this function of cuFile " + since);
    }

    @Test
    void tableOfOptionalFunctionsIsComplete() {
        Set<String> optional = allFunctions()
                .filter(method -> !Modifier.isAbstract(method.getModifiers()))
                .map(Method::getName)
                // These are no functions of cuFile.
                .filter(name -> !Set
                        .of("bufRegisterNow", "bytesWritten", "stage", "transfer", "trim", "waitsForDisk")
                        .contains(name))
                .collect(Collectors.toSet());

        // A parameter of three types has three functions in C.
        assertThat(optional).hasSize((int) functions().count() - 4);
    }

    private static Stream<Method> allFunctions() {
        return Stream.of(CuFileBackend.class, DriverControls.class).flatMap(type -> Stream.of(type.getMethods()));
    }

    @Test
    void functionsOfCuFile10AreRequired() {
        assertThat(allFunctions()
                .filter(method -> Modifier.isAbstract(method.getModifiers()))
                .map(Method::getName))
                .containsExactlyInAnyOrder(
                        "name",
                        "allocator",
                        "controls",
                        "name",
                        "engineStatistics",
                        "handleRegister",
                        "handleDeregister",
                        "bufRegister",
                        "bufDeregister",
                        "read",
                        "write",
                        "driverOpen",
                        "driverClose",
                        "driverGetProperties",
                        "driverSetPollMode",
                        "driverSetMaxDirectIoSize",
                        "driverSetMaxCacheSize",
                        "driverSetMaxPinnedMemSize");
    }

    /** A backend with a name and the default functions. */
    private interface Minimal extends CuFileBackend, DriverControls {
        @Override
        default String name() {
            return "minimal";
        }

        @Override
        default DriverControls controls() {
            return this;
        }
    }

    private static CuFileBackend minimal() {
        return (CuFileBackend) Proxy.newProxyInstance(
                Minimal.class.getClassLoader(), new Class<?>[]{Minimal.class}, InvocationHandler::invokeDefault);
    }
}
