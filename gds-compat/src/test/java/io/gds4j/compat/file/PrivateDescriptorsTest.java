package io.gds4j.compat.file;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.compat.AsAnotherUser;
import io.gds4j.compat.PosixLocks;
import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.Rig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.NativeDescriptors;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixFault;
import io.gds4j.spi.FileSource;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RawDescriptors;
import io.gds4j.testkit.RawDescriptors.Access;
import io.gds4j.testkit.RawDescriptors.Flag;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The backend opens its own buffered and direct descriptor of each file, and closes them with the last handle of the file. */
@Tag("slow")
class PrivateDescriptorsTest {
    /** The common pool may have one thread only. */
    private static final Executor NEW_THREADS = task -> new Thread(task).start();

    private static final int SIZE = 3 * Rig.PIECE + 100;
    private static final int F_OFD_SETLK = 37;
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
                PosixConstants.F_GETFL, PosixConstants.F_GETFD, PosixConstants.F_DUPFD_CLOEXEC,
                PosixConstants.F_OFD_GETLK);
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
    void fileSystemThatRefusesADirectRequestIsServedBuffered() {
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
                        // Opens no channel to check the file: closing it would drop the lock, too.
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

    /** Opens and closes a handle of each file while the program has a lock on it. */
    private static void openWhileLocked(Rig rig, List<GuardedFile> files) throws IOException {
        List<FileChannel> channels = new ArrayList<>();
        for (GuardedFile file : files) {
            FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.WRITE);
            channels.add(channel);
            channel.lock();
            rig.open(file).close();
        }
        for (FileChannel channel : channels) {
            channel.close();
        }
    }

    private static List<GuardedFile> files(Rig rig, int count) {
        return Stream.generate(() -> rig.file(1)).limit(count).toList();
    }

    @Test
    void tooManyOpenFilesCloseTheUnusedOnesAndAreTriedAgain() throws IOException {
        try (Rig rig = Rig.onHost()) {
            int before = rig.posix().openDescriptors();
            openWhileLocked(rig, files(rig, 10));
            int kept = rig.posix().openDescriptors();
            GuardedFile file = rig.file(SIZE);
            rig.posix().on(PosixCall.OPEN).path(file.path().toString()).fails(Errno.EMFILE);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(rig.posix().openDescriptors()).isEqualTo(before + 1);
                readWhole(handle, file, rig.host(SIZE));
            }
            assertThat(kept).isGreaterThanOrEqualTo(before + 10);
        }
    }

    @Test
    void unusedDescriptorsCloseOnceTheirLocksAreGone() throws IOException {
        try (Rig rig = Rig.onHost()) {
            int before = rig.posix().openDescriptors();
            openWhileLocked(rig, files(rig, 300));
            long looked = rig.posix().calls(PosixCall.FCNTL);
            for (int i = 0; i < 100; i++) {
                rig.open(rig.file(1)).close();
            }
            assertThat(rig.posix().openDescriptors()).isEqualTo(before);
            assertThat(rig.posix().calls(PosixCall.FCNTL) - looked).as("looks at locks").isLessThan(600);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void closingAHandleTakesAFewSystemCallsWhateverElseIsOpen(boolean locked) throws IOException {
        int files = 600;
        try (Rig rig = Rig.onHost()) {
            List<GuardedFile> others = files(rig, files);
            List<FileChannel> channels = new ArrayList<>();
            List<CuFileHandle> handles = new ArrayList<>();
            for (GuardedFile file : others) {
                FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.WRITE);
                channels.add(channel);
                if (locked) {
                    channel.lock();
                }
                handles.add(rig.open(file));
            }
            long closes = rig.posix().calls(PosixCall.CLOSE);
            long looks = rig.posix().calls(PosixCall.FCNTL);
            handles.forEach(CuFileHandle::close);
            assertThat(rig.posix().calls(PosixCall.FCNTL) - looks).as("looks at locks").isBetween(
                    (long) files, 3L * files);
            assertThat(rig.posix().calls(PosixCall.CLOSE) - closes).isEqualTo(locked ? 0 : files);
            for (FileChannel channel : channels) {
                channel.close();
            }
        }
    }

    @Test
    void lockBehindAnotherOwnersIsFound() throws IOException {
        Posix posix = FfmPosix.instance();
        try (Rig rig = Rig.onHost(); Arena arena = Arena.ofConfined()) {
            GuardedFile file = rig.file(SIZE);
            int other = posix.open(file.path().toString(), PosixConstants.O_RDONLY, 0);
            FileChannel channel = FileChannel.open(file.path(), StandardOpenOption.READ);
            try {
                MemorySegment wholeFile = arena.allocate(32, 8); // struct flock of a read lock
                assertThat(posix.fcntl(other, F_OFD_SETLK, wholeFile.address())).isZero();
                FileLock lock = channel.lock(10, 20, true);
                rig.open(file).close();
                assertThat(PosixLocks.isLocked(file.path())).isTrue();
                lock.release();
                rig.open(file).close();
                assertThat(descriptorsOn(file.path())).as("the test's own").hasSize(2);
            } finally {
                posix.close(other);
                channel.close();
            }
        }
    }

    @Test
    void lastHandleClosesTheFile() throws IOException {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            CuFileHandle first = rig.open(file);
            CuFileHandle second = rig.open(file);
            CuFileHandle readOnly = rig.driver().openFile(file.path(), StandardOpenOption.READ);
            readWhole(second, file, rig.host(SIZE));
            first.close();
            readOnly.close();
            assertThat(descriptorsOn(file.path())).as("a buffered and a direct one").hasSize(2);
            second.close();
            assertThat(descriptorsOn(file.path())).isEmpty();
        }
    }

    /** What is lost of a file at its close is told once: threads that end handles at the same time must not close each other's files. */
    @Test
    void eachHandleGetsTheErrnoOfItsOwnClose(@TempDir Path folder) throws Exception {
        Posix failing = PosixOverlay.of((call, arguments, kernel) -> {
            Object result = kernel.call();
            if (!call.getName().equals("close")) {
                return result;
            }
            Thread.yield();
            return -Errno.EIO;
        });
        DescriptorTable table = new DescriptorTable(failing);
        CyclicBarrier opened = new CyclicBarrier(2);
        List<Future<?>> ends = new ArrayList<>();
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            for (String name : new String[]{"one", "other"}) {
                FileSource.Named file =
                        FileSource.Named.of(Files.createFile(folder.resolve(name)), StandardOpenOption.READ);
                ends.add(threads.submit(() -> {
                    for (int round = 0; round < 200; round++) {
                        FileDescriptors descriptors = table.open(file);
                        opened.await(60, TimeUnit.SECONDS);
                        assertThat(table.release(descriptors)).as("round %s", round).isEqualTo(-Errno.EIO);
                    }
                    return true;
                }));
            }
        }
        for (Future<?> end : ends) {
            end.get();
        }
    }

    @Test
    void writtenProgramRunsOnceItsHandleIsClosed() throws IOException, InterruptedException {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            Path program = file.path();
            Files.copy(Path.of("/bin/true"), program, StandardCopyOption.REPLACE_EXISTING);
            int size = (int) Files.size(program);
            GuardedMemory memory = rig.host(size);
            try (CuFileHandle handle = rig.open(file)) {
                handle.read(memory.range(), size, 0, 0);
                handle.write(memory.range(), size, 0, 0);
            }
            Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwx------"));
            assertThat(new ProcessBuilder(program.toString()).start().waitFor()).isZero();
        }
    }

    @Test
    void changesOfTheFilesModeLeaveNoDescriptors() throws IOException {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            int before = rig.posix().openDescriptors();
            try (CuFileHandle inUse = rig.open(file)) {
                for (int i = 0; i < 100; i++) {
                    Files.setPosixFilePermissions(
                            file.path(), PosixFilePermissions.fromString(i % 2 == 0 ? "rw-r-----" : "rw-------"));
                    rig.open(file).close();
                }
                assertThat(rig.posix().openDescriptors()).isEqualTo(before + 1);
                readWhole(inUse, file, rig.host(SIZE));
            }
            assertThat(rig.posix().openDescriptors()).isEqualTo(before);
        }
    }

    /** The kernel decides at each open, as it does for other programs: an open handle gives nobody access to the file. */
    @ParameterizedTest
    @ValueSource(strings = {"READ", "WRITE", "READ,WRITE"})
    void fileWhoseModeForbidsItIsNotOpenedAgain(String access, @TempDir Path folder)
            throws IOException, InterruptedException {
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Path path = Files.write(folder.resolve("file"), new byte[100]);
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-rw-rw-"));
        OpenOption[] options =
                Stream.of(access.split(",")).map(StandardOpenOption::valueOf).toArray(OpenOption[]::new);
        try (Rig rig = Rig.onHost(); CuFileHandle first = rig.driver().openFile(path, options)) {
            // Loads the classes of a failure: the other user may not be allowed to read them.
            Failures.expectErrno(Errno.ENOENT, () -> rig.driver().openFile(folder.resolve("missing"), options));
            AsAnotherUser.run(() -> rig.driver().openFile(path, options).close());
            Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("---------"));
            AsAnotherUser.run(
                    () -> Failures.expectErrno(Errno.EACCES, () -> rig.driver().openFile(path, options)));
            assertThat(first.isOpen()).isTrue();
        }
    }

    /** Another program may put something else in the place of the file between the look at it and its opening. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatIsNoFileWhenItIsOpenedIsClosedAgain(boolean device) {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            int before = rig.posix().openDescriptors();
            PosixFault replaced = rig.posix().on(PosixCall.OPEN).path(file.path().toString());
            replaced.runsFirst(() -> replace(file.path(), device));
            Failures.expect(CuFileError.INVALID_FILE_TYPE,
                    () -> rig.driver().openFile(file.path(), StandardOpenOption.READ));
            assertThat(replaced.hits()).isOne();
            assertThat(rig.posix().openDescriptors()).isEqualTo(before);
        }
    }

    private static void replace(Path file, boolean device) {
        try {
            Files.delete(file);
            if (device) {
                Files.createSymbolicLink(file, Path.of("/dev/null"));
            } else {
                Files.createDirectory(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void directDescriptorThatCannotBeOpenedAgainIsRefused() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            rig.posix()
                    .on(PosixCall.OPEN)
                    .when(request -> request.path().startsWith("/proc/self/fd/"))
                    .always()
                    .fails(Errno.EACCES);
            int before = rig.posix().openDescriptors();
            int fd = DESCRIPTORS.open(file.path(), Access.READ_WRITE, Flag.DIRECT);
            try {
                Failures.expect(CuFileError.GETNEWFD_FAILED, () -> rig.driver().registerDescriptor(fd));
                rig.posix().heal();
                try (CuFileHandle handle = rig.driver().registerDescriptor(fd)) {
                    readWhole(handle, file, rig.host(SIZE));
                }
            } finally {
                DESCRIPTORS.close(fd);
            }
            assertThat(rig.posix().openDescriptors()).isEqualTo(before);
        }
    }

    @Test
    void leasedFileIsOpenedOnceTheLeaseIsGivenBack() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            PosixFault leased = rig.posix()
                    .on(PosixCall.OPEN)
                    .when(request -> (request.flags() & PosixConstants.O_NONBLOCK) != 0)
                    .always()
                    .fails(Errno.EAGAIN);
            try (CuFileHandle handle = rig.open(file)) {
                readWhole(handle, file, rig.host(SIZE));
            }
            assertThat(leased.hits()).isEqualTo(1);
        }
    }

    @Test
    void waitForALeaseHoldsUpNoOtherFile() throws InterruptedException {
        try (Rig rig = Rig.onHost()) {
            GuardedFile leased = rig.file(SIZE);
            GuardedFile other = rig.file(SIZE);
            CountDownLatch waiting = new CountDownLatch(1);
            CountDownLatch givenBack = new CountDownLatch(1);
            rig.posix().on(PosixCall.OPEN).path(leased.path().toString()).runsFirst(() -> {
                waiting.countDown();
                awaitLatch(givenBack);
            });
            CompletableFuture<CuFileHandle> handle = CompletableFuture.supplyAsync(() -> rig.open(leased), NEW_THREADS);
            waiting.await();
            CompletableFuture<Void> beside = CompletableFuture.runAsync(() -> rig.open(other).close(), NEW_THREADS);
            try {
                assertThat(beside).succeedsWithin(Duration.ofSeconds(30));
                assertThat(handle).isNotDone();
            } finally {
                givenBack.countDown();
                handle.join().close();
            }
        }
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void numberOpenedAgainInAnotherModeIsAnotherDescriptor() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            int fd = DESCRIPTORS.open(file.path(), Access.READ_WRITE);
            try (CuFileHandle first = rig.driver().registerDescriptor(fd)) {
                Failures.expect(
                        CuFileError.HANDLE_ALREADY_REGISTERED, () -> rig.driver().registerDescriptor(fd));
                DESCRIPTORS.close(fd);
                assertThat(DESCRIPTORS.open(file.path(), Access.READ)).isEqualTo(fd);
                try (CuFileHandle second = rig.driver().registerDescriptor(fd)) {
                    readWhole(second, file, rig.host(SIZE));
                }
                readWhole(first, file, rig.host(SIZE));
            }
            try (CuFileHandle again = rig.driver().registerDescriptor(fd)) {
                readWhole(again, file, rig.host(SIZE));
            } finally {
                DESCRIPTORS.close(fd);
            }
        }
    }

    @Test
    void refusedRegistrationOfADescriptorCanBeTriedAgain() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            int fd = DESCRIPTORS.open(file.path(), Access.READ_WRITE, Flag.DIRECT);
            rig.posix().on(PosixCall.OPEN).fails(Errno.EACCES);
            try {
                Failures.expect(CuFileError.GETNEWFD_FAILED, () -> rig.driver().registerDescriptor(fd));
                rig.driver().registerDescriptor(fd).close();
            } finally {
                DESCRIPTORS.close(fd);
            }
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
