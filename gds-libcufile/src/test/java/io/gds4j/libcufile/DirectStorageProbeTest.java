package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Findings from /proc, /sys and the configuration, below a temporary root. */
class DirectStorageProbeTest {
    private static final int REGULAR = 0x8000;
    private static final int BLOCK = 0x6000;

    @TempDir
    private Path root;

    private void write(String path, String text) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }

    private DirectStorageProbe.Verdict probe(CuFileConfig config) {
        return new DirectStorageProbe(root).machine(config);
    }

    private static CuFileConfig p2pdma() {
        return CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.USE_PCI_P2PDMA, true).build();
    }

    private static String lacking(DirectStorageProbe.Verdict verdict) {
        assertThat(verdict).isInstanceOf(DirectStorageProbe.Lacking.class);
        DirectStorageProbe.Lacking lacking = (DirectStorageProbe.Lacking) verdict;
        assertThat(lacking.remedy()).isNotBlank();
        return lacking.reason();
    }

    @Test
    void plainMachineLacksEverything() {
        assertThat(lacking(probe(CuFileConfig.defaults())))
                .isEqualTo("nvidia-fs is not loaded and properties.use_pci_p2pdma is false");
    }

    @Test
    void nvidiaFsWithItsDevicesWorks() throws IOException {
        write("proc/driver/nvidia-fs/version", "version: 2.25\n");
        write("dev/nvidia-fs0", "");
        assertThat(probe(CuFileConfig.defaults()))
                .isEqualTo(new DirectStorageProbe.Works(IoPath.NVFS, "nvidia-fs is loaded"));
    }

    @Test
    void nvidiaFsWithoutDevicesAsInAContainerDoesNotWork() throws IOException {
        write("sys/module/nvidia_fs/version", "2.25\n");
        Files.createDirectories(root.resolve("dev"));
        assertThat(lacking(probe(CuFileConfig.defaults()))).contains("/dev/nvidia-fs*");
    }

    @Test
    void p2pdmaWorksWithANewKernelAndStaticMapping() throws IOException {
        write("proc/sys/kernel/osrelease", "6.18.0-generic\n");
        write("proc/driver/nvidia/params", "EnableMSI: 1\nRegistryDwords: \"RMForceStaticBar1=1;ForceP2P=0\"\n");
        assertThat(probe(p2pdma())).isInstanceOfSatisfying(DirectStorageProbe.Works.class, works -> {
            assertThat(works.path()).isEqualTo(IoPath.P2PDMA);
            assertThat(works.reason()).contains("properties.use_pci_p2pdma");
        });
        assertThat(lacking(probe(CuFileConfig.defaults()))).contains("use_pci_p2pdma is false");
    }

    @Test
    void oneKindOfDriveWithP2pdmaIsEnough() throws IOException {
        write("proc/sys/kernel/osrelease", "6.2.1");
        write("proc/driver/nvidia/params", "RegistryDwords: \"RMForceStaticBar1=1\"\n");
        CuFileConfig nvme = CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.BLOCK_NVME_USE_PCI_P2PDMA, true)
                .build();
        assertThat(probe(nvme)).isInstanceOf(DirectStorageProbe.Works.class);
    }

    @Test
    void p2pdmaNeedsItsKernel() throws IOException {
        write("proc/sys/kernel/osrelease", "6.1.0\n");
        write("proc/driver/nvidia/params", "RegistryDwords: \"RMForceStaticBar1=1\"\n");
        assertThat(lacking(probe(p2pdma()))).contains("the kernel is 6.1.0");
        write("proc/sys/kernel/osrelease", "odd\n");
        assertThat(lacking(probe(p2pdma()))).contains("the kernel is odd");
    }

    @Test
    void p2pdmaNeedsStaticMapping() throws IOException {
        write("proc/sys/kernel/osrelease", "6.18.0\n");
        write("proc/driver/nvidia/params", "RegistryDwords: \"\"\n");
        assertThat(lacking(probe(p2pdma()))).contains("does not map its memory statically");
    }

    private static StatxResult file(int major, int minor) {
        return new StatxResult(0, 0, REGULAR, 1, 4096, major, minor, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0);
    }

    private static StatxResult device(int major, int minor) {
        return new StatxResult(0, 0, BLOCK, 0, 4096, 0, 6, major, minor, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0);
    }

    private void disk(String number, String name) throws IOException {
        Path real = Files.createDirectories(root.resolve("sys/devices/pci0/block/" + name));
        Path links = Files.createDirectories(root.resolve("sys/dev/block"));
        Files.createSymbolicLink(links.resolve(number), real);
    }

    @Test
    void missingUdevEntryIsNamed() throws IOException {
        disk("254:0", "vda");
        assertThat(new DirectStorageProbe(root).obstacleOf(file(254, 0))).contains("no udev entry for 254:0");
    }

    @Test
    void otherDiskThanNvmeIsNamed() throws IOException {
        disk("254:0", "vda");
        write("run/udev/data/b254:0", "E:ID_FS_TYPE=ext4");
        assertThat(new DirectStorageProbe(root).obstacleOf(file(254, 0))).contains("vda is not an NVMe drive");
    }

    @Test
    void nvmeDrivePartitionAndVolumeHaveNoObstacle() throws IOException {
        disk("259:1", "nvme0n1p1");
        disk("253:0", "dm-0");
        disk("9:0", "md0");
        for (String number : new String[]{"259:1", "253:0", "9:0"}) {
            write("run/udev/data/b" + number, "E:ID_FS_TYPE=ext4");
        }
        assertThat(new DirectStorageProbe(root).obstacleOf(file(259, 1))).isEmpty();
        assertThat(new DirectStorageProbe(root).obstacleOf(file(253, 0))).isEmpty();
        assertThat(new DirectStorageProbe(root).obstacleOf(device(9, 0))).isEmpty();
    }

    @Test
    void fileSystemWithoutADeviceIsNamed() {
        assertThat(new DirectStorageProbe(root).obstacleOf(file(0, 27)))
                .contains("the file system has no block device of its own (device 0:27)");
    }

    @Test
    void deviceUnknownToTheKernelIsNamed() {
        assertThat(new DirectStorageProbe(root).obstacleOf(device(8, 16)))
                .contains("the kernel shows no block device 8:16");
    }
}
