package io.gds4j.tools.power;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import java.io.BufferedReader;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A program is killed in the middle of the calls that make promises about crashes. */
@Tag("slow")
@Timeout(180)
class KilledProgramTest {
    /** Marks of one round of all operations. */
    private static final int MARKS = 16;

    @TempDir
    Path folder;

    @Test
    void eachCallKeepsItsPromise() throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        int kills = (int) Math.max(2, Long.getLong("gds4j.property.seconds", 0));
        Random random = new Random(seed);
        try (CuFileDriver driver = CuFileDriver.open(); CachedReads cache = new CachedReads(0)) {
            List<Operation> operations = Recording.EXT4_KILLED.operations(driver, cache);
            for (int i = 0; i < kills; i++) {
                Path root = Files.createDirectories(folder.resolve(i + "/" + Recording.EXT4_KILLED));
                int mark = random.nextInt(1, 2 * MARKS);
                Progress progress = killAfter(mark, cache.port(), root.getParent());
                try {
                    progress.check(operations, root, true);
                } catch (Exception | AssertionError e) {
                    throw new AssertionError("seed %s, killed in %s".formatted(seed, progress), e);
                }
            }
        }
    }

    /** Runs the operations in a process that dies after a number of marks. */
    private static Progress killAfter(int marks, int port, Path root) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"),
                PowerRecord.class.getName(), Integer.toString(port), "100", "0", root.toString(),
                Recording.EXT4_KILLED.toString()));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.to(new File(root.toString(), "errors")))
                .start();
        Progress progress = new Progress();
        try (BufferedReader lines = process.inputReader()) {
            for (int i = 0; i < marks; i++) {
                String line = lines.readLine();
                assertThat(line).as(Files.readString(root.resolve("errors"))).isNotNull();
                progress.note(line);
            }
            process.toHandle().destroyForcibly();
            // what it told before it died
            lines.lines().forEach(progress::note);
        }
        process.waitFor();
        return progress;
    }
}
