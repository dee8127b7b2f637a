package io.gds4j.tools.io;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.tools.terminal.CommandFailure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WrittenFilesTest {
    @TempDir
    private Path folder;

    /** Who may write to the folder lays a link at the name of a file that the run has claimed. */
    @Test
    void claimedFileIsTheOneThatIsWritten() throws IOException {
        Path precious = Files.writeString(folder.resolve("precious"), "PRECIOUS");
        Path file = folder.resolve("t.bin");
        try (WrittenFiles written = new WrittenFiles(false)) {
            Path place = written.claim(file);
            assertThat(written.claim(file)).isEqualTo(place);
            Files.move(file, folder.resolve("old"));
            Files.createSymbolicLink(file, precious);
            Files.writeString(place, "content");
        }
        assertThat(precious).hasContent("PRECIOUS");
        assertThat(folder.resolve("old")).hasContent("content");
    }

    @Test
    void linksAndHardLinksAreNotClaimed() throws IOException {
        Path precious = Files.writeString(folder.resolve("precious"), "PRECIOUS");
        Path made = folder.resolve("made");
        Path link = Files.createSymbolicLink(folder.resolve("link"), precious);
        Path toMade = Files.createSymbolicLink(folder.resolve("toMade"), made);
        Path hard = Files.createLink(folder.resolve("hard"), precious);
        try (WrittenFiles written = new WrittenFiles(false)) {
            written.claim(made);
            assertThatThrownBy(() -> written.claim(link)).isInstanceOf(CommandFailure.class);
            assertThatThrownBy(() -> written.claim(toMade)).isInstanceOf(CommandFailure.class);
            assertThatThrownBy(() -> written.claim(hard)).isInstanceOf(CommandFailure.class);
        }
        Path empty = Files.createLink(folder.resolve("empty"), Files.createFile(folder.resolve("other")));
        for (Path taken : List.of(link, hard, empty)) { // after the file was created
            assertThatThrownBy(() -> WrittenFiles.own(taken, true)).isInstanceOf(CommandFailure.class);
        }
    }
}
