package consumer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.FaultInjectingBackend;
import io.gds4j.testkit.GdsExtension;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The kit gives each test a driver with a fake GPU, and faults. */
@ExtendWith(GdsExtension.class)
class KitTest {
    @TempDir
    Path folder;

    @Test
    void readFailsOnce(CuFileDriver driver, FaultInjectingBackend faults) throws Exception {
        Path data = Files.write(folder.resolve("data"), new byte[4096]);
        faults.on(Call.READ).times(1).fails(Errno.EIO);
        try (CuFileHandle file = driver.openFile(data);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, 4096)) {
            assertThrows(CuFileException.class, () -> file.read(memory, 0));
            assertEquals(4096, file.read(memory, 0));
        }
        faults.verify();
    }
}
