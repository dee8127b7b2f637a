package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.internal.routing.RoutingBackend;
import io.gds4j.spi.Availability;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.CuFileBackendProvider;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The choice of a backend and of its fallback. */
class BackendsTest {
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
            RecordingBackend made = new RecordingBackend();
            made.name = name;
            return made;
        }

        @Override
        public CuFileBackend createForAuto(CuFileConfig config) {
            RecordingBackend made = new RecordingBackend();
            made.name = name + " for auto";
            return made;
        }
    }

    private static final Availability YES = new Availability.Available();
    private static final Availability NO = new Availability.Unavailable("no nvidia-fs", "load it");

    private static CuFileBackend choose(String name, CuFileBackendProvider... providers) {
        return Backends.choose(name, CuFileConfig.defaults(), List.of(providers));
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

    @Test
    void unavailableBackendIsNoFallback() {
        Provider library = new Provider("library", 100, YES, YES);
        Provider compat = new Provider("compat", 0, NO, NO);
        assertThat(choose("auto", library, compat)).isInstanceOf(RecordingBackend.class);
        assertThat(choose("auto", library, compat).name()).isEqualTo("library");
    }
}
