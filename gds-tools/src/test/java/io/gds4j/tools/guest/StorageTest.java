package io.gds4j.tools.guest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.testkit.random.Campaign;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every call on NFS 3, on NFS 4 and on a disk with blocks of 4096 bytes. */
@GuestTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StorageTest {
    private static final Duration RANDOM = Duration.ofSeconds(Integer.getInteger("gds4j.property.seconds", 3));
    private static final String PATIENT = "hard";
    private static final int HANDLES = 100;

    private final CuFileDriver driver = CuFileDriver.open();

    /** Storage that a test mounts. */
    enum Storage {
        NFS_3,
        NFS_4,
        LARGE_BLOCKS;

        Path mount() {
            return switch (this) {
                case NFS_3 -> Guest.mountNfs("3", PATIENT);
                case NFS_4 -> Guest.mountNfs("4.2", PATIENT);
                case LARGE_BLOCKS -> Guest.mountNew("xfs", Guest.NVME);
            };
        }
    }

    private static Path newFolder(Path point) throws IOException {
        return Files.createTempDirectory(point, "work");
    }

    @ParameterizedTest
    @EnumSource
    void everyCallSucceeds(Storage storage) throws Exception {
        Path point = storage.mount();
        Path folder = newFolder(point);
        for (DiskWork work : DiskWork.values()) {
            long start = System.nanoTime();
            work.prepare(driver, folder);
            work.run(driver, folder);
            System.out.printf("storage: on=%s work=%s ms=%s%n", storage, work, (System.nanoTime() - start) / 1_000_000);
            work.check(driver, folder, true);
        }
        // a descriptor that is still open would keep the mount busy
        Guest.run("umount", point.toString());
    }

    @ParameterizedTest
    @EnumSource
    void bytesEqualAnIndependentCopy(Storage storage) throws IOException {
        Path point = storage.mount();
        CuFileBackendProvider provider = CuFileDriver.providers().stream()
                .filter(found -> found.name().equals("compat")).findFirst().orElseThrow();
        Campaign.Outcome outcome =
                new Campaign(storage.name(), provider::create, List.of(newFolder(point)), List.of(MemoryKind.HOST))
                        .run(RANDOM);
        assertThat(outcome.rounds()).isPositive();
        Guest.unmount(point);
    }

    @Test
    void fileThatTheServerDeletedIsStale() throws IOException {
        Path point = Guest.mountNfs("3", PATIENT);
        Path folder = newFolder(point);
        Path file = Files.write(folder.resolve("file"), DiskWork.OLD);
        for (OpenOption[] options : new OpenOption[][]{
                {StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT},
                {StandardOpenOption.READ, StandardOpenOption.WRITE}}) {
            Files.write(file, DiskWork.OLD);
            try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, DiskWork.SIZE);
                    CuFileHandle handle = driver.openFile(file, options)) {
                // the server forgets that it has the file open
                Guest.shell("nfs-server stop && rm /tmp/export/%s/file && nfs-server restart"
                        .formatted(folder.getFileName()));
                Guest.shell("echo 1 >/proc/sys/vm/drop_caches");
                assertStale(() -> handle.read(memory.range(), 0));
                assertStale(() -> {
                    handle.write(memory.range(), 0);
                    handle.force(true);
                });
            }
        }
        Guest.shell("rm -r /tmp/export/" + folder.getFileName());
        // a save makes its folder anew
        DiskWork.SAVE.run(driver, folder);
        DiskWork.SAVE.check(driver, folder, true);
        Guest.unmount(point);
    }

    private static void assertStale(Runnable call) {
        assertThatThrownBy(call::run)
                .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.ESTALE));
    }

    /** Closing any descriptor of a file drops the process's locks on it, also on a server. */
    @ParameterizedTest
    @EnumSource
    void fileLockOutlastsHandles(Storage storage) throws IOException {
        Path point = storage.mount();
        Path folder = newFolder(point);
        Path locked = Files.write(folder.resolve("locked"), DiskWork.OLD);
        try (FileChannel channel = FileChannel.open(locked, StandardOpenOption.WRITE);
                FileLock lock = channel.lock()) {
            for (int i = 0; i < HANDLES; i++) {
                driver.openFile(locked, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT).close();
                driver.openFile(Files.write(folder.resolve("other" + i), DiskWork.OLD)).close();
            }
            assertThat(lock.isValid()).isTrue();
            String own = " %s ".formatted(ProcessHandle.current().pid());
            String inode = ":%s ".formatted(Files.getAttribute(locked, "unix:ino"));
            assertThat(Files.readAllLines(Path.of("/proc/locks")))
                    .anyMatch(line -> line.contains("POSIX") && line.contains(own) && line.contains(inode));
        }
        Guest.unmount(point);
    }

    /** The lock of a save holds on a server, too. */
    @ParameterizedTest
    @ValueSource(strings = {"3", "4.2"})
    void secondSaveIsRefused(String version) throws IOException {
        Path point = Guest.mountNfs(version, PATIENT);
        Path folder = newFolder(point);
        DiskWork.saveWhile(driver, folder, 1, () -> assertThatThrownBy(() -> DiskWork.save(driver, folder, 2))
                .isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EBUSY)));
        Guest.unmount(point);
    }
}
