package io.gds4j.internal.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Folders of this user without libc, which this module does not have; others test them with it. */
class OwnFolderTest {
    private static final int STRANGER = 4711;

    @TempDir
    private Path parent;

    private Path home;

    @BeforeEach
    void layWhatIsPrecious() throws IOException {
        home = Files.createDirectories(parent.resolve("home/keys")).getParent();
        Files.writeString(home.resolve("keys/id"), "PRECIOUS");
        Files.writeString(home.resolve("thesis"), "PRECIOUS");
    }

    private static void giveAway(Path path) throws IOException {
        assumeThat(FoundFile.user()).as("only root can play the other user").contains(0);
        Files.setAttribute(path, "unix:uid", STRANGER, LinkOption.NOFOLLOW_LINKS);
    }

    private void assertThatHomeIsWhole() {
        assertThat(home.resolve("keys/id")).hasContent("PRECIOUS");
        assertThat(home.resolve("thesis")).hasContent("PRECIOUS");
    }

    @Test
    void onlyThisUserEntersTheFolder() throws IOException {
        Path place = parent.resolve("own");
        try (OwnFolder folder = OwnFolder.create(place)) {
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(place))).isEqualTo("rwx------");
            assertThatThrownBy(() -> OwnFolder.create(place)).isInstanceOf(FileSystemException.class);
            folder.remove();
        }
        assertThat(place).doesNotExist();
    }

    @Test
    void removalTakesLinksAndNotWhatTheyLeadTo() throws IOException {
        Path place = parent.resolve("own");
        try (OwnFolder folder = OwnFolder.create(place)) {
            Files.createDirectories(folder.path().resolve("a/b"));
            Files.writeString(folder.path().resolve("a/b/c"), "c");
            Files.createSymbolicLink(folder.path().resolve("a/link"), home);
            Files.createLink(folder.path().resolve("thesis"), home.resolve("thesis"));
            Files.writeString(folder.path().resolve("mark"), "");
            folder.clear("mark"::equals);
            assertThat(place).isDirectoryContaining("glob:**/mark");
            folder.remove();
        }
        assertThat(place).doesNotExist();
        assertThatHomeIsWhole();
    }

    @Test
    void linksAndFoldersOfOthersAreRefused() throws IOException {
        Path link = Files.createSymbolicLink(parent.resolve("link"), home);
        assertThatThrownBy(() -> OwnFolder.open(link)).hasMessageEndingWith("this is a link");
        assertThatThrownBy(() -> OwnFolder.open(home.resolve("thesis"))).hasMessageEndingWith("this is no folder");
        giveAway(home);
        assertThatThrownBy(() -> OwnFolder.open(home)).hasMessageEndingWith("this folder belongs to another user");
        assertThatHomeIsWhole();
    }

    @Test
    void folderOfAnotherUserBelowStays() throws IOException {
        try (OwnFolder folder = OwnFolder.open(home)) {
            giveAway(home.resolve("keys"));
            Files.delete(home.resolve("thesis"));
            assertThatThrownBy(folder::remove).isInstanceOf(DirectoryNotEmptyException.class);
            assertThat(home.resolve("keys/id")).hasContent("PRECIOUS");
        }
    }

    @Test
    void permissionsAreNotThoseOfAFileBehindALink() throws IOException {
        Path file = Files.createFile(parent.resolve("file"));
        Set<PosixFilePermission> before = Files.getPosixFilePermissions(home.resolve("thesis"));
        try (FoundFile found = FoundFile.at(file, LinkOption.NOFOLLOW_LINKS)) {
            found.setPermissions(0751);
            assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file))).isEqualTo("rwxr-x--x");
            Files.delete(file);
            Files.createSymbolicLink(file, home.resolve("thesis"));
            assertThatThrownBy(() -> found.setPermissions(0777)).isInstanceOf(IOException.class);
        }
        assertThat(Files.getPosixFilePermissions(home.resolve("thesis"))).isEqualTo(before);
    }

    @Test
    void linkThatTakesTheNameIsNotFollowed() throws IOException {
        Path place = parent.resolve("own");
        try (OwnFolder folder = OwnFolder.create(place)) {
            Files.move(place, parent.resolve("moved"));
            Files.createSymbolicLink(place, home);
            assertThat(folder.hasItsName()).isFalse();
            try {
                folder.remove();
            } catch (IOException e) {
                // without libc the removal finds the link and ends
            }
        }
        assertThat(place).isSymbolicLink();
        assertThatHomeIsWhole();
    }
}
