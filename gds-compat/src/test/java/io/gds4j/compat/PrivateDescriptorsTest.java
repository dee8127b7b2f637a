package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.NativeDescriptors;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixFault;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RawDescriptors;
import io.gds4j.testkit.RawDescriptors.Access;
import io.gds4j.testkit.RawDescriptors.Flag;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A file is a buffered and a direct descriptor of the backend's own, open until the driver closes. */
class PrivateDescriptorsTest {
    private static final int SIZE = 3 * Rig.PIECE + 100;
    private static final RawDescriptors DESCRIPTORS = new NativeDescriptors();

    private static void readWhole(CuFileHandle handle, GuardedFile file, GuardedMemory memory) {
        assertThat(handle.read(memory.range(), file.size(), 0, 0)).isEqualTo(file.size());
        memory.expect(0, file.expected(0, file.size()));
        memory.verify();
    }

    private static void writeWhole(CuFileHandle handle, GuardedFile file, GuardedMemory memory) {
        assertThat(handle.write(memory.range(), SIZE, 0, 0)).isEqualTo(SIZE);
        file.expectWrite(0, memory.expected(0, SIZE));
        file.verify();
    }

    @Test
    void flagsOfADescriptorAreNeverChanged() {
        ConcurrentLinkedQueue<Integer> commands = new ConcurrentLinkedQueue<>();
        Posix recording = PosixOverlay.of((call, arguments, kernel) -> {
            if (call.getName().equals("fcntl")) {
                commands.add((Integer) arguments[1]);
            }
            return kernel.call();
        });
        try (Rig rig = Rig.over(recording)) {
            GuardedFile file = rig.file(SIZE);
            int fd = DESCRIPTORS.open(file.path(), Access.READ_WRITE);
            try (CuFileHandle handle = rig.driver().registerDescriptor(fd)) {
                readWhole(handle, file, rig.host(SIZE));
                writeWhole(handle, file, rig.host(SIZE));
            } finally {
                DESCRIPTORS.close(fd);
            }
        }
        assertThat(commands).isNotEmpty().isSubsetOf(
                PosixConstants.F_GETFL, PosixConstants.F_GETFD, PosixConstants.F_DUPFD_CLOEXEC);
    }

    @Test
    void callersDescriptorServesNoRequest() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            int fd = DESCRIPTORS.open(file.path(), Access.READ_WRITE);
            PosixFault onCallers = rig.posix()
                    .on(PosixCall.PREAD)
                    .when(request -> request.fd() == fd)
                    .always()
                    .fails(Errno.EBADF);
            try (CuFileHandle handle = rig.driver().registerDescriptor(fd)) {
                readWhole(handle, file, rig.host(SIZE));
            } finally {
                DESCRIPTORS.close(fd);
            }
            assertThat(onCallers.hits()).isZero();
        }
    }

    @Test
    void descriptorThatCannotBeOpenedAgainIsSharedAndServedBuffered() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            rig.posix()
                    .on(PosixCall.OPEN)
                    .when(request -> request.path().startsWith("/proc/self/fd/"))
                    .always()
                    .fails(Errno.EACCES);
            int fd = DESCRIPTORS.open(file.path(), Access.READ_WRITE);
            try (CuFileHandle handle = rig.driver().registerDescriptor(fd)) {
                DESCRIPTORS.close(fd);
                readWhole(handle, file, rig.host(SIZE));
                writeWhole(handle, file, rig.host(SIZE));
                assertThat(handle.ioPath().path()).isEqualTo(IoPath.COMPAT_BUFFERED);
                assertThat(rig.reads(true)).isEmpty();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EINVAL, Errno.EOPNOTSUPP, Errno.EACCES})
    void fileSystemThatRefusesDirectAtOpenIsServedBuffered(int errno) {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            PosixFault refused = rig.posix().on(PosixCall.OPEN).direct().always().fails(errno);
            try (CuFileHandle handle = rig.open(file)) {
                readWhole(handle, file, rig.host(SIZE));
                writeWhole(handle, file, rig.host(SIZE));
                assertThat(handle.ioPath().path()).isEqualTo(IoPath.COMPAT_BUFFERED);
                assertThat(handle.ioPath().reason()).contains("direct");
            }
            assertThat(refused.hits()).as("asked once, not at each request").isEqualTo(1);
        }
    }

    @Test
    void fileSystemThatRefusesDirectAtTheFirstRequestIsServedBufferedFromThereOn() {
        for (PosixCall call : new PosixCall[]{PosixCall.PREAD, PosixCall.PWRITE}) {
            try (Rig rig = Rig.onHost()) {
                GuardedFile file = rig.file(SIZE);
                PosixFault refused = rig.posix().on(call).direct().always().fails(Errno.EINVAL);
                try (CuFileHandle handle = rig.open(file)) {
                    GuardedMemory memory = rig.host(SIZE);
                    for (int round = 0; round < 3; round++) {
                        if (call == PosixCall.PREAD) {
                            readWhole(handle, file, memory);
                        } else {
                            writeWhole(handle, file, memory);
                        }
                    }
                    assertThat(handle.ioPath().path()).isEqualTo(IoPath.COMPAT_BUFFERED);
                }
                assertThat(refused.hits()).as("tried once, not at each request").isEqualTo(1);
                assertThat(rig.driver().bytesByPath()).containsOnlyKeys(IoPath.COMPAT_BUFFERED);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = StandardOpenOption.class,
            names = {"SYNC", "DSYNC"})
    void synchronousFlagsStandOnEveryPrivateDescriptor(StandardOpenOption synchronous) {
        int bits = synchronous == StandardOpenOption.SYNC ? PosixConstants.O_SYNC : PosixConstants.O_DSYNC;
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            OpenOption[] options = {
                    StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT, synchronous
            };
            try (CuFileHandle handle = rig.driver().openFile(file.path(), options)) {
                writeWhole(handle, file, rig.host(SIZE));
            }
            checkSynchronous(rig, bits);
        }
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            Flag flag = synchronous == StandardOpenOption.SYNC ? Flag.SYNC : Flag.DSYNC;
            int fd = DESCRIPTORS.open(file.path(), Access.READ_WRITE, flag, Flag.DIRECT);
            try (CuFileHandle handle = rig.driver().registerDescriptor(fd)) {
                writeWhole(handle, file, rig.host(SIZE));
            } finally {
                DESCRIPTORS.close(fd);
            }
            checkSynchronous(rig, bits);
        }
    }

    private static void checkSynchronous(Rig rig, int bits) {
        assertThat(rig.writes(true)).isNotEmpty().allMatch(write -> (write.flags() & bits) == bits);
        assertThat(rig.writes(false)).isNotEmpty().allMatch(write -> (write.flags() & bits) == bits);
    }

    @Test
    void privateDescriptorsAreClosedByExec() throws IOException {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            int fd = DESCRIPTORS.open(file.path(), Access.READ_WRITE, Flag.DIRECT);
            try (CuFileHandle byPath = rig.open(file);
                    CuFileHandle byDescriptor = rig.driver().registerDescriptor(fd)) {
                readWhole(byPath, file, rig.host(SIZE));
                readWhole(byDescriptor, file, rig.host(SIZE));
                List<String> flags = flagsOfDescriptorsOn(file.path());
                assertThat(flags).as("the caller's, a buffered and a direct one").hasSizeGreaterThanOrEqualTo(3);
                assertThat(flags).allMatch(octal -> (Integer.parseInt(octal, 8) & PosixConstants.O_CLOEXEC) != 0);
            } finally {
                DESCRIPTORS.close(fd);
            }
        }
    }

    private static List<String> flagsOfDescriptorsOn(Path file) throws IOException {
        List<String> flags = new ArrayList<>();
        for (Path link : descriptorsOn(file)) {
            Path info = Path.of("/proc/self/fdinfo", link.getFileName().toString());
            for (String line : Files.readAllLines(info)) {
                if (line.startsWith("flags:")) {
                    flags.add(line.substring("flags:".length()).strip());
                }
            }
        }
        return flags;
    }

    private static List<Path> descriptorsOn(Path file) throws IOException {
        try (Stream<Path> links = Files.list(Path.of("/proc/self/fd"))) {
            return links.filter(link -> isOn(link, file)).toList();
        }
    }

    private static boolean isOn(Path link, Path file) {
        try {
            return Files.readSymbolicLink(link).equals(file);
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void fileLockOfTheProgramSurvivesItsHandles() throws IOException {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.host(SIZE);
            try (FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.WRITE);
                    FileLock lock = channel.lock()) {
                assertThat(PosixLocks.isLocked(file.path())).isTrue();
                int fd = DESCRIPTORS.open(file.path(), Access.READ_WRITE, Flag.DIRECT);
                for (int round = 0; round < 3; round++) {
                    try (CuFileHandle byPath = rig.open(file);
                            CuFileHandle byDescriptor = rig.driver().registerDescriptor(fd)) {
                        // No look at the file by a channel here: closing that would drop the lock, too.
                        readWhole(byPath, file, memory);
                        assertThat(byDescriptor.write(memory.range(), SIZE, 0, 0)).isEqualTo(SIZE);
                    }
                }
                Failures.expect(() -> rig.driver().openFile(file.path().resolve("below")));
                Failures.expect(() -> rig.driver().openFile(file.path(), StandardOpenOption.APPEND));
                assertThat(PosixLocks.isLocked(file.path())).as("after all handles were closed").isTrue();
                assertThat(lock.isValid()).isTrue();
                DESCRIPTORS.close(fd);
            }
        }
    }

    @Test
    void fileLockSurvivesHundredsOfOtherFiles() throws IOException {
        try (Rig rig = Rig.onHost()) {
            GuardedFile locked = rig.file(SIZE);
            try (FileChannel channel = FileChannel.open(locked.path(), StandardOpenOption.WRITE);
                    FileLock lock = channel.lock()) {
                rig.open(locked).close();
                for (int i = 0; i < 600; i++) {
                    rig.open(rig.file(1)).close();
                }
                assertThat(PosixLocks.isLocked(locked.path())).isTrue();
                assertThat(lock.isValid()).isTrue();
                assertThat(rig.posix().openDescriptors()).as("descriptors kept").isLessThan(600);
            }
        }
    }

    @Test
    void tooManyOpenFilesCloseTheUnusedOnesAndAreTriedAgain() {
        try (Rig rig = Rig.onHost()) {
            for (int i = 0; i < 10; i++) {
                rig.open(rig.file(1)).close();
            }
            int kept = rig.posix().openDescriptors();
            GuardedFile file = rig.file(SIZE);
            rig.posix().on(PosixCall.OPEN).path(file.path().toString()).fails(Errno.EMFILE);
            try (CuFileHandle handle = rig.open(file)) {
                readWhole(handle, file, rig.host(SIZE));
            }
            assertThat(kept).isGreaterThanOrEqualTo(10);
            assertThat(rig.posix().openDescriptors()).isLessThan(kept);
        }
    }

    @Test
    void tooManyOpenFilesAreAnErrorThatSaysSo() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            rig.posix().on(PosixCall.OPEN).always().fails(Errno.EMFILE);
            CuFileException failure = Failures.expectErrno(Errno.EMFILE, () -> rig.open(file));
            assertThat(failure.function()).isEqualTo("cuFileHandleRegister");
            assertThat(failure.path()).contains(file.path());
        }
    }

    @Test
    void pathOnlyDescriptorIsRefused() {
        Posix posix = FfmPosix.instance();
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            int fd = posix.open(file.path().toString(), PosixConstants.O_PATH, 0);
            try {
                Failures.expect(
                        CuFileError.INVALID_FILE_OPEN_FLAG, () -> rig.driver().registerDescriptor(fd));
            } finally {
                posix.close(fd);
            }
        }
    }
}
