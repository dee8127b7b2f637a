package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.Logged;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.loader.MemoryFolder;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A disk that fails to answer a question does not answer no: a save that asks for files, permissions and locks fails, too. */
@Tag("slow")
@Timeout(60)
class BadAnswersTest {
    private static final long SHARDS = 100_000;
    private static final int ENOLCK = 37;

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("cannot remove the lock file");

    @TempDir(factory = MemoryFolder.class)
    Path folder;

    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    private final FileCalls calls = new SystemFileCalls(() -> posix);

    private void save(long seed, long shard, FileCalls by) {
        try (CuFileDriver driver = CuFileDriver.open(new ReferenceBackend());
                Tensors tensors = Tensors.small(driver, seed)) {
            SaveOptions options = SaveOptions.DEFAULTS.withMaxShardBytes(shard);
            tensors.plan().options(options).toFolder(folder).start(driver, SaveListener.NONE, by).await();
        }
    }

    private static void assertReports(Runnable call, int errno) {
        assertThatThrownBy(call::run)
                .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(errno));
    }

    /** The new file was readable for all where the question for the old permissions failed. */
    @Test
    void unknownPermissionsEndASave() throws IOException {
        save(1, Long.MAX_VALUE, SystemFileCalls.INSTANCE);
        Path file = folder.resolve("model.safetensors");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        posix.on(PosixCall.STATX).path("/model.safetensors").always().fails(Errno.EIO);
        assertReports(() -> save(2, Long.MAX_VALUE, calls), Errno.EIO);
        assertThat(Tensors.seedOf(folder, 1, 2)).isEqualTo(1);
        assertThat(Files.getPosixFilePermissions(file)).isEqualTo(PosixFilePermissions.fromString("rw-------"));
        assertThat(posix.openDescriptors()).isZero();
    }

    /** Each call of a save that is no transfer fails in turn: the save reports and leaves the old or the new checkpoint. */
    @ParameterizedTest
    @EnumSource(names = {"STATX", "OPEN", "PREAD", "PWRITE", "FSYNC", "RENAME", "LINK", "UNLINK", "CHMOD"})
    void everyCallThatFailsIsReported(PosixCall call) throws IOException {
        for (long shard : new long[]{SHARDS, Long.MAX_VALUE}) {
            save(1, SHARDS, SystemFileCalls.INSTANCE);
            boolean reported = true;
            for (int number = 1; reported; number++) {
                posix.heal();
                posix.on(call).nth(number).fails(Errno.EIO);
                long before = posix.calls(call);
                try {
                    save(2, shard, calls);
                    reported = false;
                    // a lock file that cannot be removed is a warning: the save is done then
                    long failed = logged.lines().isEmpty() ? 0 : 1;
                    assertThat(posix.calls(call) - before).as("calls, one of which failed").isLessThan(number + failed);
                } catch (CuFileException e) {
                    assertThat(e.errno()).hasValue(Errno.EIO);
                }
                assertThat(Tensors.seedOf(folder, 1, 2)).isNotEqualTo(-1);
                save(1, SHARDS, SystemFileCalls.INSTANCE);
                try (Stream<Path> files = Files.list(folder)) {
                    assertThat(files.map(Path::getFileName).map(Path::toString))
                            .noneMatch(name -> name.startsWith("."));
                }
            }
        }
    }

    /** Another process lays a link: the save has removed the old index and makes the new one. */
    @Test
    void linkAtTheNameOfAnIndexIsNotWrittenThrough(@TempDir Path elsewhere) throws IOException {
        Path victim = Files.writeString(elsewhere.resolve("victim"), "theirs");
        Path index = folder.resolve("index");
        Files.writeString(index, "old");
        posix.on(PosixCall.OPEN).path("/index").runsFirst(() -> link(index, victim));
        assertReports(() -> calls.write(index, new byte[]{1}), Errno.EEXIST);
        assertThat(victim).hasContent("theirs");
        assertThat(posix.openDescriptors()).isZero();
    }

    private static void link(Path name, Path target) {
        try {
            Files.createSymbolicLink(name, target);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void lockThatFailsIsNotTaken() {
        for (int errno : new int[]{Errno.EIO, Errno.ESTALE, Errno.ETIMEDOUT}) {
            posix.on(PosixCall.FCNTL).fails(errno);
            assertReports(() -> LibcLock.take(posix, folder, ".lock"), errno);
        }
        assertThat(posix.openDescriptors()).isZero();
    }

    @Test
    void lockOfAFileSystemWithoutLocksIsTakenAndAnInterruptedOneRepeated() {
        for (int errno : new int[]{ENOLCK, Errno.EOPNOTSUPP, Errno.EINVAL, Errno.EINTR}) {
            posix.on(PosixCall.FCNTL).fails(errno);
            LibcLock.take(posix, folder, ".lock").close();
        }
    }

    /** A save once tried a hundred times, and then blamed another save. */
    @Test
    void lockFileThatCannotBeLookedAtIsReported() {
        posix.on(PosixCall.STATX).always().fails(Errno.ESTALE);
        assertReports(() -> LibcLock.take(posix, folder, ".lock"), Errno.ESTALE);
        assertThat(posix.openDescriptors()).isZero();
    }
}
