package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.compat.CompatBackendProvider;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.random.Campaign;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Loads and saves of several threads at a time, beside reads. */
class LoadsBesideSavesTest {
    @TempDir
    Path folder;

    @Test
    void checkpointsStayWhole() {
        Campaign.Outcome outcome = new Campaign(
                "loads beside saves", new CompatBackendProvider()::create, List.of(folder), List.of(MemoryKind.HOST))
                .only(EnumSet.of(Campaign.Step.READ))
                .with(List.of(new LoadsBesideSaves()))
                .run(Duration.ofMillis(500));
        assertThat(outcome.operations()).isPositive();
        assertThat(folder).isEmptyDirectory();
    }
}
