package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cuda.CudaProgram;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.cuda.FakeProgram;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.random.Campaign;
import io.gds4j.testkit.random.RandomWork;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.ServiceLoader;

/**
 * A campaign in a process of its own, for {@code dev/campaign.sh}: {@code host|fake|gpu SECONDS HANG-SECONDS PLATFORM VIRTUAL KINDS
 * DIRECTORY...}. Work of other modules comes from the class path. Ends with status 5 after a failure, although threads may be stuck.
 */
final class CampaignRun {
    private static final long FAKE_BYTES = 2L << 30;
    private static final List<MemoryKind> ON_HOST = List.of(
            MemoryKind.HOST, MemoryKind.HOST, MemoryKind.HOST_HUGEPAGE);
    private static final List<MemoryKind> ON_GPU = List.of(
            MemoryKind.CUDA_DEVICE, MemoryKind.CUDA_DEVICE, MemoryKind.CUDA_DEVICE, MemoryKind.CUDA_MANAGED,
            MemoryKind.CUDA_POOL, MemoryKind.CUDA_VMM, MemoryKind.HOST_PINNED, MemoryKind.HOST_REGISTERED,
            MemoryKind.HOST);

    private CampaignRun() {
    }

    static void main(String[] arguments) throws Exception {
        String mode = arguments[0];
        int seconds = Integer.parseInt(arguments[1]);
        List<Path> folders = new ArrayList<>();
        for (String parent : Arrays.asList(arguments).subList(6, arguments.length)) {
            folders.add(Files.createTempDirectory(Path.of(parent), "gds4j-campaign"));
        }
        List<MemoryKind> kinds = arguments[5].equals("all")
                ? mode.equals("host") ? ON_HOST : ON_GPU
                : Arrays.stream(arguments[5].split(",")).map(MemoryKind::valueOf).toList();
        int status = 0;
        try {
            Campaign campaign = campaign(mode, folders, kinds)
                    .threads(Integer.parseInt(arguments[3]), Integer.parseInt(arguments[4]))
                    .hangAfter(Integer.parseInt(arguments[2]))
                    .scenarios()
                    .with(ServiceLoader.load(RandomWork.class).stream().map(ServiceLoader.Provider::get).toList())
                    .longRequests();
            Campaign.Outcome outcome = campaign.run(Duration.ofSeconds(seconds));
            System.out.printf("OK mode=%s seed=%s rounds=%s operations=%s bytes=%s%n", mode, outcome.seed(),
                    outcome.rounds(), outcome.operations(), outcome.bytes());
        } catch (Throwable e) {
            e.printStackTrace(System.out);
            System.out.println(
                    "FAILED mode=" + mode + " " + String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
            status = 5;
        }
        folders.forEach(Mount::deleteTree);
        System.out.flush();
        Runtime.getRuntime().halt(status);
    }

    private static Campaign campaign(String mode, List<Path> folders, List<MemoryKind> kinds) {
        return switch (mode) {
            case "host" -> new Campaign(
                    "host memory",
                    config -> new CompatBackend(
                            config, FfmPosix.instance(), new CudaAvailability.Unavailable("not used", "none")),
                    folders, kinds);
            case "fake" -> {
                FakeCuda cuda = new FakeCuda(1, FAKE_BYTES);
                CudaAvailability.Available available = cuda.available();
                yield new Campaign("a fake GPU", config -> backend(config, available), folders, kinds)
                        .gpu(new FakeProgram(cuda, available));
            }
            default -> {
                CudaAvailability.Available available = (CudaAvailability.Available) CudaDriver.detect();
                yield new Campaign("a GPU", config -> backend(config, available), folders, kinds)
                        .gpu(new CudaProgram(available.contexts()));
            }
        };
    }

    private static CompatBackend backend(CuFileConfig config, CudaAvailability available) {
        return new CompatBackend(config, FfmPosix.instance(), available);
    }
}
