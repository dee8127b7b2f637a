package io.gds4j.engine.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.ChildJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A program ends, or closes its driver, with I/O in flight. The JVM ends in time with the status of the program, and its I/O only
 * succeeds or is refused.
 */
public abstract class JvmEndTest {
    /** Bytes of the child's file. */
    protected static final int FILE_BYTES = 1 << 20;

    private static final String REFUSED = "DRIVER_CLOSING: the JVM is exiting";

    @TempDir
    Path folder;

    /** For subclasses. */
    protected JvmEndTest() {
    }

    /** Runs {@link JvmEnd#run} in a child JVM. */
    protected abstract ChildJvm.End run(Path folder, Path file, String how);

    /** Makes the file of the child. */
    protected Path makeFile(Path folder) throws IOException {
        return Files.write(folder.resolve("file"), new byte[FILE_BYTES]);
    }

    /** Returns the output of the child after its driver closed, if it can print. */
    protected List<String> saidAtClose() {
        return List.of();
    }

    @ParameterizedTest
    @EnumSource
    void jvmEndsWithTheStatusOfTheProgram(JvmEnd end) throws IOException {
        ChildJvm.End child = run(folder, makeFile(folder), end.name());
        assertThat(child.status()).as("%s", child).isEqualTo(end.status());
        List<String> said = new ArrayList<>(List.of("in flight"));
        if (end == JvmEnd.CLOSE) {
            said.addAll(saidAtClose());
        }
        if (end == JvmEnd.CLOSE_IN_HOOK) {
            said.add(REFUSED);
        }
        assertThat(child.output().lines()).containsAll(said);
        // The time for closing at exit is limited.
        said.addAll(saidAtClose());
        assertThat(said).containsAll(child.output().lines().toList());
        if (end == JvmEnd.UNCAUGHT) {
            assertThat(child.error()).contains("IllegalStateException: of the program");
        } else {
            assertThat(child.error()).isEmpty();
        }
    }

    @Test
    void driverThatIsWantedWhenTheJvmExitsIsRefused() throws IOException {
        ChildJvm.End child = run(folder, makeFile(folder), JvmEnd.OPEN_IN_HOOK);
        assertThat(child.status()).as("%s", child).isZero();
        assertThat(child.output().lines()).containsExactly(REFUSED);
        assertThat(child.error()).isEmpty();
    }
}
