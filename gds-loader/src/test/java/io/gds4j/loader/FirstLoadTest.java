package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.ReferenceBackend;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the first save and load of a process do besides. */
@Tag("slow")
class FirstLoadTest {
    @TempDir
    Path folder;

    private static final Pattern SECONDS = Pattern.compile("\\[(\\d+\\.\\d+)s]");

    /** Saves and loads a checkpoint. */
    static final class Child {
        private Child() {
        }

        public static void main(String[] arguments) {
            Path path = Path.of(arguments[0]);
            System.out.println("opening");
            try (CuFileDriver driver = arguments[1].equals("compat")
                    ? CuFileDriver.open(CuFileConfig.builder().withoutEnvironment().build(), "compat")
                    : CuFileDriver.open(new ReferenceBackend())) {
                SavePlan.builder().tensor("a", new float[1024], 1024).toFile(path).save(driver);
                Checkpoint.open(path).plan().to(MemoryKind.HOST, MemoryRange.NO_DEVICE).load(driver).close();
            }
            System.out.println("done");
        }
    }

    /** Each would take 50 ms, in which nothing is read. */
    @ParameterizedTest
    @ValueSource(strings = {"reference", "compat"})
    void neitherRecorderNorJmxStarts(String backend) throws ClassNotFoundException {
        Class<?> compat = Class.forName("io.gds4j.compat.CompatBackend");
        ChildJvm.End end = new ChildJvm(Child.class, folder, Checkpoint.class, ReferenceBackend.class, compat)
                .with("-Xlog:class+load")
                .run(folder.resolve("a.safetensors").toString(), backend);
        assertThat(end.error()).isEmpty();
        assertThat(end.output()).contains("opening", "done", Checkpoint.class.getName());
        // The bean of a session is published five seconds after it opened, which may be before a slow machine has loaded.
        double opening = end.output().lines().takeWhile(line -> !line.equals("opening"))
                .mapToDouble(FirstLoadTest::uptime).max().orElseThrow();
        assertThat(end.output().lines()
                .filter(line -> uptime(line) < opening + 4.9)
                .filter(line -> line.contains("CheckpointEvent") || line.contains("PieceReadEvent")
                        || line.contains("javax.management.") || line.contains("jdk.jfr.internal.")))
                .isEmpty();
    }

    /** Returns the seconds at the start of a line of the JVM's log, such as {@code [1.204s]}; 0 for other lines. */
    private static double uptime(String line) {
        Matcher seconds = SECONDS.matcher(line);
        return seconds.lookingAt() ? Double.parseDouble(seconds.group(1)) : 0;
    }
}
