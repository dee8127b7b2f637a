package io.gds4j.tools.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.diagnosis.Advice;
import io.gds4j.diagnosis.Diagnosis;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.Platform;
import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.engine.machine.ThisMachine;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.nvml.NvmlAvailability;
import io.gds4j.rdma.RdmaAvailability;
import io.gds4j.tools.check.CheckRun.Requirement;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of {@link Storage} on a folder that replaces the root of the file system. */
class StorageTest {
    private static final String PROC = "/proc/driver/nvidia-fs/";
    private static final Gpu GPU = Gpu.of(
            0, "NVIDIA H200", "GPU-0", Optional.of("0000:c1:00.0"), OptionalLong.of(150L << 30),
            OptionalLong.of(256L << 30), "9.0", OptionalInt.of(0), Optional.of(true), OptionalInt.empty());

    private static final RdmaAvailability NO_VERBS =
            new RdmaAvailability.Unavailable("no RDMA device: libibverbs.so.1 is missing", "install rdma-core");

    @TempDir
    private Path root;

    private SystemFiles files;

    @BeforeEach
    void machine() {
        files = new SystemFiles(root);
    }

    private void write(String absolute, String text) throws IOException {
        Path path = files.at(absolute);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }

    private static String captured(String name) throws IOException {
        try (InputStream text = StorageTest.class.getResourceAsStream("/nvidia-fs/" + name)) {
            return new String(text.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private void loadNvidiaFs() throws IOException {
        write(PROC + "version", "version: 2.28\n");
        write(PROC + "devcount", "1\n");
        write(PROC + "modules", captured("modules.txt"));
        write(PROC + "bridges", "0000:c0:01.0\nnonsense\n0000:c0:03.1\n");
        write(PROC + "peer_distance", captured("peer_distance.txt"));
        write(PROC + "peer_affinity", captured("peer_affinity.txt"));
        write(PROC + "stats", captured("stats-2.28.txt"));
        write("/sys/module/nvidia_fs/parameters/rw_stats_enabled", "1\n");
    }

    /** Adds a device to the bus and to the list of all devices. */
    private void device(String way, String numaNode) throws IOException {
        Path folder = Files.createDirectories(files.at("/sys/devices/" + way));
        Files.writeString(folder.resolve("numa_node"), numaNode + "\n");
        Path devices = Files.createDirectories(files.at("/sys/bus/pci/devices"));
        Files.createSymbolicLink(devices.resolve(folder.getFileName()), folder);
    }

    private CheckReport report(CuFileConfig config, List<Gpu> gpus) {
        return report(config, gpus, NO_VERBS);
    }

    private CheckReport report(CuFileConfig config, List<Gpu> gpus, RdmaAvailability verbs) {
        LibCuFile library = new LibCuFile(Optional.empty(), Optional.empty(), List.of("/opt/cuda/lib"));
        return new CheckReport(
                diagnosis(new ThisMachine(files).platform(), config, gpus), KernelModules.read(files),
                new CudaAvailability.Unavailable("none", "buy one"), library,
                CheckRun.storage(files, gpus, library, config, verbs,
                        new NvmlAvailability.Unavailable("no NVML", "none"), Map.of()),
                List.of());
    }

    private static List<String> lines(CheckReport report, boolean verbose) {
        return CheckText.lines(CheckVerdict.of(report, List.of()), report, verbose);
    }

    private static Diagnosis diagnosis(Platform platform, CuFileConfig config, List<Gpu> gpus) {
        return new Diagnosis(
                platform, Optional.empty(), "", List.of(), gpus, Optional.empty(), Optional.of(config), List.of());
    }

    @Test
    void everyFileOfNvidiaFsIsRead() throws IOException {
        loadNvidiaFs();

        NvidiaFs read = NvidiaFs.read(files);

        assertThat(read.isLoaded()).isTrue();
        assertThat(read.version()).contains("2.28");
        assertThat(read.devices()).hasValue(1);
        assertThat(read.storage()).containsExactly(
                Map.entry("nvme", "1.0"), Map.entry("nvme_rdma", "1.0"), Map.entry("lnet", "2.15.3"));
        assertThat(read.bridges()).containsExactly("0000:c0:01.0", "0000:c0:03.1");
        assertThat(read.parameters()).containsEntry("rw_stats_enabled", "1");
        assertThat(read.peers()).hasSize(2);
        assertThat(read.peers().getFirst().peer()).isEqualTo("0000:c2:00.0");
        assertThat(read.peers().getFirst().columns())
                .containsEntry("p2pdist", "0x0003").containsEntry("np2p", "799606").containsEntry("class", "nvme");
        assertThat(read.traffic()).extracting(NvidiaFs.Traffic::gpu).containsExactly("0000:c1:00.0", "0000:65:00.0");
        assertThat(read.traffic()).extracting(NvidiaFs.Traffic::transfers).containsExactly(799606L, 42L);
        assertThat(read.traffic()).extracting(NvidiaFs.Traffic::throughRoot).containsExactly(0L, 30L);
    }

    @Test
    void wekaModuleCountsOnlyIfLoaded() throws IOException {
        write(PROC + "version", "version: 2.29\n");
        write(PROC + "modules", "wekafsio: 1\n");
        assertThat(NvidiaFs.read(files).storage()).isEmpty();
        assertThat(Doctor.examine(report(CuFileConfig.defaults(), List.of(GPU)))).extracting(Advice::what)
                .contains("nvidia-fs is loaded, but no storage module has registered with it");

        Files.createDirectories(files.at("/sys/module/wekafsio"));
        assertThat(NvidiaFs.read(files).storage()).containsExactly(Map.entry("wekafsio", "1"));
    }

    @Test
    void distancesOfOldVersionsHaveFewerColumns() throws IOException {
        write(PROC + "peer_distance", captured("peer_distance-old.txt") + "0000:be:00.0\nnonsense\n");

        assertThat(NvidiaFs.read(files).peers()).containsExactly(
                new NvidiaFs.Peer(
                        "0000:be:00.0", "0000:58:00.1", Map.of("p2pdist", "138", "np2p", "0", "class", "network")),
                new NvidiaFs.Peer(
                        "0000:be:00.0", "0000:bd:00.1", Map.of("p2pdist", "3", "np2p", "4082933", "class", "network")));
    }

    @Test
    void uncountedTrafficIsAbsent() throws IOException {
        write(PROC + "version", "version: 2.28\n");
        write(PROC + "peer_affinity", "");

        assertThat(NvidiaFs.read(files).traffic()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            general      | NVFS Driver version | 2:3:1
            Reads        | Avg-Latency(usec)   | 977
            Bar1-map     | active              | 12
            Error        | dma-map             | 0
            Ops          | Write               | 0
            GPU 0000:e7:00.0 uuid:16fd2706-8baf-433b-82eb-8c7fada847da | cross_root_port(%) | 3
            """)
    void countersOfOldVersionsAreFound(String row, String name, String value) throws IOException {
        write(PROC + "stats", captured("stats-2.3.txt"));

        Map<String, Map<String, String>> statistics = NvidiaFs.read(files).statistics();
        assertThat(statistics.get(row)).containsEntry(name, value);
        assertThat(statistics).doesNotContainKey("Batches");
        assertThat(statistics.get("Ops")).doesNotContainKey("BatchIO");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            general            | NVFS Driver version         | 2.28.1
            general            | NVFS statistics version     | 4.0
            general            | GDS Version                 | 1.15.1.6
            general            | peer IO stats               | Enabled
            general            | Active Shadow-Buffer (MiB)  | 128
            Batches            | Avg-Submit-Latency(usec)    | 41
            Reads              | readMiB                     | 781
            Reads              | Bandwidth(MiB/s)            | 6681
            Sparse Reads       | holes                       | 0
            Writes             | pg-cache-eio                | 0
            Bar1-map           | delay-frees                 | 0
            Error              | dma-ref                     | 0
            Ops                | BatchIO                     | 0
            GPU 0000:c1:00.0 uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427 | max_pinned_MiB     | 1024
            GPU 0000:c1:00.0 uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427 | cross_root_port(%) | 0
            """)
    void countersAreFoundByRowAndName(String row, String name, String value) throws IOException {
        loadNvidiaFs();

        assertThat(NvidiaFs.read(files).statistics().get(row)).containsEntry(name, value);
    }

    @Test
    void disabledCountersAreAbsentAndNotZero() throws IOException {
        write(PROC + "stats", captured("stats-without-counters.txt") + "something\tnew\nReads\t: later=1\n");

        Map<String, Map<String, String>> statistics = NvidiaFs.read(files).statistics();

        assertThat(statistics.get("Reads")).containsEntry("err", "0").doesNotContainKey("n").containsKey("later");
        assertThat(statistics).doesNotContainKey("Batches");
        assertThat(statistics.get("GPU 0000:c1:00.0 uuid:1b4e28ba-2fa1-11d2-883f-0016d3cca427"))
                .containsEntry("max_pinned_MiB", "64").doesNotContainKey("cross_root_port(%)");
    }

    @Test
    void missingNvidiaFsShowsNothing() {
        NvidiaFs none = NvidiaFs.read(files);

        assertThat(none.isLoaded()).isFalse();
        assertThat(none.devices()).isEmpty();
        assertThat(none.statistics()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
            "0000:c2:00.0, ONE_SWITCH", "0000:c4:00.0, SEVERAL_SWITCHES", "0000:c5:00.0, HOST_BRIDGE",
            "0000:41:00.0, SAME_NODE", "0000:81:00.0, ACROSS_NODES"})
    void distanceOfTwoDevicesIsWhatLiesBetweenThem(String other, PciDistance expected) throws IOException {
        String port = "pci0000:c0/0000:c0:01.0/0000:c0:10.0/";
        device(port + "0000:c0:11.0/0000:c1:00.0", "0");
        device(port + "0000:c0:12.0/0000:c2:00.0", "0");
        device(port + "0000:c0:13.0/0000:c3:00.0/0000:c3:01.0/0000:c4:00.0", "0");
        device("pci0000:c0/0000:c0:02.0/0000:c5:00.0", "0");
        device("pci0000:40/0000:40:01.0/0000:41:00.0", "0");
        device("pci0000:80/0000:80:01.0/0000:81:00.0", "1");

        PciDevices pci = new PciDevices(files);

        assertThat(pci.distance("0000:c1:00.0", other)).contains(expected);
        assertThat(pci.distance("00000000:c1:00.0", other)).contains(expected);
        assertThat(pci.distance("0000:c1:00.0", "0000:ff:00.0")).isEmpty();
        assertThat(pci.numaNode("0000:81:00.0")).hasValue(1);
    }

    @Test
    void drivesAndAdaptersAreLinkedToTheGpu() throws IOException {
        device("pci0000:c0/0000:c0:01.0/0000:c1:00.0", "0");
        device("pci0000:80/0000:80:01.0/0000:81:00.0", "1");
        Files.createDirectories(files.at("/sys/class/nvme/nvme0"));
        Files.createSymbolicLink(
                files.at("/sys/class/nvme/nvme0/device"), files.at("/sys/bus/pci/devices/0000:81:00.0"));
        write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
        write("/sys/class/infiniband/mlx5_0/ports/2/state", "1: DOWN\n");
        loadNvidiaFs();

        CheckReport report = report(CuFileConfig.defaults(), List.of(GPU));

        assertThat(report.storage().links())
                .containsExactly(new PciLink(0, "nvme0", "0000:81:00.0", OptionalInt.of(1), PciDistance.ACROSS_NODES));
        assertThat(report.storage().rdma().devices()).containsExactly("mlx5_0");
        assertThat(report.storage().rdma().ports(true)).isEqualTo(1);
        assertThat(report.storage().rdma().ports(false)).isEqualTo(1);
        assertThat(lines(report, false))
                .anyMatch(line -> line
                        .contains("nvme0 (0000:81:00.0, NUMA node 1) behind the link between NUMA nodes (SYS)"))
                .anyMatch(line -> line.contains("mlx5_0, 1 ports up, 1 down"));
        assertThat(Doctor.examine(report)).extracting(Advice::what)
                .anyMatch(what -> what.contains("between gpu:0 and nvme0 lies the link"));
    }

    @Test
    void verbsDevicesAreListed() throws IOException {
        write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
        RdmaAvailability verbs = new RdmaAvailability.Available(List.of("mlx5_0", "rxe0"), null);

        CheckReport report = report(CuFileConfig.defaults(), List.of(), verbs);

        assertThat(lines(report, false)).anyMatch(line -> line.matches(" *verbs +mlx5_0, rxe0"));
        assertThat(verbsFields(report)).containsEntry("available", true)
                .containsEntry("devices", List.of("mlx5_0", "rxe0"))
                .containsEntry("reason", null).containsEntry("remedy", null);
        assertThat(Doctor.examine(report)).isEmpty();
    }

    @Test
    void missingVerbsLibraryIsExplained() {
        CheckReport report = report(CuFileConfig.defaults(), List.of());

        assertThat(lines(report, false))
                .anyMatch(line -> line.matches(" *verbs +no RDMA device: libibverbs.so.1 is missing"));
        assertThat(verbsFields(report)).containsEntry("available", false).containsEntry("devices", List.of())
                .containsEntry("reason", "no RDMA device: libibverbs.so.1 is missing")
                .containsEntry("remedy", "install rdma-core");
        assertThat(Doctor.examine(report)).as("a machine without RDMA devices needs no verbs").isEmpty();
    }

    @Test
    void adapterWithoutVerbsIsAdvised() throws IOException {
        write("/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");

        assertThat(Doctor.examine(report(CuFileConfig.defaults(), List.of()))).containsExactly(new Advice(
                "the kernel has RDMA devices, but this process cannot use them: no RDMA device: libibverbs.so.1 is"
                        + " missing",
                "install rdma-core"));
    }

    @ParameterizedTest
    @CsvSource({"25+36-LTS, true", "25.0.0, true", "25.0.1+8-LTS, true", "25.0.2+10-Ubuntu-1, true",
            "25.0.3+9-LTS, false", "25.0.10+1, false", "25.1+1, false", "26.0.1+3, false", "255, false"})
    void jdkThatMovesPinnedArraysIsNamed(String version, boolean named) {
        CheckReport here = report(CuFileConfig.defaults(), List.of());
        Platform machine = here.platform();
        Platform platform = Platform.of(
                machine.kernel(), machine.architecture(), machine.cpus(), machine.memoryBytes(),
                machine.availableMemoryBytes(), version, machine.jdkVendor(), machine.jdkHome());
        CheckReport report = new CheckReport(
                diagnosis(platform, here.config(), here.gpus()), here.modules(), here.cuda(), here.library(),
                here.storage(), here.paths());

        assertThat(Doctor.examine(report).stream().anyMatch(advice -> advice.what().contains("JDK-8377811")
                && advice.what().contains(version) && advice.remedy().contains("25.0.3"))).isEqualTo(named);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> verbsFields(CheckReport report) {
        return (Map<String, Object>) ((Map<?, ?>) StorageJson.of(report.storage()).get("rdma")).get("verbs");
    }

    @Test
    void driveWithoutRegisteredModuleIsAdvised() throws IOException {
        device("pci0000:c0/0000:c0:01.0/0000:c1:00.0", "0");
        device("pci0000:c0/0000:c0:02.0/0000:c2:00.0", "0");
        Files.createDirectories(files.at("/sys/class/nvme/nvme0"));
        Files.createSymbolicLink(
                files.at("/sys/class/nvme/nvme0/device"), files.at("/sys/bus/pci/devices/0000:c2:00.0"));
        loadNvidiaFs();
        assertThat(Doctor.examine(report(CuFileConfig.defaults(), List.of(GPU)))).extracting(Advice::what)
                .noneMatch(what -> what.contains("the nvme module"));

        write(PROC + "modules", "lnet: 2.15.3\n");
        assertThat(Doctor.examine(report(CuFileConfig.defaults(), List.of(GPU)))).extracting(Advice::what)
                .anyMatch(what -> what.contains("the nvme module has not registered"));
    }

    @Test
    void verboseListsAllValuesOfNvidiaFs() throws IOException {
        loadNvidiaFs();

        assertThat(lines(report(CuFileConfig.defaults(), List.of(GPU)), true)).contains(
                "  devices: 1", "  module nvme_rdma: 1.0", "  bridges with ACS: 0000:c0:01.0, 0000:c0:03.1",
                "  parameter rw_stats_enabled = 1",
                "  Batches: n=12 ok=12 err=0 Avg-Submit-Latency(usec)=41",
                "  GPU 0000:c1:00.0 to 0000:c2:00.0: peerrank=0x000300ef p2pdist=0x0003 link=0x04 gen=0x04 numa=0x00"
                        + " np2p=799606 class=nvme",
                "  GPU 0000:65:00.0: 42 transfers, 30 of them through the root complex");
    }

    @Test
    void redirectingAcsIsFoundInConfigurationSpace() throws IOException {
        ByteBuffer config = ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);
        config.putInt(0x100, 0x0001 | 1 << 16 | 0x148 << 20);
        config.putInt(0x148, 0x000d | 1 << 16);
        config.putShort(0x14e, (short) 0x1d);
        device("pci0000:c0/0000:c0:01.0", "0");
        Files.write(files.at("/sys/bus/pci/devices/0000:c0:01.0/config"), config.array());

        assertThat(new PciDevices(files).redirectingBridges()).contains(List.of("0000:c0:01.0"));

        config.putShort(0x14e, (short) 0x1);
        Files.write(files.at("/sys/bus/pci/devices/0000:c0:01.0/config"), config.array());
        assertThat(new PciDevices(files).redirectingBridges()).contains(List.of());

        Files.write(files.at("/sys/bus/pci/devices/0000:c0:01.0/config"), new byte[64]);
        assertThat(new PciDevices(files).redirectingBridges()).as("without root the kernel shows 64 bytes").isEmpty();
    }

    @Test
    void registeredModulesServeTheirStorage() throws IOException {
        loadNvidiaFs();

        List<StorageSupport> support = report(CuFileConfig.defaults(), List.of(GPU)).storage().support();

        assertThat(support).contains(
                new StorageSupport("NVMe", List.of("nvfs", "compat")),
                new StorageSupport("DDN EXAScaler", List.of("nvfs", "compat")),
                new StorageSupport("BeeGFS", List.of("compat")),
                new StorageSupport("Userspace RDMA", List.of()));
        assertThat(report(CuFileConfig.defaults(), List.of()).storage().support())
                .as("without a GPU").noneMatch(StorageSupport::direct);
    }

    @Test
    void p2pdmaNeedsKernelDriverAndConfiguration() throws IOException {
        CuFileConfig config = CuFileConfig.builder().set(CuFileKeys.USE_PCI_P2PDMA, true).build();
        write("/boot/config-6.8.0", "CONFIG_PCI_P2PDMA=y\n");
        write("/proc/sys/kernel/osrelease", "6.8.0\n");
        write("/proc/driver/nvidia/params", "RegistryDwords: \"\"\n");

        assertThat(Doctor.examine(report(config, List.of(GPU)))).extracting(Advice::what)
                .contains("properties.use_pci_p2pdma is true, but the driver does not map GPU memory statically");

        write("/boot/config-6.8.0", "# CONFIG_PCI_P2PDMA is not set\n");
        assertThat(Doctor.examine(report(config, List.of(GPU)))).extracting(Advice::what)
                .contains("properties.use_pci_p2pdma is true, but the kernel has no PCI peer-to-peer DMA");
    }

    @Test
    void translatingIommuIsAdvisedForDirectTransfers() throws IOException {
        loadNvidiaFs();
        Files.createDirectories(files.at("/sys/class/iommu/dmar0"));
        write("/sys/kernel/iommu_groups/0/type", "DMA-FQ\n");

        CheckReport report = report(CuFileConfig.defaults(), List.of(GPU));

        assertThat(report.storage().kernel().iommu()).isEqualTo("enabled (DMA-FQ)");
        assertThat(Doctor.examine(report)).extracting(Advice::remedy).anyMatch(remedy -> remedy.contains("iommu=pt"));

        write("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 intel_iommu=on iommu=pt\n");
        KernelFeatures passing = KernelFeatures.read(files);
        assertThat(passing.iommuTranslates()).isFalse();
        assertThat(passing.commandLine()).containsExactly("intel_iommu=on", "iommu=pt");
    }

    @Test
    void smallBar1IsAdvised() {
        Gpu small = Gpu.of(
                1, "NVIDIA L4", "GPU-1", Optional.empty(), OptionalLong.of(24L << 30), OptionalLong.of(256L << 20),
                "8.9", OptionalInt.empty(), Optional.empty(), OptionalInt.empty());

        assertThat(Doctor.examine(report(CuFileConfig.defaults(), List.of(small)))).extracting(Advice::what)
                .anyMatch(what -> what.startsWith("BAR1 of gpu:1 is smaller than its memory"));
    }

    @Test
    void requirementNamesWhatIsMissing() throws IOException {
        CheckReport without = report(CuFileConfig.defaults(), List.of());
        assertThat(Requirement.GPU.lacking(without)).contains("there is no GPU");
        assertThat(Requirement.NVFS.lacking(without)).contains("no storage reaches a GPU by nvfs");
        assertThat(Requirement.LIBCUFILE.lacking(without)).isPresent();
        loadNvidiaFs();
        CheckReport with = report(CuFileConfig.defaults(), List.of(GPU));
        assertThat(Requirement.GPU.lacking(with)).isEmpty();
        assertThat(Requirement.NVFS.lacking(with)).isEmpty();
        assertThat(Requirement.P2PDMA.lacking(with)).isPresent();
    }

    @Test
    void oldPeerMemoryModuleIsFoundWithItsVersion() throws IOException {
        write("/sys/module/nvidia_peermem/version", "580.82.07\n");

        assertThat(KernelFeatures.read(files).peerMemory()).contains("nvidia_peermem 580.82.07");
    }
}
