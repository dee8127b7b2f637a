package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.GdsExtension;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** Tests storage code of a program with the JUnit extension, as docs/testing.md shows. */
class BadBlockTest {
    @RegisterExtension
    final GdsExtension gds = GdsExtension.create();

    @TempDir
    private Path folder;

    private static void load(CuFileDriver driver, Path path, MemoryRange range) {
        try (CuFileHandle file = driver.openFile(path, StandardOpenOption.READ)) {
            file.read(range, 0);
        }
    }

    private Path model() throws IOException {
        return Files.write(folder.resolve("model"), new byte[10_000]);
    }

    @Test
    void badBlockIsReported() throws IOException {
        Path path = model();
        gds.faults().on(Call.reads()).file(path).fails(Errno.EIO);
        GuardedMemory memory = gds.memory(MemoryKind.HOST, 10_000);
        assertThatThrownBy(() -> load(gds.driver(), path, memory.range())).hasMessageContaining("EIO");
    }
}
