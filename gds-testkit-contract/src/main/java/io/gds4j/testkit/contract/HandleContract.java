package io.gds4j.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileHandle;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.source.FileVersion;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import io.gds4j.testkit.RawDescriptors;
import io.gds4j.testkit.RawDescriptors.Access;
import io.gds4j.testkit.RawDescriptors.Flag;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Contract of registering files by path and by descriptor: modes, file types, and changes to the file while it is open.
 *
 * @since 0.1
 */
public abstract class HandleContract extends BackendContract {
    private static final int PAGE = 4096;
    private static final int SIZE = 5 * PAGE + 123;

    /** For subclasses. */
    protected HandleContract() {
    }

    /** Access mode and flag of a descriptor. */
    record Opening(Access access, List<Flag> flags) {
    }

    final Stream<Opening> openings() {
        return Stream.of(Access.values())
                .flatMap(access -> Stream.of(
                        List.<Flag>of(), List.of(Flag.DIRECT), List.of(Flag.SYNC), List.of(Flag.DSYNC))
                        .map(flags -> new Opening(access, flags)));
    }

    private RawDescriptors descriptors() {
        return backend().descriptors();
    }

    /** Checks that a descriptor is not registered, and closes it. */
    private void assertRefused(CuFileError error, int fd) {
        try {
            Failures.expect(error, () -> driver().registerDescriptor(fd));
        } finally {
            descriptors().close(fd);
        }
    }

    private GuardedMemory memory(int length) {
        return memory(backend().kinds().getFirst(), length);
    }

    /** Reads the whole file and checks it. */
    private void readBack(GuardedFile file, CuFileHandle handle) {
        try (GuardedMemory memory = memory(SIZE + PAGE)) {
            assertThat(handle.read(memory.range(), 0)).isEqualTo(file.size());
            memory.expect(0, file.expected(0, file.size()));
            memory.verify();
        }
    }

    /** Writes an odd range, and checks the file at its current path. */
    private void writeSome(GuardedFile file, CuFileHandle handle, Path place) {
        try (GuardedMemory memory = memory(3 * PAGE)) {
            assertThat(handle.write(memory.range(), 2 * PAGE + 17, PAGE - 5, 3)).isEqualTo(2 * PAGE + 17);
            file.expectWrite(PAGE - 5, memory.expected(3, 2 * PAGE + 17));
            file.verify(place);
        }
    }

    @Test
    void versionIsOfTheOpenFileAndNotOfItsName() throws IOException {
        Path name = newFile(SIZE).path().resolveSibling("version.bin");
        Path link = name.resolveSibling("link.bin");
        Files.write(name, new byte[SIZE]);
        Files.setLastModifiedTime(name, FileTime.fromMillis(1_000_000_000_000L));
        try (CuFileHandle handle = driver().openFile(name, StandardOpenOption.READ, StandardOpenOption.WRITE);
                GuardedMemory memory = memory(PAGE)) {
            FileVersion first = handle.version();
            assertThat(first.size()).isEqualTo(SIZE);
            Files.createLink(link, name);
            assertThat(handle.version()).isEqualTo(first);
            handle.write(memory.range(), 0);
            FileVersion second = handle.version();
            Files.delete(name);
            Files.write(name, new byte[SIZE]);
            assertThat(handle.version()).isEqualTo(second);
            try (CuFileHandle other = driver().openFile(name)) {
                // a backend may tell the size only
                if (!first.content().isEmpty()) {
                    assertThat(second.isSameAs(first)).isFalse();
                    assertThat(other.version().isSameAs(second)).isFalse();
                }
            }
            memory.verify();
        } finally {
            Files.deleteIfExists(link);
            Files.deleteIfExists(name);
        }
    }

    @ParameterizedTest
    @MethodSource("openings")
    void descriptorServesAsItWasOpened(Opening opening) {
        GuardedFile file = newFile(SIZE);
        int fd = descriptors().open(file.path(), opening.access, opening.flags.toArray(Flag[]::new));
        try (CuFileHandle handle = driver().registerDescriptor(fd);
                GuardedMemory memory = memory(PAGE)) {
            assertThat(handle.size()).isEqualTo(SIZE);
            if (opening.access.reads()) {
                readBack(file, handle);
            } else {
                Failures.expect(
                        CuFileError.INVALID_FILE_OPEN_FLAG, Errno.EBADF, () -> handle.read(memory.range(), 0));
            }
            if (opening.access.writes()) {
                writeSome(file, handle, file.path());
            } else {
                Failures.expect(
                        CuFileError.INVALID_FILE_OPEN_FLAG, Errno.EBADF, () -> handle.write(memory.range(), 0));
            }
            memory.verify();
        } finally {
            descriptors().close(fd);
        }
        file.verify();
    }

    @ParameterizedTest
    @EnumSource
    void pathServesAsItWasOpened(Mode mode) {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle reader = driver().openFile(file.path(), mode.options(StandardOpenOption.READ));
                CuFileHandle writer = driver().openFile(file.path(), mode.options(StandardOpenOption.WRITE));
                CuFileHandle both = openToWrite(file, mode);
                GuardedMemory memory = memory(PAGE)) {
            readBack(file, reader);
            writeSome(file, writer, file.path());
            readBack(file, both);
            writeSome(file, both, file.path());
            Failures.expect(
                    CuFileError.INVALID_FILE_OPEN_FLAG, Errno.EBADF, () -> reader.write(memory.range(), 0));
            Failures.expect(
                    CuFileError.INVALID_FILE_OPEN_FLAG, Errno.EBADF, () -> writer.read(memory.range(), 0));
            memory.verify();
            assertThat(reader.path().orElseThrow().getFileName())
                    .isEqualTo(file.path().getFileName());
        }
        file.verify();
    }

    @Test
    void samePathMayBeOpenManyTimes() {
        GuardedFile file = newFile(SIZE);
        List<CuFileHandle> handles = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            handles.add(openToWrite(file, Mode.values()[i % 2]));
        }
        for (CuFileHandle handle : handles) {
            writeSome(file, handle, file.path());
            readBack(file, handle);
            handle.close();
        }
    }

    @Test
    void missingFileIsNamedWithItsErrno() {
        Path missing = newPath();
        var failure = Failures.expectErrno(Errno.ENOENT, () -> driver().openFile(missing));
        assertThat(failure.path()).contains(missing);
        assertThat(failure).hasMessageContaining(missing.toString()).hasMessageContaining("ENOENT");
    }

    @Test
    void unusablePathsHaveTheirErrno() throws IOException {
        GuardedFile file = newFile(10);
        Path loop = newPath();
        Files.createSymbolicLink(loop, loop);
        Failures.expectErrno(
                Errno.ENOENT, () -> driver().openFile(newPath().resolve("below"), StandardOpenOption.WRITE));
        Failures.expectErrno(Errno.ENOTDIR, () -> driver().openFile(file.path().resolve("below")));
        Failures.expectErrno(Errno.ENAMETOOLONG, () -> driver().openFile(file.path().resolveSibling("n".repeat(256))));
        Failures.expectErrno(Errno.ELOOP, () -> driver().openFile(loop));
    }

    @Test
    void linksAndRelativeAndLongNamesServe() throws IOException {
        GuardedFile file = newFile(SIZE);
        Path link = newPath();
        Files.createSymbolicLink(link, file.path());
        Path relative = Path.of("").toAbsolutePath().relativize(file.path());
        Path hard = file.path().resolveSibling("n".repeat(255));
        Files.createLink(hard, file.path());
        Path odd = file.path().resolveSibling("with space, %d and 'quote'");
        Files.createLink(odd, file.path());
        for (Path name : List.of(link, relative, hard, odd)) {
            try (CuFileHandle handle =
                    driver().openFile(name, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                readBack(file, handle);
                writeSome(file, handle, file.path());
            }
        }
    }

    @Test
    void directoryIsRefused() throws IOException {
        Path directory = Files.createDirectory(newPath());
        Failures.expect(CuFileError.INVALID_FILE_TYPE, () -> driver().openFile(directory));
        assertRefused(CuFileError.INVALID_FILE_TYPE, descriptors().open(directory, Access.READ));
    }

    @Test
    void characterDeviceIsRefused() {
        Failures.expect(CuFileError.INVALID_FILE_TYPE, () -> driver().openFile(Path.of("/dev/null")));
        assertRefused(CuFileError.INVALID_FILE_TYPE, descriptors().open(Path.of("/dev/zero"), Access.READ));
    }

    @Test
    void pipeIsRefused() {
        assertRefused(CuFileError.INVALID_FILE_TYPE, descriptors().pipe());
    }

    @Test
    void namedPipeIsRefusedWithoutWaiting() throws Exception {
        Path fifo = newPath();
        assumeTrue(
                new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor() == 0,
                "mkfifo is missing");
        Failures.expect(CuFileError.INVALID_FILE_TYPE, () -> driver().openFile(fifo));
    }

    @Test
    void socketIsRefused() {
        assertRefused(CuFileError.INVALID_FILE_TYPE, descriptors().socket());
    }

    @Test
    void appendModeIsRefused() {
        GuardedFile file = newFile(SIZE);
        Failures.expect(
                CuFileError.INVALID_FILE_OPEN_FLAG,
                () -> driver().openFile(file.path(), StandardOpenOption.WRITE, StandardOpenOption.APPEND));
        assertRefused(CuFileError.INVALID_FILE_OPEN_FLAG, descriptors().open(file.path(), Access.WRITE, Flag.APPEND));
        file.verify();
    }

    @Test
    void numbersWithoutOpenDescriptorAreRefused() {
        Failures.expect(CuFileError.INVALID_VALUE, () -> driver().registerDescriptor(-1));
        Failures.expect(CuFileError.INVALID_VALUE, () -> driver().registerDescriptor(Integer.MIN_VALUE));
        Failures.expect(CuFileError.INVALID_VALUE, () -> driver().registerDescriptor(999_999));
        Failures.expect(CuFileError.INVALID_VALUE, () -> driver().registerDescriptor(Integer.MAX_VALUE));
        int fd = descriptors().open(newFile(1).path(), Access.READ);
        descriptors().close(fd);
        Failures.expect(CuFileError.INVALID_VALUE, () -> driver().registerDescriptor(fd));
    }

    @Test
    void sameDescriptorTwiceIsRefusedUntilTheFirstIsClosed() {
        GuardedFile file = newFile(SIZE);
        int fd = descriptors().open(file.path(), Access.READ);
        try {
            try (CuFileHandle first = driver().registerDescriptor(fd)) {
                Failures.expect(
                        CuFileError.HANDLE_ALREADY_REGISTERED, () -> driver().registerDescriptor(fd));
                readBack(file, first);
            }
            try (CuFileHandle second = driver().registerDescriptor(fd)) {
                readBack(file, second);
            }
        } finally {
            descriptors().close(fd);
        }
    }

    @Test
    void twoDescriptorsOfOneFileAreTwoHandles() {
        GuardedFile file = newFile(SIZE);
        int one = descriptors().open(file.path(), Access.READ_WRITE);
        int two = descriptors().open(file.path(), Access.READ_WRITE);
        CuFileHandle first = driver().registerDescriptor(one);
        try (CuFileHandle second = driver().registerDescriptor(two)) {
            writeSome(file, first, file.path());
            readBack(file, second);
            first.close();
            writeSome(file, second, file.path());
        } finally {
            descriptors().close(one);
            descriptors().close(two);
        }
    }

    @Test
    void duplicateOfADescriptorIsASeparateHandle() {
        GuardedFile file = newFile(SIZE);
        int fd = descriptors().open(file.path(), Access.READ_WRITE);
        OptionalInt duplicate = descriptors().duplicate(fd);
        if (duplicate.isEmpty()) {
            descriptors().close(fd); // a server keeps the file in its folder while it is open here
        }
        assumeTrue(duplicate.isPresent(), "cannot duplicate a descriptor here");
        CuFileHandle first = driver().registerDescriptor(fd);
        try (CuFileHandle second = driver().registerDescriptor(duplicate.getAsInt())) {
            readBack(file, first);
            writeSome(file, second, file.path());
            first.close();
            readBack(file, second);
        } finally {
            descriptors().close(fd);
            descriptors().close(duplicate.getAsInt());
        }
    }

    @Test
    void handleOutlivesItsDescriptor() {
        GuardedFile file = newFile(SIZE);
        GuardedFile other = newFile(2 * SIZE);
        int fd = descriptors().open(file.path(), Access.READ_WRITE);
        try (CuFileHandle handle = driver().registerDescriptor(fd)) {
            descriptors().close(fd);
            if (diverges(Divergence.HANDLE_NEEDS_CALLERS_DESCRIPTOR)) {
                return;
            }
            readBack(file, handle);
            int reused = descriptors().open(other.path(), Access.READ_WRITE);
            try {
                writeSome(file, handle, file.path());
                readBack(file, handle);
                other.verify();
            } finally {
                descriptors().close(reused);
            }
        }
    }

    @Test
    void reusedNumberOfAClosedDescriptorIsAnotherFile() {
        assumeTrue(!diverges(Divergence.HANDLE_NEEDS_CALLERS_DESCRIPTOR), "HANDLE_NEEDS_CALLERS_DESCRIPTOR");
        GuardedFile file = newFile(SIZE);
        GuardedFile other = newFile(SIZE - 1000);
        int fd = descriptors().open(file.path(), Access.READ_WRITE);
        try (CuFileHandle handle = driver().registerDescriptor(fd)) {
            int reused = reopenAt(fd, other.path());
            try (CuFileHandle second = driver().registerDescriptor(reused)) {
                readBack(other, second);
                writeSome(other, second, other.path());
                readBack(file, handle);
                writeSome(file, handle, file.path());
                other.verify();
            } finally {
                descriptors().close(reused);
            }
        }
    }

    /** Closes a descriptor and opens a file that gets the same number, the lowest free one. */
    private int reopenAt(int fd, Path path) {
        descriptors().close(fd);
        List<Integer> others = new ArrayList<>();
        try {
            for (int attempt = 0; attempt < 1000; attempt++) {
                int number = descriptors().open(path, Access.READ_WRITE);
                if (number == fd) {
                    return number;
                }
                others.add(number);
            }
            throw new AssertionError("descriptor " + fd + " was never reused");
        } finally {
            others.forEach(descriptors()::close);
        }
    }

    @ParameterizedTest
    @EnumSource
    void unlinkedFileServes(Mode mode) throws IOException {
        GuardedFile file = newFile(SIZE);
        int fd = descriptors().open(file.path(), Access.READ_WRITE);
        Path byDescriptor = Path.of("/proc/self/fd/" + fd);
        try (CuFileHandle handle = openToWrite(file, mode)) {
            Files.delete(file.path());
            readBack(file, handle);
            writeSome(file, handle, byDescriptor);
            readBack(file, handle);
            assertThat(handle.size()).isEqualTo(SIZE);
        } finally {
            descriptors().close(fd);
        }
    }

    @Test
    void descriptorOfAnUnlinkedFileRegisters() throws IOException {
        GuardedFile file = newFile(SIZE);
        int fd = descriptors().open(file.path(), Access.READ_WRITE);
        Files.delete(file.path());
        try (CuFileHandle handle = driver().registerDescriptor(fd)) {
            readBack(file, handle);
            writeSome(file, handle, Path.of("/proc/self/fd/" + fd));
        } finally {
            descriptors().close(fd);
        }
    }

    @Test
    void replacedFileIsNotMistakenForTheOldOne() throws IOException {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle old = openToWrite(file, Mode.BUFFERED)) {
            Files.delete(file.path());
            GuardedFile successor = GuardedFile.create(file.path(), SIZE - 9, 99);
            try (CuFileHandle handle = openToWrite(successor, Mode.BUFFERED)) {
                readBack(successor, handle);
                writeSome(successor, handle, successor.path());
                readBack(file, old);
                readBack(successor, handle);
            }
            successor.verify();
        }
    }

    @ParameterizedTest
    @EnumSource
    void renamedFileServesUnderItsNewName(Mode mode) throws IOException {
        GuardedFile file = newFile(SIZE);
        try (CuFileHandle handle = openToWrite(file, mode)) {
            Path renamed = newPath();
            Files.move(file.path(), renamed);
            readBack(file, handle);
            writeSome(file, handle, renamed);
        }
    }

    @Test
    void memfdServes() {
        OptionalInt fd = descriptors().memfd();
        assumeTrue(fd.isPresent(), "cannot create a memfd here");
        Path byDescriptor = Path.of("/proc/self/fd/" + fd.getAsInt());
        try {
            if (diverges(Divergence.MEMFD_REFUSED)) {
                Failures.expect(() -> driver().registerDescriptor(fd.getAsInt()));
                return;
            }
            GuardedFile file = GuardedFile.create(byDescriptor, RandomBytes.of(5, SIZE));
            try (CuFileHandle handle = driver().registerDescriptor(fd.getAsInt())) {
                readBack(file, handle);
                writeSome(file, handle, byDescriptor);
                readBack(file, handle);
            }
        } finally {
            descriptors().close(fd.getAsInt());
        }
    }

    @ParameterizedTest
    @EnumSource
    void tmpfsServes(Mode mode) throws IOException {
        Path shm = Path.of("/dev/shm");
        assumeTrue(Files.isWritable(shm), "no /dev/shm here");
        Path path = Files.createTempFile(shm, "gds4j-contract", null);
        try {
            GuardedFile file = GuardedFile.create(path, SIZE, 3);
            if (diverges(Divergence.MEMFD_REFUSED)) {
                Failures.expect(CuFileError.HANDLE_NOT_REGISTERED, () -> openToWrite(file, mode));
                return;
            }
            try (CuFileHandle handle = openToWrite(file, mode)) {
                readBack(file, handle);
                writeSome(file, handle, path);
                readBack(file, handle);
            }
        } finally {
            Files.delete(path);
        }
    }

    @Test
    void closedHandleIsRefused() {
        GuardedFile file = newFile(SIZE);
        CuFileHandle handle = openToWrite(file, Mode.BUFFERED);
        handle.close();
        handle.close();
        assertThat(handle.isOpen()).isFalse();
        try (GuardedMemory memory = memory(PAGE)) {
            Failures.expect(CuFileError.HANDLE_NOT_REGISTERED, () -> handle.read(memory.range(), 0));
            Failures.expect(CuFileError.HANDLE_NOT_REGISTERED, () -> handle.read(memory.range(), 0, 0, 0));
            Failures.expect(CuFileError.HANDLE_NOT_REGISTERED, () -> handle.write(memory.range(), 0));
            Failures.expect(CuFileError.HANDLE_NOT_REGISTERED, handle::size);
            Failures.expect(CuFileError.HANDLE_NOT_REGISTERED, () -> handle.force(true));
            Failures.expect(CuFileError.HANDLE_NOT_REGISTERED, () -> handle.truncate(0));
            Failures.expect(CuFileError.HANDLE_NOT_REGISTERED, () -> handle.reserve(1));
            memory.verify();
        }
        file.verify();
    }
}
