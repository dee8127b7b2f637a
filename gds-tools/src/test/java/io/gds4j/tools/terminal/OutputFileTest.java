package io.gds4j.tools.terminal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OutputFileTest {
    @TempDir
    private Path folder;

    @Test
    void replacesALinkAndNotItsTarget() throws IOException {
        Path target = Files.writeString(folder.resolve("data"), "data");
        Path link = Files.createSymbolicLink(folder.resolve("page"), target);
        OutputFile.replace(link, "page".getBytes());
        assertThat(link).hasContent("page");
        assertThat(target).hasContent("data");
        OutputFile.replace(link, "again".getBytes());
        assertThat(link).hasContent("again");
    }

    /** The exceptions of the file system name the part, and that of a full disk names nothing. */
    @Test
    void failuresNameTheFileAndLeaveNothing() throws IOException {
        Path place = Files.createDirectories(folder.resolve("place/inside")).getParent();
        FileSystemException taken =
                catchThrowableOfType(FileSystemException.class, () -> OutputFile.replace(place, new byte[1]));
        assertThat(taken).hasMessageContaining(place + ": ");
        Path nowhere = folder.resolve("none/page");
        assertThat(catchThrowableOfType(FileSystemException.class, () -> OutputFile.replace(nowhere, new byte[1])))
                .hasMessageStartingWith(nowhere.toString());
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files).containsExactly(place);
        }
    }
}
