package io.gds4j.compat;

import io.gds4j.ffi.cufile.GpuMachine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;

/** The cases of {@link GpuStreamTest} over libcufile, which asks udev for the disk of each file. */
@Tag("gpu")
class GpuLibCuFileStreamTest extends GpuStreamTest {
    private Path folder;

    @Override
    String backend() {
        return "libcufile";
    }

    @Override
    Path folder() {
        return folder;
    }

    @BeforeEach
    void makeFolder() throws IOException {
        folder = Files.createTempDirectory(GpuMachine.directory(), "streams");
    }

    @AfterEach
    void deleteFolder() throws IOException {
        GpuMachine.deleteTree(folder);
    }
}
