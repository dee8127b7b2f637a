package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.StringParameter;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.FileSource;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Registration, limits, parameters and statistics of a driver. */
class CuFileDriverTest {
    private final RecordingBackend backend = new RecordingBackend();

    static Stream<Arguments> openOptions() {
        return Stream.of(
                Arguments.of(List.of(), "read"),
                Arguments.of(List.of(StandardOpenOption.READ), "read"),
                Arguments.of(List.of(StandardOpenOption.READ, StandardOpenOption.READ), "read"),
                Arguments.of(List.of(StandardOpenOption.WRITE), "write"),
                Arguments.of(List.of(StandardOpenOption.READ, StandardOpenOption.WRITE), "read write"),
                Arguments.of(List.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE), "write create"),
                Arguments.of(List.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW), "write createNew"),
                Arguments.of(
                        List.of(StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING), "write truncate"),
                Arguments.of(List.of(StandardOpenOption.WRITE, StandardOpenOption.SYNC), "write sync"),
                Arguments.of(List.of(StandardOpenOption.WRITE, StandardOpenOption.DSYNC), "write dsync"),
                Arguments.of(List.of(StandardOpenOption.WRITE, StandardOpenOption.SPARSE), "write"),
                Arguments.of(List.of(CuFileOpenOption.DIRECT), "read direct"));
    }

    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("openOptions")
    void openOptionsReachBackend(List<OpenOption> options, String flags) {
        FileSource.Named named = OpenOptions.toSource(Path.of("x"), options.toArray(OpenOption[]::new));

        List<String> set = new ArrayList<>();
        Map<String, Boolean> all = new java.util.LinkedHashMap<>();
        all.put("read", named.has(StandardOpenOption.READ));
        all.put("write", named.has(StandardOpenOption.WRITE));
        all.put("create", named.has(StandardOpenOption.CREATE));
        all.put("createNew", named.has(StandardOpenOption.CREATE_NEW));
        all.put("truncate", named.has(StandardOpenOption.TRUNCATE_EXISTING));
        all.put("direct", named.has(CuFileOpenOption.DIRECT));
        all.put("sync", named.has(StandardOpenOption.SYNC));
        all.put("dsync", named.has(StandardOpenOption.DSYNC));
        all.forEach((name, on) -> {
            if (on) {
                set.add(name);
            }
        });
        assertThat(String.join(" ", set)).isEqualTo(flags);
        assertThat(named.path()).isEqualTo(Path.of("x"));
    }

    static Stream<Arguments> refusedOptions() {
        OpenOption foreign = new OpenOption() {
            @Override
            public String toString() {
                return "SOMETHING";
            }
        };
        return Stream.of(
                Arguments.of(
                        CuFileError.INVALID_FILE_OPEN_FLAG,
                        List.of(StandardOpenOption.WRITE, StandardOpenOption.APPEND),
                        "APPEND"),
                Arguments.of(
                        CuFileError.INVALID_FILE_OPEN_FLAG,
                        List.of(StandardOpenOption.DELETE_ON_CLOSE),
                        "DELETE_ON_CLOSE"),
                Arguments.of(
                        CuFileError.INVALID_FILE_OPEN_FLAG, List.of(LinkOption.NOFOLLOW_LINKS), "NOFOLLOW_LINKS"),
                Arguments.of(CuFileError.INVALID_FILE_OPEN_FLAG, List.of(foreign), "SOMETHING"),
                Arguments.of(CuFileError.INVALID_VALUE, List.of(StandardOpenOption.CREATE), "needs"),
                Arguments.of(CuFileError.INVALID_VALUE, List.of(StandardOpenOption.CREATE_NEW), "needs"),
                Arguments.of(CuFileError.INVALID_VALUE, List.of(StandardOpenOption.TRUNCATE_EXISTING), "needs"));
    }

    @ParameterizedTest(name = "{1}")
    @MethodSource("refusedOptions")
    void invalidOpenOptionsAreRefused(CuFileError code, List<OpenOption> options, String word) {
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            CuFileException e =
                    failure(() -> driver.openFile(Path.of("x"), options.toArray(OpenOption[]::new)));

            assertThat(e.error()).isEqualTo(code);
            assertThat(e.detail()).contains(word);
            assertThat(e.path()).contains(Path.of("x"));
            assertThat(backend.callsOf("handleRegister")).isEmpty();
        }
    }

    @Test
    void pathInArchiveIsRefused(@TempDir Path folder) throws IOException {
        Path zip = folder.resolve("a.zip");
        try (FileSystem inside = FileSystems.newFileSystem(zip, Map.of("create", "true"));
                CuFileDriver driver = CuFileDriver.open(backend)) {
            Path file = Files.writeString(inside.getPath("/x"), "x");

            assertThat(failure(() -> driver.openFile(file)).error()).isEqualTo(CuFileError.INVALID_VALUE);
        }
    }

    @Test
    void driverOfAGivenBackendHasDefaultsAndNoDirectStorage() {
        CuFileDriver driver = CuFileDriver.open(backend);
        driver.close();

        assertThat(driver.config().values()).isEqualTo(CuFileConfig.defaults().values());
        assertThat(driver.isDirectStorageAvailable()).isFalse();
    }

    @Test
    void descriptorIsRegisteredByNumber() {
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            CuFileHandle handle = driver.registerDescriptor(5);

            assertThat(handle.path()).isEmpty();
            assertThat(handle).hasToString("CuFileHandle[descriptor, open]");
            assertThat(failure(() -> driver.registerDescriptor(-1)).error()).isEqualTo(CuFileError.INVALID_VALUE);
            assertThat(failure(() -> handle.read(MemoryRange.ofAddress(1, 1, MemoryKind.HOST), -1, 0, 0)).path())
                    .isEmpty();
            assertThat(backend.callsOf("handleRegister")).containsExactly("handleRegister fd 5");
        }
    }

    @Test
    void bufferFlagsMatchHeader() {
        MemoryRange memory = MemoryRange.ofAddress(4096, 64, MemoryKind.HOST);
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            driver.registerBuffer(memory, Set.of(BufferFlag.RDMA_REGISTER)).close();
            driver.registerBuffer(memory, Set.of(BufferFlag.RDMA_RELAXED_ORDERING)).close();
            driver.registerBuffer(memory, Set.of(BufferFlag.values())).close();

            assertThat(backend.callsOf("bufRegister"))
                    .containsExactly("bufRegister 64 flags 1", "bufRegister 64 flags 2", "bufRegister 64 flags 3");
            assertThat(failure(() -> driver.registerBuffer(memory.slice(0, 0))).error())
                    .isEqualTo(CuFileError.INVALID_VALUE);
        }
    }

    @ParameterizedTest
    @CsvSource({
            "direct, 64, true",
            "direct, 16384, true",
            "direct, 0, false",
            "direct, 7, false",
            "direct, 65, false",
            "direct, 16448, false",
            "direct, -64, false",
            "cache, 0, true",
            "cache, 1048576, true",
            "cache, 2, false",
            "cache, -4, false",
            "pinned, 64, true",
            "pinned, 7, false",
            "pinned, 60, false",
            "pinned, -9223372036854775808, false",
            "poll, 4, true",
            "poll, 3, false",
            "poll, 0, false",
            "poll, -4, false"
    })
    void limitsOutOfRangeNeverReachBackend(String limit, long kb, boolean allowed) {
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            ThrowingCallable call = () -> {
                switch (limit) {
                    case "direct" -> driver.setMaxDirectIoSize(kb);
                    case "cache" -> driver.setMaxCacheSize(kb);
                    case "pinned" -> driver.setMaxPinnedMemSize(kb);
                    default -> driver.setPollMode(true, kb);
                }
            };
            backend.calls.clear();
            CuFileException e = failure(call);

            if (allowed) {
                assertThat(e).isNull();
                assertThat(backend.calls).hasSize(1);
            } else {
                assertThat(e.error()).isEqualTo(CuFileError.DRIVER_UNSUPPORTED_LIMIT);
                assertThat(e.detail()).contains("is " + kb + ", allowed: an integer");
                assertThat(backend.calls).isEmpty();
            }
        }
    }

    @Test
    void parametersAndStatisticsReachBackend() {
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            backend.calls.clear();
            assertThat(driver.parameter(SizeParameter.PROPERTIES_IO_BATCHSIZE)).isEqualTo(1);
            assertThat(driver.parameter(BoolParameter.FORCE_COMPAT_MODE)).isTrue();
            assertThat(driver.parameter(StringParameter.LOGGING_LEVEL)).isEqualTo("ERROR");
            assertThat(driver.parameterRange(SizeParameter.PROPERTIES_IO_BATCHSIZE))
                    .isEqualTo(new ParameterRange(1, 2));
            assertThat(driver.posixPoolSlabs().sizesKb()).containsExactly(4L);
            assertThat(driver.barSizeInKb(0)).isZero();
            assertThat(driver.properties().maxBatchIoSize()).isEqualTo(128);
            CuFileStatistics statistics = driver.statistics();
            statistics.setLevel(3);
            statistics.start();
            statistics.stop();
            statistics.reset();

            assertThat(backend.calls)
                    .containsExactly(
                            "getParameterSizeT PROPERTIES_IO_BATCHSIZE",
                            "getParameterBool FORCE_COMPAT_MODE",
                            "getParameterString LOGGING_LEVEL",
                            "getParameterMinMaxValue PROPERTIES_IO_BATCHSIZE",
                            "getParameterPosixPoolSlabArray",
                            "getBarSizeInKb 0",
                            "driverGetProperties",
                            "setStatsLevel 3",
                            "statsStart",
                            "statsStop",
                            "statsReset");
            assertThat(failure(() -> statistics.setLevel(4)).error()).isEqualTo(CuFileError.INVALID_VALUE);
            assertThat(failure(() -> statistics.setLevel(-1)).error()).isEqualTo(CuFileError.INVALID_VALUE);
            assertThat(failure(() -> driver.barSizeInKb(-1)).error()).isEqualTo(CuFileError.INVALID_VALUE);
        }
    }

    @Test
    void missingFunctionIsRefusedWithItsVersion() {
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            assertThat(failure(() -> driver.statistics().level1()))
                    .hasMessage("cuFileGetStatsL1: the backend 'recording' does not have this function of cuFile 1.15"
                            + " (CU_FILE_IO_NOT_SUPPORTED 5008)");
        }
    }

    @Test
    void messageWithoutBackendNamesArtifactToAdd() {
        CuFileConfig config = CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.IO_BATCHSIZE, 1L)
                .build();

        assertThat(CuFileDriver.providers()).isEmpty();
        assertThat(failure(() -> CuFileDriver.open(config)))
                .hasMessage("cuFileDriverOpen: no backend on the class path or module path: add io.gds4j:gds-compat"
                        + " (CU_FILE_DRIVER_NOT_INITIALIZED 5001)");
    }

    private static CuFileException failure(ThrowingCallable call) {
        return catchThrowableOfType(CuFileException.class, call);
    }

    @Test
    void bytesThatAreWrittenMeanwhileWereNotRead() {
        RecordingBackend writing = new RecordingBackend() {
            private long written;

            @Override
            public EngineStatistics engineStatistics() {
                EngineStatistics before =
                        EngineStatistics.of(Map.of(IoPath.COMPAT_BUFFERED, 7 + written), 0, 4096, 0, 0, "off");
                written = 100;
                return before;
            }

            @Override
            public long bytesWritten() {
                return written;
            }
        };
        try (CuFileDriver driver = CuFileDriver.open(writing)) {
            assertThat(driver.bytesRead()).isEqualTo(7);
            assertThat(driver.stats().bytesRead()).isEqualTo(7);
        }
    }
}
