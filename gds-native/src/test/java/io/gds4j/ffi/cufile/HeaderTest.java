package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compares layouts and constants with the machine's {@code cufile.h}. The variable CUDA names CUDA's folder, else /usr/local/cuda. */
@Tag("gpu")
class HeaderTest {
    private static final Path INCLUDE = Path.of(System.getenv().getOrDefault("CUDA", "/usr/local/cuda"), "include");

    @TempDir
    private Path folder;

    @Test
    void structuresMatchTheMachinesHeader() throws IOException, InterruptedException {
        HeaderProbe probe = HeaderProbe.ofLayouts(INCLUDE);
        assertThat(probe.compiled(folder)).containsExactlyEntriesOf(probe.believed()).hasSizeGreaterThan(250);
    }

    @Test
    void constantsHaveTheValuesOfTheHeader() throws IOException, InterruptedException {
        HeaderProbe probe = HeaderProbe.ofConstants(INCLUDE);
        assertThat(probe.compiled(folder)).containsExactlyEntriesOf(probe.believed()).hasSizeGreaterThan(80);
    }
}
