package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.Logged;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.loader.MemoryFolder;
import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a save counts on, by libc and by java.nio. */
@Timeout(60)
class FileCallsTest {
    private static final String LONG_NAME = "n".repeat(300);
    private static final int ENOTDIR = 20;
    private static final int ENAMETOOLONG = 36;

    /** By which library. */
    private enum By {
        LIBC(SystemFileCalls.INSTANCE), JAVA(new JavaFileCalls());

        private final FileCalls calls;

        By(FileCalls calls) {
            this.calls = calls;
        }
    }

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.loader").about(".lock");

    @TempDir(factory = MemoryFolder.class)
    Path folder;

    @AfterEach
    void noCallInterrupts() {
        assertThat(Thread.interrupted()).isFalse();
    }

    private static void assertFails(int errno, Runnable call) {
        assertThatThrownBy(call::run)
                .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(errno));
    }

    @ParameterizedTest
    @EnumSource
    void smallFileIsReadUpToALimit(By by) {
        Path file = folder.resolve("file");
        by.calls.write(file, new byte[]{1, 2, 3});
        assertThat(by.calls.read(file, 3)).containsExactly(1, 2, 3);
        assertFails(Errno.EFBIG, () -> by.calls.read(file, 2));
        by.calls.write(file, new byte[]{4});
        assertThat(by.calls.read(file, 3)).containsExactly(4);
        assertThat(by.calls.read(folder.resolve("none"), 3)).isEmpty();
        assertThat(by.calls.read(folder.resolve(LONG_NAME), 3)).isEmpty();
        assertFails(ENOTDIR, () -> by.calls.read(file.resolve("below"), 3));
    }

    @ParameterizedTest
    @EnumSource
    void missingFileHasNoStatusAndOneThatCannotBeAskedForFails(By by) {
        Path file = folder.resolve("file");
        by.calls.write(file, new byte[]{1, 2, 3});
        assertThat(by.calls.status(file).orElseThrow().size()).isEqualTo(3);
        for (Path none : List.of(folder.resolve("none"), file.resolve("below"))) {
            assertThat(by.calls.status(none)).isEmpty();
            assertThat(by.calls.permissions(none)).isEmpty();
        }
        assertFails(ENAMETOOLONG, () -> by.calls.status(folder.resolve(LONG_NAME)));
        assertFails(ENAMETOOLONG, () -> by.calls.permissions(folder.resolve(LONG_NAME)));
    }

    @ParameterizedTest
    @EnumSource
    void permissionsAreThoseThatWereSet(By by) {
        Path file = folder.resolve("file");
        by.calls.write(file, new byte[1]);
        for (int permissions : new int[]{0600, 0444, 0640}) {
            by.calls.setPermissions(file, permissions);
            assertThat(by.calls.permissions(file)).hasValue(permissions);
        }
        by.calls.link(file, folder.resolve("other"));
        assertFails(Errno.ESTALE, () -> by.calls.setPermissions(file, 0666));
        assertThat(by.calls.permissions(file)).hasValue(0640);
    }

    @ParameterizedTest
    @EnumSource
    void folderIsMadeWithItsParents(By by) throws IOException {
        Path parent = folder.resolve("parent");
        Path child = parent.resolve("middle/child");
        List<Path> made = new ArrayList<>();
        by.calls.createFolder(child, made);
        assertThat(made).containsExactly(parent, child.getParent(), child);
        assertThat(child).isDirectory();
        by.calls.createFolder(child, made);
        assertThat(made).hasSize(3);
        Path file = Files.createFile(child.resolve("file"));
        assertFails(Errno.EEXIST, () -> by.calls.createFolder(file, made));
        by.calls.deleteMade(made);
        assertThat(child).as("a folder that is in use").isDirectory();
        by.calls.delete(file);
        by.calls.deleteMade(made);
        assertThat(folder).isEmptyDirectory();
        assertThat(made).hasSize(3);
    }

    @ParameterizedTest
    @EnumSource
    void filesAreRenamedLinkedAndDeleted(By by) throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "new");
        Path other = Files.writeString(folder.resolve("other"), "old");
        by.calls.rename(file, other);
        assertThat(other).hasContent("new");
        assertThat(file).doesNotExist();
        assertFails(Errno.ENOENT, () -> by.calls.rename(file, other));
        by.calls.link(other, file);
        assertThat(Files.isSameFile(file, other)).isTrue();
        assertFails(Errno.EEXIST, () -> by.calls.link(other, file));
        by.calls.delete(file);
        by.calls.delete(file);
        assertThat(other).exists();
        assertThat(file).doesNotExist();
        assertThatThrownBy(() -> by.calls.delete(folder)).as("a folder with files").isInstanceOf(CuFileException.class);
    }

    @ParameterizedTest
    @EnumSource
    void onlyAFolderThatIsThereIsForced(By by) {
        by.calls.sync(folder);
        if (Files.exists(Path.of("/proc/self"))) {
            by.calls.sync(Path.of("/proc/self")); // which has nothing to force
        }
        assertThatThrownBy(() -> by.calls.sync(folder.resolve("none"))).isInstanceOf(CuFileException.class);
    }

    /** Whichever calls the other save makes. */
    @ParameterizedTest
    @EnumSource
    void lockKeepsOthersFromOneNameInOneFolder(By by) throws IOException {
        Path other = Files.createDirectory(folder.resolve("other"));
        try (SaveLock _ = by.calls.lock(folder, ".lock");
                SaveLock _ = by.calls.lock(folder, ".second");
                SaveLock _ = by.calls.lock(other, ".lock")) {
            assertFails(Errno.EBUSY, () -> by.calls.lock(folder, ".lock"));
            assertFails(Errno.EBUSY, () -> by.calls.lock(folder, ".lock"));
            // last: libc, which processes use alone, drops the lock of java.nio when it closes the file
            By another = by == By.LIBC ? By.JAVA : By.LIBC;
            long before = descriptors(folder.resolve(".lock"));
            assertFails(Errno.EBUSY, () -> another.calls.lock(folder, ".lock"));
            assertThat(descriptors(folder.resolve(".lock"))).isEqualTo(before);
        }
        assertThat(other).isEmptyDirectory();
        for (By another : By.values()) {
            another.calls.lock(folder, ".lock").close();
        }
        assertThat(folder).isDirectoryNotContaining("glob:.*");
        assertFails(Errno.ENOENT, () -> by.calls.lock(folder.resolve("none"), ".lock"));
    }

    @ParameterizedTest
    @EnumSource
    void lockFileThatCannotBeRemovedIsReported(By by) throws IOException {
        Path file = folder.resolve(".lock");
        SaveLock lock = by.calls.lock(folder, ".lock");
        Files.delete(file);
        Path below = Files.createDirectories(file.resolve("below"));
        lock.close();
        assertThat(logged.lines()).singleElement().asString().startsWith("WARNING").contains("lock", file.toString());
        Files.delete(below);
        Files.delete(file);
        by.calls.lock(folder, ".lock").close();
    }

    /** The JVM records what it forces to the disk. */
    @Test
    void foldersAndFilesAreForcedByJavaToo() throws IOException {
        Path parent = folder.resolve("parent");
        Path child = parent.resolve("child");
        Path file = child.resolve("file");
        Path dump = folder.resolve("forced.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("jdk.FileForce").withoutThreshold();
            recording.start();
            By.JAVA.calls.createFolder(child, new ArrayList<>());
            By.JAVA.calls.write(file, new byte[1]);
            By.JAVA.calls.sync(child);
            recording.dump(dump);
        }
        assertThat(RecordingFile.readAllEvents(dump))
                .filteredOn(event -> event.getEventType().getName().equals("jdk.FileForce"))
                .extracting(event -> event.getString("path")).filteredOn(path -> path.startsWith(folder.toString()))
                .containsExactlyInAnyOrder(folder.toString(), parent.toString(), file.toString(), child.toString());
    }

    /** Those of Windows, and archives, have neither permissions nor folders that can be forced. */
    @Test
    void otherFileSystemsAreLeftAsTheyAre() throws IOException {
        try (FileSystem archive = FileSystems.newFileSystem(folder.resolve("a.zip"), Map.of("create", "true"))) {
            Path file = Files.createFile(archive.getPath("/file"));
            assertThat(By.JAVA.calls.permissions(file)).isEmpty();
            By.JAVA.calls.setPermissions(file, 0600);
            By.JAVA.calls.sync(archive.getPath("/"));
        }
    }

    /** Returns the number of descriptors of this process that lead to a file. */
    private static long descriptors(Path file) throws IOException {
        Path real = file.toRealPath();
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.filter(descriptor -> {
                try {
                    return Files.readSymbolicLink(descriptor).equals(real);
                } catch (IOException e) {
                    return false; // closed meanwhile
                }
            }).count();
        }
    }

    /** The kernel may move fewer bytes than it is asked for; what is left is asked for, and no more. */
    @Test
    void shortCallsAreContinued() {
        FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
        FileCalls calls = new SystemFileCalls(() -> posix);
        Path file = folder.resolve("file");
        posix.on(PosixCall.PWRITE).isShort(2);
        calls.write(file, new byte[]{1, 2, 3, 4, 5});
        assertThat(posix.io()).extracting(request -> request.offset() + ":" + request.count())
                .containsExactly("0:5", "2:3");
        posix.forgetIo();
        posix.on(PosixCall.PREAD).isShort(1);
        assertThat(calls.read(file, 5)).containsExactly(1, 2, 3, 4, 5);
        assertThat(posix.io()).extracting(request -> request.offset() + ":" + request.count())
                .containsExactly("0:5", "1:4");
        assertThat(posix.openDescriptors()).isZero();
    }

    @Test
    void onlyFilesThatCannotBeForcedAreLeftSo() {
        FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
        FileCalls calls = new SystemFileCalls(() -> posix);
        Path file = folder.resolve("file");
        calls.write(file, new byte[1]);
        for (int errno : new int[]{Errno.EINVAL, Errno.ENOSYS, Errno.EOPNOTSUPP}) {
            posix.on(PosixCall.FDATASYNC).fails(errno);
            calls.dropCached(file);
            posix.on(PosixCall.FSYNC).fails(errno);
            calls.sync(folder);
        }
        posix.on(PosixCall.FDATASYNC).fails(Errno.EIO);
        assertFails(Errno.EIO, () -> calls.dropCached(file));
        posix.on(PosixCall.FSYNC).fails(Errno.EIO);
        assertFails(Errno.EIO, () -> calls.sync(folder));
        assertThat(posix.openDescriptors()).isZero();
    }
}
