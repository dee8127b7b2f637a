package io.gds4j.tools.terminal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TemporaryFolderTest {
    @TempDir
    private Path parent;

    @Test
    void closeDeletesTheFolderWithItsFiles() throws IOException {
        TemporaryFolder folder = TemporaryFolder.in(parent, "gds-demo-");
        Files.writeString(folder.path().resolve("a"), "a");
        Files.writeString(folder.path().resolve(".b.tmp"), "b");

        folder.close();
        folder.close();

        assertThat(parent).isEmptyDirectory();
    }

    @Test
    void closeAcceptsADeletedFolder() throws IOException {
        TemporaryFolder folder = TemporaryFolder.in(parent, "gds-demo-");
        Files.delete(folder.path());

        folder.close();

        assertThat(parent).isEmptyDirectory();
    }

    /** Who may write to the parent renames the folder, and lays a link to another one at its name. */
    @Test
    void linkThatTakesTheNameOfTheFolderIsNotFollowed() throws IOException {
        Path home = Files.createDirectory(parent.resolve("home"));
        Path precious = Files.writeString(home.resolve("a"), "PRECIOUS");
        Path moved = parent.resolve("moved");
        Path name;
        try (TemporaryFolder folder = TemporaryFolder.in(parent, "gds-demo-")) {
            name = folder.path();
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(folder.path())))
                    .isEqualTo("rwx------");
            Files.move(folder.path(), moved);
            Files.createSymbolicLink(folder.path(), home);
            Files.writeString(folder.inside("a"), "a");
            assertThat(moved.resolve("a")).hasContent("a");
        }
        assertThat(precious).hasContent("PRECIOUS");
        assertThat(home).isDirectoryContaining("glob:**/a");
        assertThat(moved).isEmptyDirectory();
        assertThat(name).as("the folder of someone else").isSymbolicLink();
    }

    @Test
    void namedFolderIsUsed() throws IOException {
        assertThat(TemporaryFolder.parent(parent)).isEqualTo(parent);
    }

    @Test
    void projectThatCannotBeWrittenNamesTheOption() {
        String before = System.getProperty(TemporaryFolder.PROJECT_ROOT, "");
        System.setProperty(TemporaryFolder.PROJECT_ROOT, "/sys");
        try {
            assertThatThrownBy(() -> TemporaryFolder.parent(null))
                    .hasMessage("/sys/target cannot be written: name another folder with --dir");
        } finally {
            System.clearProperty(TemporaryFolder.PROJECT_ROOT);
            if (!before.isEmpty()) {
                System.setProperty(TemporaryFolder.PROJECT_ROOT, before);
            }
        }
    }

    /** Deletes a folder of many files. */
    static final class Closing {
        public static void main(String[] args) throws IOException {
            try (TemporaryFolder folder = TemporaryFolder.in(Path.of(args[0]), "many-")) {
                for (int i = 0; i < 20_000; i++) {
                    Files.createFile(folder.path().resolve("file" + i));
                }
                System.out.println("closing");
            }
        }
    }

    @Tag("slow")
    @Test
    void signalDuringCloseLeavesNothing() throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC", "-cp",
                System.getProperty("java.class.path"), Closing.class.getName(), parent.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        try {
            assertThat(process.inputReader().readLine()).isEqualTo("closing");
            process.destroy();
            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(parent).isEmptyDirectory();
    }
}
