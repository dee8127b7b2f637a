package io.gds4j.tools.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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

    @Test
    void namedFolderIsUsed() throws IOException {
        assertThat(TemporaryFolder.parent(parent)).isEqualTo(parent);
    }
}
