package io.gds4j.tools;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A foreign program: opens a driver with a level of statistics, reads a file once, prints a line, and waits until standard input
 * ends.
 */
final class CountingProgram {
    private CountingProgram() {
    }

    /** Starts the program and returns when it has read the file. Everybody finds it: {@code gds top} of another test connects to it too. */
    static Process start(Path file, int level) throws IOException {
        return start(file, level, "-XX:+UsePerfData");
    }

    /** Starts the program so that only who knows its process finds it, and returns when it has read the file. */
    static Process startUnlisted(Path file, int level) throws IOException {
        return start(file, level, "-XX:-UsePerfData");
    }

    private static Process start(Path file, int level, String listed) throws IOException {
        Process program = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                listed,
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                CountingProgram.class.getName(),
                file.toString(),
                Integer.toString(level))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        if (!"ready".equals(program.inputReader().readLine())) {
            program.destroy();
            throw new IOException("the program did not start");
        }
        return program;
    }

    public static void main(String[] arguments) throws IOException {
        Path file = Path.of(arguments[0]);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment()
                .set(CuFileKeys.PROFILE_CUFILE_STATS, Long.valueOf(arguments[1])).build();
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
