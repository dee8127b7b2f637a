package io.gds4j.engine.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

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
 * However a program ends, or closes its driver, with everything in flight: the JVM ends with the program's own status, in time,
 * and nothing but refusals came to those who were moving bytes.
 */
public abstract class JvmEndTest {
    /** What the file of a child has. */
    protected static final int FILE_BYTES = 1 << 20;

    private static final String REFUSED = "DRIVER_CLOSING: the JVM is exiting";

    @TempDir
    Path folder;

    /** For subclasses. */
    protected JvmEndTest() {
    }

    /** Ends a child by {@link JvmEnd#run}. */
    protected abstract ChildJvm.End run(Path folder, Path file, String how);

    /** What the child moves bytes from and to. */
    protected Path makeFile(Path folder) throws IOException {
        return Files.write(folder.resolve("file"), new byte[FILE_BYTES]);
    }

    /** What the child says when its driver was closed, if it can tell. */
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
        // At the exit there is only so much time for closing.
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
