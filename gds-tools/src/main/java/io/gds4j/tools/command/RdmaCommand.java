package io.gds4j.tools.command;

import io.gds4j.memory.MemoryKind;
import io.gds4j.tools.rdma.RdmaRun;
import io.gds4j.tools.rdma.RdmaRun.Arguments;
import io.gds4j.tools.rdma.RdmaRun.Arguments.Operation;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Options and help of {@code gds rdma}. */
@Command(
        name = "rdma",
        description = "Measure RDMA between two machines, with perftest's options.",
        sortOptions = false,
        footer = {
                "  gds rdma bw -x 3                      wait for the other end",
                "  gds rdma bw -x 3 node1 --read -a      measure reads of all sizes from it",
                "  gds rdma lat -x 3 node1 --atomic      latency of atomic operations",
                "",
                "Both ends need the same operation, sizes and -q. A latency is the time from a",
                "request's post to its completion. The exchange over TCP has no security. 1 MB",
                "is 2^20 bytes here, as in perftest."})
final class RdmaCommand implements Callable<Integer> {
    private static final int MAX_EXPONENT = 23;
    private static final long MAX_BYTES = 1L << 30;
    private static final int MAX_ITERATIONS = 100_000_000;
    private static final int MAX_QUEUE_PAIRS = 1024;
    private static final int ATOMIC_BYTES = 8;
    private static final int BANDWIDTH_SIZE = 65_536;
    private static final int BANDWIDTH_ITERATIONS = 5000;
    private static final int LATENCY_ITERATIONS = 1000;
    private static final Pattern MEMORY = Pattern.compile("host|hugepage|gpu:(?<gpu>[0-9]{1,3})(?<dmabuf>,dmabuf)?");

    private final Terminal terminal;

    @Parameters(index = "0", paramLabel = "bw|lat", description = "Measure bandwidth, or latency.")
    private String test = "";

    @Parameters(index = "1", arity = "0..1", paramLabel = "HOST",
            description = "Where the other end listens. Without it, listen.")
    private @Nullable String host;

    @Option(names = "--write", description = "Write to the other end's memory. The default.")
    private boolean write;

    @Option(names = "--read", description = "Read the other end's memory.")
    private boolean read;

    @Option(names = "--send", description = "Send messages to the other end.")
    private boolean send;

    @Option(names = "--atomic", description = "Add to 8 bytes of the other end.")
    private boolean atomic;

    @Option(names = "-s", paramLabel = "BYTES", converter = Converters.Size.class,
            description = "Bytes of a request. Default: 64K for bw, 2 for lat.")
    private @Nullable Long size;

    @Option(names = "-a", description = "All powers of two from 2 bytes to 8 MiB.")
    private boolean all;

    @Option(names = "-n", paramLabel = "N",
            description = "Requests of each queue pair. Default: 5000 for bw, 1000 for lat.")
    private @Nullable Integer iterations;

    @Option(names = "-D", paramLabel = "SECONDS", description = "Measure each size so long instead.")
    private @Nullable Double seconds;

    @Option(names = "-q", paramLabel = "N", defaultValue = "1", description = "Queue pairs. Default: 1.")
    private int queuePairs = 1;

    @Option(names = "-x", paramLabel = "INDEX", defaultValue = "0",
            description = "GID of the port; RoCE needs one of the right network. Default: 0.")
    private int gid;

    @Option(names = "-d", paramLabel = "DEVICE", description = "RDMA device. Default: the first.")
    private @Nullable String device;

    @Option(names = "-i", paramLabel = "PORT", defaultValue = "1", description = "Port of the device. Default: 1.")
    private int devicePort = 1;

    @Option(names = "-p", paramLabel = "PORT", defaultValue = "18515", description = "TCP port. Default: 18515.")
    private int port = 1;

    @Option(names = "--memory", paramLabel = "KIND", defaultValue = "host",
            description = "host, hugepage, gpu:N (needs nvidia-peermem) or gpu:N,dmabuf. Default: host.")
    private String memory = "host";

    // Those of OutputOptions, without its -q: here that is perftest's number of queue pairs.
    @Option(names = "--json", description = "Print one JSON object on standard output, also on failure.")
    private boolean json;

    @Option(names = "--quiet", description = "Print only errors (and the JSON object).")
    private boolean quiet;

    @Option(names = {"-h", "--help"}, usageHelp = true, description = "Print this help and exit.")
    private boolean help;

    RdmaCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws IOException {
        CommandFailure.usageIf(!test.equals("bw") && !test.equals("lat"), "'%s' is no test, allowed: bw, lat", test);
        boolean latency = test.equals("lat");
        Operation operation = operation();
        check("-q", queuePairs, 1, MAX_QUEUE_PAIRS);
        check("-x", gid, 0, 255);
        check("-i", devicePort, 1, 255);
        check("-p", port, 1, 65_535);
        check("-n", iterations == null ? 5 : iterations, 5, MAX_ITERATIONS);
        check("-s", size == null ? 1 : size, 1, MAX_BYTES);
        CommandFailure.usageIf(seconds != null && !(seconds > 0 && seconds <= 86_400),
                "-D is %s, allowed: up to 86400 seconds", seconds);
        Matcher kind = MEMORY.matcher(memory);
        if (!kind.matches()) {
            throw CommandFailure
                    .usage("--memory is '%s', allowed: host, hugepage, gpu:N, gpu:N,dmabuf".formatted(memory));
        }
        int count = iterations != null ? iterations : latency ? LATENCY_ITERATIONS : BANDWIDTH_ITERATIONS;
        Arguments arguments = new Arguments(
                latency, operation, host, port, sizes(latency, operation), count, seconds == null ? 0 : seconds,
                queuePairs, gid, device, devicePort,
                kind.group("gpu") != null ? MemoryKind.CUDA_DEVICE
                        : memory.equals("hugepage") ? MemoryKind.HOST_HUGEPAGE : MemoryKind.HOST,
                kind.group("gpu") == null ? 0 : Integer.parseInt(kind.group("gpu")), kind.group("dmabuf") != null);
        Output output = new Output(terminal, Output.schema("rdma"), json, quiet, false);
        return RdmaRun.run(arguments, output).code();
    }

    private Operation operation() {
        List<Operation> chosen = new ArrayList<>();
        if (write) {
            chosen.add(Operation.WRITE);
        }
        if (read) {
            chosen.add(Operation.READ);
        }
        if (send) {
            chosen.add(Operation.SEND);
        }
        if (atomic) {
            chosen.add(Operation.ATOMIC);
        }
        CommandFailure.usageIf(chosen.size() > 1, "one of --write, --read, --send and --atomic is allowed");
        return chosen.isEmpty() ? Operation.WRITE : chosen.getFirst();
    }

    private List<Long> sizes(boolean latency, Operation operation) {
        if (operation == Operation.ATOMIC) {
            CommandFailure.usageIf(all || size != null && size != ATOMIC_BYTES,
                    "--atomic has 8 bytes: -a and another -s are not allowed");
            return List.of((long) ATOMIC_BYTES);
        }
        if (all) {
            CommandFailure.usageIf(size != null, "-a and -s exclude each other");
            return LongStream.rangeClosed(1, MAX_EXPONENT).map(exponent -> 1L << exponent).boxed().toList();
        }
        return List.of(size != null ? size : latency ? 2 : BANDWIDTH_SIZE);
    }

    private static void check(String option, long value, long least, long most) {
        CommandFailure.usageIf(value < least || value > most,
                "%s is %s, allowed: %s to %s", option, value, least, most);
    }
}
