package io.gds4j.tools;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.nio.file.Path;

/** A foreign program with statistics: reads a file once, prints a line, and waits until standard input ends. */
final class CountingProgram {
    private CountingProgram() {
    }

    public static void main(String[] arguments) throws IOException {
        Path file = Path.of(arguments[0]);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.PROFILE_CUFILE_STATS, 3L)
                .build();
        try (CuFileDriver driver = CuFileDriver.open(config, "compat");
                CuFileHandle handle = driver.openFile(file);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, file.toFile().length())) {
            handle.read(memory.range(), 0);
            System.out.println("ready");
            while (System.in.read() >= 0) {
                // waits
            }
        }
    }
}
