package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.ReferenceBackend;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the first save and load of a process do besides. */
class FirstLoadTest {
    @TempDir
    Path folder;

    /** Saves and loads a checkpoint. */
    static final class Child {
        private Child() {
        }

        public static void main(String[] paths) {
            Path path = Path.of(paths[0]);
            try (CuFileDriver driver = CuFileDriver.open(new ReferenceBackend())) {
                SavePlan.builder().tensor("a", new float[1024], 1024).toFile(path).save(driver);
                Checkpoint.open(path).plan().to(MemoryKind.HOST, MemoryRange.NO_DEVICE).load(driver).close();
            }
            System.out.println("done");
        }
    }

    /** That would take 50 ms, in which nothing is read. */
    @Test
    void noRecorderStarts() {
        ChildJvm.End end = new ChildJvm(Child.class, folder, Checkpoint.class, ReferenceBackend.class)
                .with("-Xlog:class+load")
                .run(folder.resolve("a.safetensors").toString());
        assertThat(end.error()).isEmpty();
        assertThat(end.output()).contains("done", Checkpoint.class.getName());
        assertThat(end.output().lines()
                .filter(line -> line.contains("CheckpointEvent") || line.contains("jdk.jfr.internal.")))
                .isEmpty();
    }
}
