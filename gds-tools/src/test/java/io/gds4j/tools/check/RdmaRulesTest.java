package io.gds4j.tools.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.diagnosis.Advice;
import io.gds4j.diagnosis.Diagnosis;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.engine.machine.ThisMachine;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.nvml.Nvml;
import io.gds4j.ffi.nvml.Nvml.Bar1;
import io.gds4j.ffi.nvml.NvmlAvailability;
import io.gds4j.rdma.RdmaAvailability;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What check says about RDMA, peer memory and the state of GPUs, by files of machines. */
class RdmaRulesTest {
    private static final RdmaAvailability VERBS = new RdmaAvailability.Available(List.of("mlx5_0"), null);
    private static final NvmlAvailability NO_NVML = new NvmlAvailability.Unavailable("no NVML", "none");

    @TempDir
    private Path root;

    private static Gpu gpu(boolean dmaBuf) {
        return Gpu.of(
                0, "NVIDIA H100", "GPU-5b1c0000-0000-0000-0000-000000000000", Optional.of("0000:3b:00.0"),
                OptionalLong.of(80L << 30), OptionalLong.of(128L << 30), "9.0", OptionalInt.of(0), Optional.of(dmaBuf),
                OptionalInt.empty());
    }

    private static NvmlAvailability nvml(long free, Optional<Boolean> persistence) {
        Nvml.Gpu gpu =
                new Nvml.Gpu("NVIDIA H100", "GPU-5b1c", Optional.of(new Bar1(128L << 30, free, (128L << 30) - free)),
                        OptionalInt.empty(), persistence);
        Nvml library = (Nvml) Proxy.newProxyInstance(
                Nvml.class.getClassLoader(), new Class<?>[]{Nvml.class}, (proxy, method, arguments) -> gpu);
        return new NvmlAvailability.Available(library);
    }

    private CheckReport report(NvmlAvailability nvml, List<Gpu> gpus, String... machines) throws IOException {
        SystemFiles files = new SystemFiles(root);
        for (String machine : machines) {
            MachineFiles.add(files, machine);
        }
        CuFileConfig config = CuFileConfig.defaults();
        LibCuFile library = new LibCuFile(Optional.empty(), Optional.empty(), List.of("/opt/cuda/lib"));
        Diagnosis diagnosis = new Diagnosis(
                new ThisMachine(files).platform(), Optional.empty(), "", List.of(), gpus, Optional.empty(),
                Optional.of(config), List.of());
        return new CheckReport(
                diagnosis, KernelModules.read(files), new CudaAvailability.Unavailable("none", "buy one"), library,
                CheckRun.storage(files, gpus, library, config, VERBS, nvml, Map.of()), List.of());
    }

    private List<String> problems(CheckReport report) {
        return RdmaRules.examine(report).stream().map(Advice::toString).toList();
    }

    private static List<String> lines(CheckReport report) {
        return CheckText.lines(CheckVerdict.of(report, List.of()), report, false);
    }

    @Test
    void adapterIsShownWithDriverModeAndSpeed() throws IOException {
        CheckReport report = report(NO_NVML, List.of(gpu(true)), "connectx7-roce");

        assertThat(report.storage().rdma().adapters()).singleElement().satisfies(adapter -> {
            assertThat(adapter.driver()).contains("mlx5_core");
            assertThat(adapter.attaches()).contains("dynamic");
            assertThat(adapter.onDemandPaging()).contains(true);
        });
        assertThat(lines(report))
                .anyMatch(line -> line.contains("mlx5_0")
                        && line.contains("driver mlx5_core, attaches dma-bufs dynamically, by on-demand paging"))
                .anyMatch(line -> line.contains("port 1 up, Ethernet (RoCE v2), 400 Gb/sec (4X NDR)"))
                .anyMatch(line -> line.contains("port 2 down, Ethernet (IB/RoCE v1)"));
        assertThat(problems(report)).singleElement().asString()
                .contains("port 2 of mlx5_0 has RoCE v1 alone", "cma_roce_mode");
    }

    @Test
    void infiniBandIsNoOldRoce() throws IOException {
        CheckReport report = report(NO_NVML, List.of(gpu(true)), "connectx7-infiniband");

        assertThat(problems(report)).isEmpty();
        assertThat(lines(report)).anyMatch(line -> line.endsWith("port 1 up, InfiniBand"));
    }

    @Test
    void otherDriversPinOrAreUnknown() throws IOException {
        CheckReport report = report(NO_NVML, List.of(gpu(true)), "efa", "rxe");

        assertThat(lines(report))
                .anyMatch(line -> line.contains("driver efa, pins dma-bufs, no on-demand paging"))
                .anyMatch(line -> line.contains("driver unknown, perhaps of software, dma-buf unknown"));
        assertThat(problems(report)).isEmpty();
    }

    @Test
    void secondPeerMemoryModuleIsAdvised() throws IOException {
        assertThat(problems(report(NO_NVML, List.of(gpu(false)), "connectx7-infiniband", "two-peer-modules")))
                .singleElement().asString()
                .contains("nvidia_peermem 580.82.07, nv_peer_mem 1.3-0", "unload nv_peer_mem");
    }

    @Test
    void missingPeerMemoryIsAdvisedWhereNothingElseServes() throws IOException {
        assertThat(problems(report(NO_NVML, List.of(gpu(false)), "connectx7-infiniband"))).singleElement().asString()
                .contains("nvidia_peermem cannot load", "ib_core has no peer memory", "install MLNX_OFED or DOCA");
        assertThat(lines(report(NO_NVML, List.of(gpu(false)))))
                .anyMatch(line -> line.contains("its own, without peer memory"));
    }

    @Test
    void peerMemoryBuiltWithoutOfedIsAdvised() throws IOException {
        assertThat(problems(report(NO_NVML, List.of(gpu(false)), "connectx7-roce")))
                .anyMatch(line -> line.contains("nvidia_peermem is not loaded") && line.contains("modprobe")
                        && line.contains("installed before OFED"));
    }

    @ParameterizedTest
    @CsvSource({"510.108.03, false", "515.43.04, true", "520.61.05, true", "525.85.12, true", "525.105.17, false",
            "525.147.05, false", "530.30.02, true", "535.13, true", "535.14, false", "535.54.03, false",
            "580.82.07, false", "loaded, false"})
    void driversWithTheRaceAreNamed(String version, boolean named) throws IOException {
        // Invented: the first line of /proc/driver/nvidia/version in the format of the driver's README.
        Path file = new SystemFiles(root).at("/proc/driver/nvidia/version");
        Files.createDirectories(file.getParent());
        Files.writeString(file, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + version
                + "  Sat Jan 28 02:10:06 UTC 2023\n");

        CheckReport report = report(NO_NVML, List.of(gpu(true)), "connectx7-infiniband");

        assertThat(problems(report).stream().anyMatch(line -> line.contains("has a race") && line.contains(version)))
                .isEqualTo(named);
    }

    @Test
    void freeBar1IsShownWithoutTheReserve() throws IOException {
        CheckReport much = report(nvml(100L << 30, Optional.of(true)), List.of(gpu(true)));
        CheckReport little = report(nvml(50L << 20, Optional.of(true)), List.of(gpu(true)));

        assertThat(much.storage().state(gpu(true)).orElseThrow().bar1FreeBytes()).hasValue((100L << 30) - (32L << 20));
        assertThat(problems(much)).isEmpty();
        assertThat(problems(little)).singleElement().asString()
                .contains("BAR1 of gpu:0 has room for 18 MiB more of registrations", "end processes");
        assertThat(CheckJson.of(much).toString()).contains("bar1FreeBytes=" + ((100L << 30) - (32L << 20)));
    }

    @Test
    void persistenceModeThatIsOffIsAdvised() throws IOException {
        assertThat(problems(report(nvml(100L << 30, Optional.of(false)), List.of(gpu(true))))).singleElement()
                .asString()
                .contains("persistence mode of gpu:0 is off", "nvidia-persistenced");
        assertThat(problems(report(nvml(100L << 30, Optional.empty()), List.of(gpu(true))))).isEmpty();
    }

    @Test
    void graceGetsNoAdviceToPassAddressesThrough() throws IOException {
        // Invented: nvidia-fs serves NVMe, so that transfers between devices are possible.
        Path modules = new SystemFiles(root).at("/proc/driver/nvidia-fs/modules");
        Files.createDirectories(modules.getParent());
        Files.writeString(modules, "nvme: 1.0\n");
        Files.writeString(modules.resolveSibling("version"), "version: 2.28\n");

        CheckReport grace = report(NO_NVML, List.of(gpu(true)), "grace");
        assertThat(grace.storage().kernel().iommuTranslates()).isTrue();
        assertThat(grace.storage().kernel().grace()).isTrue();
        assertThat(Doctor.examine(grace)).extracting(Advice::remedy).noneMatch(remedy -> remedy.contains("iommu"));

        Files.delete(new SystemFiles(root).at("/proc/cpuinfo"));
        assertThat(Doctor.examine(report(NO_NVML, List.of(gpu(true))))).extracting(Advice::remedy)
                .anyMatch(remedy -> remedy.contains("iommu=pt"));
    }
}
