package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.FaultInjectingBackend;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.ReferenceBackend;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests storage code of a program against a simulated full disk, as docs/testing.md shows. */
class DiskFullTest {
    @TempDir
    private Path folder;

    private static void save(CuFileDriver driver, Path path, MemoryRange range) {
        try (CuFileHandle file = driver.openFile(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            for (int copy = 0; copy < 4; copy++) {
                file.write(range, copy * range.length());
            }
        }
    }

    @Test
    void fullDiskIsReportedAndMemoryUntouched() {
        Path path = folder.resolve("saved");
        FaultInjectingBackend backend = new FaultInjectingBackend(new ReferenceBackend());
        backend.on(Call.WRITE).nth(3).fails(Errno.ENOSPC); // the third write finds the disk full
        try (CuFileDriver driver = CuFileDriver.open(backend);
                GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), MemoryKind.HOST, 10_000)) {
            assertThatThrownBy(() -> save(driver, path, memory.range())).hasMessageContaining("ENOSPC");
            memory.verify(); // no byte outside of it changed
        }
        backend.verify(); // the fault happened
    }
}
