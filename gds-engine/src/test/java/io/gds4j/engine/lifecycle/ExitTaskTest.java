package io.gds4j.engine.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.ChildJvm;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tasks at the exit of the JVM: time limit and cancellation. */
class ExitTaskTest {
    @TempDir
    private Path folder;

    @Test
    void endlessTaskDoesNotHoldUpExitAndCancelledTaskDoesNotRun() {
        ChildJvm.End end = new ChildJvm(Child.class, folder).run();
        assertThat(end.status()).as("%s", end).isEqualTo(3);
        assertThat(end.output().lines()).containsExactly("begun");
        assertThat(end.error()).isEmpty();
    }

    /** Ends although its task does not. */
    static final class Child {
        public static void main(String[] args) {
            ExitTask.register("exit", "endless", Duration.ofMillis(500), () -> {
                System.out.println("begun");
                while (true) {
                    LockSupport.park();
                }
            });
            ExitTask.register("exit", "cancelled", () -> System.out.println("cancelled")).cancel();
            System.exit(3);
        }
    }
}
