package io.gds4j.tools.check;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.DefaultConfigFile;
import io.gds4j.config.DirectStorage;
import io.gds4j.diagnosis.Advice;
import io.gds4j.diagnosis.Diagnosis;
import io.gds4j.diagnosis.Gpu;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.nvml.NvmlAvailability;
import io.gds4j.ffi.nvml.NvmlLibrary;
import io.gds4j.rdma.RdmaAvailability;
import io.gds4j.rdma.RdmaDevices;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ErrorReport;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Patience;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * One run of {@code gds check}.
 *
 * @param paths files, folders and block devices to examine
 * @param directStorage whether GPUDirect Storage may or must serve; empty if the configuration decides
 * @param printConfig whether to print only the default configuration file
 * @param verbose whether to print default values and details as well
 * @param required what the machine must have
 * @param bundle file to write for a report of a problem
 * @param output where the report goes
 */
public record CheckRun(
        List<Path> paths, Optional<DirectStorage> directStorage, boolean printConfig, boolean verbose,
        List<Requirement> required, Optional<Path> bundle, Output output) {
    /** Copies the lists. */
    public CheckRun {
        paths = List.copyOf(paths);
        required = List.copyOf(required);
    }

    /** Examines the machine and prints the report. */
    public ExitStatus run() {
        if (printConfig) {
            printConfig(output);
            return ExitStatus.DONE;
        }
        Optional<Bundle> writer = bundle.map(Bundle::new);
        Patience patience = new Patience();
        CheckReport report = patience.with(() -> examine(paths, directStorage, output.environment(), patience));
        List<ErrorReport> failures = new ArrayList<>();
        report.paths().stream().flatMap(path -> path.error().stream()).forEach(failures::add);
        if (failures.isEmpty() && (report.diagnosis().backend().isEmpty()
                || report.config().directStorage() == DirectStorage.REQUIRE)) {
            noDriver(report.config()).ifPresent(failures::add);
        }
        Optional<ErrorReport> failure = failures.stream().findFirst();
        List<String> lacking = required.stream().flatMap(what -> what.lacking(report).stream()).toList();
        CheckVerdict verdict = CheckVerdict.of(report, Stream.concat(
                failures.stream().map(ErrorReport::message), lacking.stream()).toList());
        output.print(object -> {
            object.put("verdict", CheckJson.verdict(verdict));
            object.putAll(CheckJson.of(report));
            failure.ifPresent(error -> object.put("error", error.toJson(output.schema()).get("error")));
        }, () -> CheckText.lines(verdict, report, verbose));
        writer.ifPresent(file -> file.write(report, verdict, output));
        failures.stream()
                .map(ErrorReport::message)
                .distinct()
                .forEach(output::warn);
        lacking.forEach(message -> output.warn("required: " + message));
        return failure.map(ErrorReport::status).orElse(lacking.isEmpty() ? ExitStatus.DONE : ExitStatus.IO_FAILURE);
    }

    /** Examines the machine and paths for a report of another command. */
    public static Machine machine(List<Path> paths, Map<String, String> environment) {
        CheckReport report = examine(paths, Optional.empty(), environment, new Patience());
        List<Advice> advice = new ArrayList<>(Doctor.examine(report));
        BusyProcessors.advice().ifPresent(advice::add);
        return new Machine(CheckText.topology(report), advice);
    }

    /** Returns why no driver opens, such as for lack of GPUDirect Storage that is required; empty if one does. */
    private static Optional<ErrorReport> noDriver(CuFileConfig config) {
        try {
            CuFileDriver.open(config).close();
            return Optional.empty();
        } catch (CuFileException e) {
            return Optional.of(ErrorReport.of(e));
        }
    }

    private static void printConfig(Output output) {
        if (output.json()) {
            output.print(object -> {
                object.put("config", CheckJson.config(CuFileConfig.defaults()));
                object.put("file", DefaultConfigFile.text());
            }, List::of);
        } else {
            output.terminal().out().print(DefaultConfigFile.text());
        }
    }

    private static CheckReport examine(
            List<Path> paths, Optional<DirectStorage> directStorage, Map<String, String> environment,
            Patience patience) {
        SystemFiles files = SystemFiles.ofMachine();
        CuFileConfig.Builder settings = CuFileConfig.load(environment).toBuilder();
        directStorage.ifPresent(settings::directStorage);
        CuFileConfig config = settings.build();
        CudaAvailability cuda = CudaDriver.detect();
        LibCuFile library = LibCuFile.find(files, environment);
        Diagnosis diagnosis = CuFileDriver.diagnose(config);
        List<CheckedPath> checked = examine(paths, config, patience);
        return new CheckReport(
                diagnosis.withPaths(checked.stream().map(CheckedPath::report).toList()),
                KernelModules.read(files),
                cuda,
                library,
                storage(files, diagnosis.gpus(), library, config, RdmaDevices.detect(), NvmlLibrary.detect(),
                        environment),
                checked);
    }

    static Storage storage(
            SystemFiles files, List<Gpu> gpus, LibCuFile library, CuFileConfig config, RdmaAvailability verbs,
            NvmlAvailability nvml, Map<String, String> environment) {
        NvidiaFs nvidiaFs = NvidiaFs.read(files);
        KernelFeatures kernel = KernelFeatures.read(files);
        Rdma rdma = Rdma.read(files, library, verbs);
        PciDevices pci = new PciDevices(files);
        Map<String, String> variables = new TreeMap<>(environment);
        variables.keySet().removeIf(name -> !name.startsWith("CUFILE_") && !name.startsWith("CUDA_"));
        return new Storage(
                nvidiaFs, kernel, rdma, StorageSupport.all(nvidiaFs, kernel, rdma, gpus, config), links(pci, gpus),
                pci.redirectingBridges(), gpus.stream().map(gpu -> GpuState.of(gpu, nvml)).toList(), variables);
    }

    private static List<PciLink> links(PciDevices pci, List<Gpu> gpus) {
        List<PciLink> links = new ArrayList<>();
        List<PciDevices.Endpoint> devices = new ArrayList<>(pci.drives());
        devices.addAll(pci.adapters());
        for (Gpu gpu : gpus) {
            for (PciDevices.Endpoint device : devices) {
                gpu.pciId().flatMap(id -> pci.distance(id, device.pciId())).ifPresent(
                        distance -> links.add(new PciLink(
                                gpu.index(), device.name(), device.pciId(), pci.numaNode(device.pciId()), distance)));
            }
        }
        return links;
    }

    private static List<CheckedPath> examine(List<Path> paths, CuFileConfig config, Patience patience) {
        if (paths.isEmpty()) {
            return List.of();
        }
        try {
            CuFileDriver driver = CuFileDriver.open(config);
            List<CheckedPath> checked = paths.stream().map(path -> answered(path, driver, patience)).toList();
            patience.close(driver::close);
            return checked;
        } catch (CuFileException e) {
            // No backend serves. The rest of the report says what is missing, so print it.
            ErrorReport failure = ErrorReport.of(e);
            return paths.stream().map(path -> new CheckedPath(PathReport.failed(path, e), Optional.of(failure)))
                    .toList();
        }
    }

    private static CheckedPath answered(Path path, CuFileDriver driver, Patience patience) {
        try {
            return patience.some(() -> examine(path, driver));
        } catch (CommandFailure e) {
            return failed(path, ErrorReport.of(e));
        }
    }

    private static CheckedPath failed(Path path, ErrorReport failure) {
        return new CheckedPath(
                PathReport.failed(path, CuFileException.invalid("check", failure.message())), Optional.of(failure));
    }

    private static CheckedPath examine(Path path, CuFileDriver driver) {
        try {
            path.toRealPath();
        } catch (IOException e) {
            return failed(path, ErrorReport.of(e));
        }
        PathReport report = driver.diagnose(path).paths().getFirst();
        return new CheckedPath(report, report.failure().map(failure -> ErrorReport.of(readable(path, failure))));
    }

    /** Replaces the code of a path that no driver serves by words. */
    private static Exception readable(Path path, CuFileException failure) {
        return failure.error() == CuFileError.INVALID_FILE_TYPE
                ? CommandFailure.badInput(path.toString(), path + ": " + failure.detail())
                : failure;
    }

    /** What {@code --require} can demand of a machine. */
    public enum Requirement {
        /** A GPU that this process can use. */
        GPU,
        /** libcufile. */
        LIBCUFILE,
        /** Some storage reaches a GPU through nvidia-fs. */
        NVFS,
        /** Some storage reaches a GPU through PCI peer-to-peer DMA. */
        P2PDMA,
        /** Every path argument supports direct I/O. */
        ODIRECT;

        /** Describes what is missing; empty if the machine meets the requirement. */
        Optional<String> lacking(CheckReport report) {
            return switch (this) {
                case GPU -> when(report.gpus().isEmpty(), "there is no GPU");
                case LIBCUFILE -> when(report.library().path().isEmpty(), "libcufile is not found");
                case NVFS, P2PDMA -> when(
                        report.storage().support().stream().noneMatch(
                                support -> support.ways().contains(name().toLowerCase(Locale.ROOT))),
                        "no storage reaches a GPU by " + name().toLowerCase(Locale.ROOT));
                case ODIRECT -> report.paths()
                        .stream()
                        .filter(path -> path.error().isEmpty() && path.report().alignment().isEmpty())
                        .findFirst()
                        .map(path -> path.report().path() + " has no direct I/O");
            };
        }

        private static Optional<String> when(boolean lacks, String sentence) {
            return lacks ? Optional.of(sentence) : Optional.empty();
        }
    }

    /**
     * What a report tells of the machine.
     *
     * @param topology lines about processors, GPUs, the bus and the file systems of paths
     * @param advice what would make it faster
     */
    public record Machine(List<String> topology, List<Advice> advice) {
        public Machine {
            topology = List.copyOf(topology);
            advice = List.copyOf(advice);
        }
    }
}
