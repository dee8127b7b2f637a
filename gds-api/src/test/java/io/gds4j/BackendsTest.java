package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.DirectStorage;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.routing.DirectOnlyBackend;
import io.gds4j.internal.routing.RoutingBackend;
import io.gds4j.spi.Availability;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.statistics.IoPath;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** The choice of a backend and of its fallback. */
class BackendsTest {
    /** A provider with its availability by name and for {@code auto}. */
    private record Provider(String name, int priority, Availability asked, Availability auto)
            implements
                CuFileBackendProvider {
        @Override
        public Availability probe(CuFileConfig config) {
            return asked;
        }

        @Override
        public Availability probeForAuto(CuFileConfig config) {
            return auto;
        }

        @Override
        public CuFileBackend create(CuFileConfig config) {
            return backend(name, asked);
        }

        @Override
        public CuFileBackend createForAuto(CuFileConfig config) {
            return backend(name + " for auto", auto);
        }

        private static CuFileBackend backend(String name, Availability availability) {
            assertThat(availability).isInstanceOf(Availability.Available.class);
            RecordingBackend backend = new RecordingBackend();
            backend.name = name;
            return backend;
        }
    }

    private static final Availability YES = new Availability.Available();
    private static final Availability NO = new Availability.Unavailable("no driver", "load nvidia-fs");

    private static CuFileBackend choose(String name, CuFileBackendProvider... providers) {
        return Backends.choose(name, CuFileConfig.defaults(), List.of(providers));
    }

    private static CuFileBackend chooseDirect(String name, CuFileBackendProvider... providers) {
        CuFileConfig config =
                CuFileConfig.builder().withoutEnvironment().directStorage(DirectStorage.REQUIRE).build();
        return Backends.choose(name, config, List.of(providers));
    }

    /** Serves everything but direct storage. */
    private record Fallback() implements CuFileBackendProvider {
        @Override
        public String name() {
            return "compat";
        }

        @Override
        public int priority() {
            return 0;
        }

        @Override
        public Availability probe(CuFileConfig config) {
            return config.directStorage() == DirectStorage.REQUIRE
                    ? new Availability.Unavailable("allow_compat_mode is false", "set it to true")
                    : YES;
        }

        @Override
        public CuFileBackend create(CuFileConfig config) {
            return new RecordingBackend();
        }
    }

    @Test
    void everyProviderBeginsWhatIsWaitedForIfNoDriverOpens() {
        List<String> events = new ArrayList<>();
        CuFileBackendProvider early = new CuFileBackendProvider() {
            @Override
            public String name() {
                return "early";
            }

            @Override
            public int priority() {
                return 1;
            }

            @Override
            public Runnable anticipate() {
                events.add("begun");
                return () -> events.add("awaited");
            }

            @Override
            public Availability probe(CuFileConfig config) {
                return YES;
            }

            @Override
            public CuFileBackend create(CuFileConfig config) {
                return new RecordingBackend();
            }
        };
        Runnable begun = Backends.anticipate(List.of(early, new Fallback()));
        assertThat(events).containsExactly("begun");
        begun.run();
        assertThat(events).containsExactly("begun", "awaited");
    }

    @Test
    void requiredDirectStorageNamesEveryReasonAndNoRemedyThatUndoesTheRequest() {
        Provider library =
                new Provider("library", 100, new Availability.Unavailable("it is not found", "install it"), NO);
        CuFileException e = failure(() -> chooseDirect("auto", library, new Fallback()));
        assertThat(e.detail())
                .endsWith("offers it: library: it is not found (install it); library: no driver (load nvidia-fs)");
    }

    @Test
    void requiredDirectStorageFailsAtOpenWithReasonAndRemedy() {
        Provider library = new Provider("library", 100, YES, NO);
        Provider compat = new Provider("compat", 0, NO, NO);
        for (String name : List.of("auto", "library")) {
            CuFileException e = failure(() -> chooseDirect(name, library, compat));

            assertThat(e.error()).isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
            assertThat(e.detail()).startsWith("GPUDirect Storage is required (allow_compat_mode=false, program), but no"
                    + " backend offers it: library: no driver (load nvidia-fs)");
        }
    }

    @Test
    void requiredDirectStorageRefusesAFileOfAnotherPath() {
        CuFileBackend backend = chooseDirect("auto", new Provider("library", 100, YES, YES));
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            CuFileException e = failure(() -> driver.openFile(Path.of("/models/a")));

            assertThat(e.error()).isEqualTo(CuFileError.IO_NOT_SUPPORTED);
            assertThat(e.path()).contains(Path.of("/models/a"));
            assertThat(e.detail()).startsWith("GPUDirect Storage is required, but cannot serve this file:"
                    + " COMPAT_BUFFERED would serve it: the test says so (").contains("DirectStorage.AUTO");
        }
    }

    @Test
    void requiredDirectStorageServesDirectFilesWithoutAFallback() {
        RecordingBackend recording = new RecordingBackend();
        recording.ioPath = IoPath.NVFS;
        try (CuFileDriver driver = CuFileDriver.open(new DirectOnlyBackend(recording));
                CuFileHandle file = driver.openFile(Path.of("/models/a"))) {
            assertThat(file.ioPath().path()).isEqualTo(IoPath.NVFS);
        }
        recording.during("handleRegister", () -> {
            throw CuFileException.of(CuFileError.HANDLE_NOT_REGISTERED, "cuFileHandleRegister", "no udev entry");
        });
        try (CuFileDriver driver = CuFileDriver.open(new DirectOnlyBackend(recording))) {
            CuFileException e = failure(() -> driver.openFile(Path.of("/models/a")));

            assertThat(e.error()).isEqualTo(CuFileError.HANDLE_NOT_REGISTERED);
            assertThat(e.detail()).startsWith(
                    "GPUDirect Storage is required, but cannot serve this file: no udev entry (");
        }
    }

    @Test
    void nextBestBackendIsFallback() {
        Provider library = new Provider("library", 100, YES, YES);
        Provider compat = new Provider("compat", 0, YES, YES);
        assertThat(choose("auto", library, compat)).isInstanceOf(RoutingBackend.class);
        assertThat(choose("auto", library, compat).name()).isEqualTo("library for auto");
        assertThat(choose("library", library, compat).name()).isEqualTo("library");
        assertThat(choose("library", library, compat)).isInstanceOf(RoutingBackend.class);
        assertThat(choose("compat", library, compat)).isInstanceOf(RecordingBackend.class);
        assertThat(choose("auto", library).name()).as("without a fallback").isEqualTo("library");
    }

    @Test
    void backendUnavailableForAutoIsChosenByName() {
        Provider library = new Provider("library", 100, YES, NO);
        Provider compat = new Provider("compat", 0, YES, YES);
        assertThat(choose("auto", library, compat).name()).isEqualTo("compat");
        assertThat(choose("library", library, compat).name()).isEqualTo("library");
    }

    private static boolean offersDirectStorage(DirectStorage demand, String name, CuFileBackendProvider... providers) {
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().directStorage(demand).build();
        return Backends.offersDirectStorage(new BackendChoice(config, name), List.of(providers));
    }

    @Test
    void directStorageIsAvailableWhereABackendThatMayServeHasIt() {
        Provider library = new Provider("library", 100, YES, YES);
        assertThat(offersDirectStorage(DirectStorage.AUTO, "auto", library, new Fallback())).isTrue();
        assertThat(offersDirectStorage(DirectStorage.REQUIRE, "library", library, new Fallback())).isTrue();
        assertThat(offersDirectStorage(DirectStorage.OFF, "auto", library, new Fallback())).isFalse();
        assertThat(offersDirectStorage(DirectStorage.AUTO, "compat", library, new Fallback())).isFalse();
        assertThat(offersDirectStorage(DirectStorage.AUTO, "auto", new Fallback())).isFalse();
        assertThat(offersDirectStorage(DirectStorage.AUTO, "library",
                new Provider("library", 100, YES, NO), new Fallback())).as("by its engine over POSIX").isFalse();
    }

    @Test
    void unavailableBackendIsNoFallback() {
        Provider library = new Provider("library", 100, YES, YES);
        Provider compat = new Provider("compat", 0, NO, NO);
        assertThat(choose("auto", library, compat)).isInstanceOf(RecordingBackend.class);
        assertThat(choose("auto", library, compat).name()).isEqualTo("library");
    }

    @Test
    void firstAvailableBackendIsChosen() {
        assertThat(choose("auto", new Provider("a", 2, NO, NO), new Provider("b", 1, YES, YES)).name())
                .isEqualTo("b");
        assertThat(choose("b", new Provider("a", 2, NO, NO), new Provider("b", 1, YES, YES)).name())
                .isEqualTo("b");
    }

    @Test
    void unavailableBackendGivesReasonAndRemedy() {
        CuFileException e = failure(() -> choose("auto", new Provider("a", 2, NO, NO), new Provider("b", 1, NO, NO)));

        assertThat(e)
                .hasMessage("cuFileDriverOpen: no backend is available: a: no driver (load nvidia-fs);"
                        + " b: no driver (load nvidia-fs) (CU_FILE_DRIVER_NOT_INITIALIZED 5001)");
        assertThat(failure(() -> choose("a", new Provider("a", 2, NO, NO), new Provider("b", 1, YES, YES))).error())
                .isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
    }

    @Test
    void platformThatNoBackendSupportsHasACodeOfItsOwn() {
        Availability unsupported =
                new Availability.Unavailable("no linker", "take Linux", CuFileError.PLATFORM_NOT_SUPPORTED);
        Provider library = new Provider("library", 100, NO, NO);
        Provider compat = new Provider("compat", 0, unsupported, unsupported);

        assertThat(failure(() -> choose("auto", library, compat)))
                .hasMessage("cuFileDriverOpen: no linker (CU_FILE_PLATFORM_NOT_SUPPORTED 5007)");
        assertThat(failure(() -> chooseDirect("auto", library, compat)).error())
                .isEqualTo(CuFileError.DRIVER_NOT_INITIALIZED);
        assertThat(new Examination(List.of(library, compat)).machine(CuFileConfig.defaults()).why())
                .isEqualTo("none can serve: not available: no linker; take Linux");
    }

    @Test
    void unknownBackendIsInvalidValue() {
        CuFileException e = failure(() -> choose("c", new Provider("a", 2, YES, YES), new Provider("b", 1, YES, YES)));

        assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(e.detail()).isEqualTo("backend is 'c', allowed: auto, a, b");
    }

    private static CuFileException failure(ThrowingCallable call) {
        return catchThrowableOfType(CuFileException.class, call);
    }

    @Test
    void ownProvidersThatAreNotOnTheClassPathAreLeftOut() {
        assertThat(Backends.own()).isEmpty();
    }
}
