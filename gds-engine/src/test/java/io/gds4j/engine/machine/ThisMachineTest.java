package io.gds4j.engine.machine;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.diagnosis.Mount;
import io.gds4j.diagnosis.Platform;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of files under /proc, /sys and /usr, on a folder that replaces the root of the file system. */
class ThisMachineTest {
    @TempDir
    private Path root;

    private SystemFiles files;

    @BeforeEach
    void machine() {
        files = new SystemFiles(root);
    }

    private Path write(String absolute, String text) throws IOException {
        Path path = files.at(absolute);
        Files.createDirectories(path.getParent());
        return Files.writeString(path, text);
    }

    @ParameterizedTest
    @CsvSource({
            "/data, /, ext4, /dev/vda",
            "/mnt/model store/a, /mnt/model store, xfs, /dev/nvme0n1p1",
            "/mnt/model storey, /, ext4, /dev/vda",
            "/dev/shm/x, /dev/shm, tmpfs, tmpfs",
            "/over/x, /over, overlay, overlay"})
    void pathBelongsToItsLongestMountPoint(String path, String point, String type, String source)
            throws IOException {
        write("/proc/self/mountinfo", """
                27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
                24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw
                25 24 0:23 / /dev/shm ro,relatime - ramfs old rw
                30 25 0:27 / /dev/shm rw,relatime shared:1 master:2 - tmpfs tmpfs rw
                31 27 259:1 /sub /mnt/model\\040store rw,noatime shared:9 - xfs /dev/nvme0n1p1 rw
                32 27 0:51 / /over rw - overlay overlay rw,lowerdir=/l
                nonsense
                """);

        Mount mount = Mounts.holding(Mounts.all(files), Path.of(path)).orElseThrow();

        assertThat(mount.point()).isEqualTo(point);
        assertThat(mount.fileSystem()).isEqualTo(type);
        assertThat(mount.source()).isEqualTo(source);
        assertThat(mount.readOnly()).isFalse();
    }

    @Test
    void nonAsciiNamesAndReadOnlyMountsAreRead() throws IOException {
        write("/proc/self/mountinfo", "31 27 259:1 / /größe ro,noatime - xfs /dev/x rw\n");

        assertThat(Mounts.all(files)).containsExactly(new Mount("/größe", "xfs", "/dev/x", "259:1", true));
    }

    @Test
    void bar1IsTheSecondResource() throws IOException {
        write("/sys/bus/pci/devices/0000:1a:00.0/resource", """
                0x00000000c0000000 0x00000000c3ffffff 0x0000000000040200
                0x0000380000000000 0x0000383fffffffff 0x000000000014220c
                0x0000000000000000 0x0000000000000000 0x0000000000000000
                """);
        write("/sys/bus/pci/devices/0000:1b:00.0/resource", """
                0x00000000c0000000 0x00000000c3ffffff 0x0000000000040200
                0x0000000000000000 0x0000000000000000 0x0000000000000000
                """);

        assertThat(Gpus.bar1(files, "0000:1a:00.0")).isEqualTo(OptionalLong.of(256L << 30));
        assertThat(Gpus.bar1(files, "00000000:1a:00.0")).isEqualTo(OptionalLong.of(256L << 30));
        assertThat(Gpus.bar1(files, "0000:1b:00.0")).isEmpty();
        assertThat(Gpus.bar1(files, "0000:ff:00.0")).isEmpty();
    }

    @Test
    void memoryIsReadFromMeminfo() throws IOException {
        write("/proc/meminfo", "MemTotal:       24684084 kB\nMemFree: 1 kB\nMemAvailable:   23000000 kB\n");

        Platform platform = new ThisMachine(files).platform();

        assertThat(platform.memoryBytes()).isEqualTo(OptionalLong.of(24684084L * 1024));
        assertThat(platform.availableMemoryBytes()).isEqualTo(OptionalLong.of(23000000L * 1024));
        assertThat(List.of(platform.kernel().split(" ")).getFirst()).isEqualTo("Linux");
    }

    @Test
    void limitOfAControlGroupBoundsTheAvailableMemory() throws IOException {
        write("/proc/meminfo", "MemTotal:       24684084 kB\nMemAvailable:   23000000 kB\n");
        write("/proc/self/cgroup", "4:memory:/docker/one\n");
        write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "419430400\n");
        write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "19430400\n");

        assertThat(new ThisMachine(files).platform().availableMemoryBytes()).isEqualTo(OptionalLong.of(400_000_000));
    }

    @Test
    void memoryThatTheKernelDoesNotTellIsUnknown() {
        assertThat(new ThisMachine(files).platform().memoryBytes()).isEmpty();
        assertThat(new ThisMachine(files).platform().availableMemoryBytes()).isEmpty();
    }
}
