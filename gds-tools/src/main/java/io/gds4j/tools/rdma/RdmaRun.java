package io.gds4j.tools.rdma;

import io.gds4j.CuFileDriver;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.rdma.Completion;
import io.gds4j.rdma.MemoryRegion;
import io.gds4j.rdma.ProtectionDomain;
import io.gds4j.rdma.QueuePair;
import io.gds4j.rdma.RdmaAccess;
import io.gds4j.rdma.RdmaAvailability;
import io.gds4j.rdma.RdmaDevices;
import io.gds4j.rdma.RegionSlice;
import io.gds4j.rdma.RemoteMemory;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Fields;
import io.gds4j.tools.terminal.Output;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Runs {@code gds rdma}: one end of a measurement. */
public final class RdmaRun {
    private static final Set<RdmaAccess> RIGHTS = EnumSet.of(
            RdmaAccess.LOCAL_WRITE, RdmaAccess.REMOTE_READ, RdmaAccess.REMOTE_WRITE, RdmaAccess.REMOTE_ATOMIC);
    private static final int DEPTH = 128;
    private static final int WARM_UP = 5;
    private static final int POLLED = 32;
    private static final int MAX_SAMPLES = 4_000_000;
    private static final long SILENCE_NANOS = 30_000_000_000L;
    private static final double NANOS = 1e9;
    private static final double MEBI = 1 << 20;

    private final Arguments arguments;
    private final Output output;
    private final List<QueuePair> queuePairs = new ArrayList<>();
    private final List<RemoteMemory> remotes = new ArrayList<>();

    private RdmaRun(Arguments arguments, Output output) {
        this.arguments = arguments;
        this.output = output;
    }

    /** Measures, or serves the other end, and prints the result. */
    public static ExitStatus run(Arguments arguments, Output output) throws IOException {
        return switch (RdmaDevices.detect()) {
            case RdmaAvailability.Unavailable none -> throw CommandFailure.device(
                    "RDMA", "%s (%s)".formatted(none.reason(), none.remedy()));
            case RdmaAvailability.Available rdma -> new RdmaRun(arguments, output).run(rdma);
        };
    }

    private ExitStatus run(RdmaAvailability.Available rdma) throws IOException {
        String name = arguments.device() == null ? rdma.devices().getFirst() : arguments.device();
        long bytes = 2L * arguments.queuePairs() * slot();
        try (CuFileDriver driver = CuFileDriver.open();
                ProtectionDomain domain = rdma.verbs().open(name);
                MemoryAllocation memory = arguments.memory().isCuda()
                        ? driver.allocator().allocate(arguments.memory(), bytes, arguments.gpu())
                        : driver.allocator().allocate(arguments.memory(), bytes)) {
            MemoryRange range = memory.range().slice(0, bytes);
            if (arguments.dmaBuf()) {
                try (DmaBuf exported = driver.allocator().exportDmaBuf(range);
                        MemoryRegion region = domain.register(exported, RIGHTS)) {
                    return connected(name, domain, region);
                }
            }
            try (MemoryRegion region = domain.register(range, RIGHTS)) {
                return connected(name, domain, region);
            }
        }
    }

    private ExitStatus connected(String device, ProtectionDomain domain, MemoryRegion region) throws IOException {
        try (PerftestExchange exchange = PerftestExchange.open(arguments.server(), arguments.port())) {
            connect(domain, region, exchange);
            List<Latencies> results = arguments.server() == null
                    ? serve(region, exchange)
                    : measureAll(region, exchange);
            output.print(object -> add(object, device, results), () -> lines(results));
            return ExitStatus.DONE;
        } finally {
            queuePairs.forEach(QueuePair::close);
        }
    }

    private void connect(ProtectionDomain domain, MemoryRegion region, PerftestExchange exchange) throws IOException {
        int mtu = exchange.begin(domain.port(arguments.devicePort()).mtu());
        int reads = Math.min(16, domain.device().maxReads());
        for (int i = 0; i < arguments.queuePairs(); i++) {
            queuePairs.add(domain.queuePair().port(arguments.devicePort(), arguments.gid()).depth(DEPTH, DEPTH).mtu(mtu)
                    .reads(reads).build());
        }
        List<PerftestExchange.End> ends = new ArrayList<>();
        for (int i = 0; i < queuePairs.size(); i++) {
            ends.add(exchange.ends(queuePairs.get(i).local(), target(region, i), reads));
        }
        for (int i = 0; i < queuePairs.size(); i++) {
            queuePairs.get(i).connect(ends.get(i).peer());
            remotes.add(ends.get(i).memory());
            if (arguments.server() == null && arguments.operation() == Arguments.Operation.SEND) {
                for (int k = 0; k < DEPTH; k++) {
                    queuePairs.get(i).receive(k, received(region, i));
                }
            }
        }
        for (int i = 0; i < queuePairs.size(); i++) {
            meet(region, exchange);
        }
        meet(region, exchange);
    }

    /** As in perftest: once for each queue pair that is connected, before and after the measurement, and at the end. */
    private void meet(MemoryRegion region, PerftestExchange exchange) throws IOException {
        exchange.ends(queuePairs.getFirst().local(), target(region, 0), 1);
    }

    /** Where the peer reads and writes. */
    private RemoteMemory target(MemoryRegion region, int queuePair) {
        return region.remote().slice((arguments.queuePairs() + queuePair) * slot(), slot());
    }

    private RegionSlice received(MemoryRegion region, int queuePair) {
        return region.slice((arguments.queuePairs() + queuePair) * slot(), (int) arguments.largest());
    }

    /** Bytes of memory that a queue pair has at each end. perftest gives small requests 4096. */
    private long slot() {
        return Math.max(arguments.largest(), PerftestExchange.CYCLE_BUFFER);
    }

    // ---- the end that listens

    private List<Latencies> serve(MemoryRegion region, PerftestExchange exchange) throws IOException {
        if (arguments.operation() == Arguments.Operation.SEND) {
            takeMessages(region, exchange);
        }
        exchange.waitWhileTheOtherEndMeasures();
        meet(region, exchange);
        if (exchangesResults()) {
            exchange.results(arguments.largest(), arguments.iterations(), 0, 0, 0);
        }
        meet(region, exchange);
        return List.of();
    }

    private void takeMessages(MemoryRegion region, PerftestExchange exchange) throws IOException {
        long last = System.nanoTime();
        while (!exchange.isReadable()) {
            for (int i = 0; i < queuePairs.size(); i++) {
                for (Completion completion : queuePairs.get(i).poll(POLLED)) {
                    completion.check();
                    queuePairs.get(i).receive(completion.id(), received(region, i));
                    last = System.nanoTime();
                }
            }
            checkSilence(last);
            Thread.onSpinWait();
        }
    }

    /** As in perftest: both ends of the others know the result, or it is one end's matter. */
    private boolean exchangesResults() {
        return !arguments.latency() && arguments.operation() != Arguments.Operation.SEND;
    }

    private static void checkSilence(long last) {
        if (System.nanoTime() - last > SILENCE_NANOS) {
            throw CommandFailure.device("RDMA", "the other end said nothing for 30 s");
        }
    }

    // ---- the end that measures

    private List<Latencies> measureAll(MemoryRegion region, PerftestExchange exchange) throws IOException {
        List<Latencies> results = new ArrayList<>();
        for (long size : arguments.sizes()) {
            if (arguments.operation() != Arguments.Operation.SEND) { // perftest posts as many receives as it measures
                measure(region, (int) size, WARM_UP, 0);
            }
            results.add(measure(region, (int) size, arguments.iterations(), arguments.seconds()));
        }
        meet(region, exchange);
        if (exchangesResults()) {
            Latencies last = results.getLast();
            exchange.results(
                    last.size(), last.requests(), last.peakBytesPerSecond() / MEBI, last.bytesPerSecond() / MEBI,
                    last.messagesPerSecond() / 1e6);
        }
        meet(region, exchange);
        return results;
    }

    private Latencies measure(MemoryRegion region, int size, int iterations, double seconds) {
        int count = queuePairs.size();
        int depth = arguments.latency() ? 1 : DEPTH;
        int most = (int) Math.min(MAX_SAMPLES, seconds > 0 ? MAX_SAMPLES : (long) iterations * count);
        long[] begun = new long[most];
        long[] ended = new long[most];
        int[] flying = new int[count];
        int posted = 0;
        int done = 0;
        long start = System.nanoTime();
        long last = start;
        long limit = seconds > 0 ? (long) (seconds * NANOS) : Long.MAX_VALUE;
        while (done < posted || posted < most && last - start < limit) {
            for (int i = 0; i < count; i++) {
                QueuePair queuePair = queuePairs.get(i);
                while (flying[i] < depth && posted < most && last - start < limit) {
                    begun[posted] = System.nanoTime();
                    post(queuePair, posted++, region, size, i);
                    flying[i]++;
                }
                for (Completion completion : queuePair.poll(POLLED)) {
                    completion.check();
                    last = System.nanoTime();
                    ended[(int) completion.id()] = last;
                    flying[i]--;
                    done++;
                }
            }
            checkSilence(last);
            Thread.onSpinWait();
        }
        return result(size, done, begun, ended, Math.min(depth * count, done));
    }

    private void post(QueuePair queuePair, long id, MemoryRegion region, int size, int index) {
        RegionSlice own = region.slice(index * slot(), size);
        switch (arguments.operation()) {
            case WRITE -> queuePair.write(id, own, remotes.get(index).slice(0, size));
            case READ -> queuePair.read(id, own, remotes.get(index).slice(0, size));
            case SEND -> queuePair.send(id, own);
            case ATOMIC -> queuePair.fetchAdd(id, own, remotes.get(index).slice(0, size), 1);
        }
    }

    private static Latencies result(long size, int done, long[] begun, long[] ended, int window) {
        long first = begun[0];
        long[] ends = Arrays.copyOf(ended, done);
        long[] times = new long[done];
        for (int i = 0; i < done; i++) {
            times[i] = ended[i] - begun[i];
        }
        Arrays.sort(times);
        Arrays.sort(ends);
        double peak = 0;
        for (int i = 0; i + window <= done; i += Math.max(1, window / 2)) {
            long nanos = ends[i + window - 1] - (i == 0 ? first : ends[i - 1]);
            peak = Math.max(peak, window * size * NANOS / Math.max(1, nanos));
        }
        return new Latencies(size, done, (ends[done - 1] - first) / NANOS, peak, times);
    }

    // ---- results

    private void add(Map<String, @Nullable Object> object, String device, List<Latencies> results) {
        object.put("test", arguments.latency() ? "lat" : "bw");
        object.put("operation", arguments.operation().name().toLowerCase(Locale.ROOT));
        object.put("role", arguments.server() == null ? "server" : "client");
        object.put("device", device);
        object.put("devicePort", arguments.devicePort());
        object.put("gidIndex", arguments.gid());
        object.put("queuePairs", arguments.queuePairs());
        object.put("depth", arguments.latency() ? 1 : DEPTH);
        object.put("memory", arguments.memory().name());
        object.put("results", results.stream().map(RdmaRun::fields).toList());
    }

    private static Map<String, @Nullable Object> fields(Latencies result) {
        return Fields.of("size", result.size())
                .and("iterations", result.requests())
                .and("seconds", result.seconds())
                .and("bytesPerSecond", Math.round(result.bytesPerSecond()))
                .and("peakBytesPerSecond", Math.round(result.peakBytesPerSecond()))
                .and("messagesPerSecond", result.messagesPerSecond())
                .and("latencyMicros", Fields.of("min", result.percentile(0))
                        .and("p50", result.percentile(0.5))
                        .and("avg", result.average())
                        .and("p99", result.percentile(0.99))
                        .and("p999", result.percentile(0.999))
                        .and("max", result.percentile(1)).map())
                .map();
    }

    /** The columns of perftest, whose MB are 2^20 bytes. */
    private List<String> lines(List<Latencies> results) {
        if (results.isEmpty()) {
            return List.of("served; the other end has the result");
        }
        List<String> lines = new ArrayList<>();
        lines.add(arguments.latency()
                ? " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
                        + "   99% percentile[usec]   99.9% percentile[usec]"
                : " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]");
        for (Latencies result : results) {
            lines.add(arguments.latency()
                    ? String.format(
                            Locale.ROOT, " %-7d %-10d %-14.2f %-14.2f %-16.2f %-14.2f %-15.2f %-22.2f %-22.2f",
                            result.size(), result.requests(), result.percentile(0), result.percentile(1),
                            result.percentile(0.5), result.average(), result.deviation(), result.percentile(0.99),
                            result.percentile(0.999))
                    : String.format(
                            Locale.ROOT, " %-11d %-14d %-18.2f %-20.2f %-10.6f", result.size(), result.requests(),
                            result.peakBytesPerSecond() / MEBI, result.bytesPerSecond() / MEBI,
                            result.messagesPerSecond() / 1e6));
        }
        return lines;
    }

    /**
     * What {@code gds rdma} measures.
     *
     * @param latency one request at a time; otherwise as many as the queue holds
     * @param operation what a request does
     * @param server the other end, which listens; null to be the end that listens
     * @param port TCP port of the exchange
     * @param sizes bytes of a request, smallest first
     * @param iterations requests of each size and queue pair
     * @param seconds measure so long instead; 0 for iterations
     * @param queuePairs number of queue pairs
     * @param gid index of the port's address
     * @param device name of the RDMA device; null for the first
     * @param devicePort port of the device
     * @param memory kind of the memory
     * @param gpu its GPU
     * @param dmaBuf register GPU memory as a dma-buf
     */
    public record Arguments(
            boolean latency, Operation operation, @Nullable String server, int port, List<Long> sizes, int iterations,
            double seconds, int queuePairs, int gid, @Nullable String device, int devicePort, MemoryKind memory,
            int gpu,
            boolean dmaBuf) {
        /** What a request does. */
        public enum Operation {
            /** Writes to the peer's memory. */
            WRITE,
            /** Reads the peer's memory. */
            READ,
            /** Sends to a receive of the peer. */
            SEND,
            /** Adds to 8 bytes of the peer. */
            ATOMIC
        }

        /** Checks nothing: the command does. */
        public Arguments {
            sizes = List.copyOf(sizes);
        }

        /** Largest request. */
        long largest() {
            return sizes.getLast();
        }
    }

    /**
     * What was measured with requests of one size.
     *
     * @param size bytes of a request
     * @param requests number of requests
     * @param seconds from the first post to the last completion
     * @param peakBytesPerSecond of the fastest run of as many requests as the queues hold
     * @param nanos sorted times from post to completion
     */
    private record Latencies(long size, long requests, double seconds, double peakBytesPerSecond, long[] nanos) {

        private static final double NANOS_PER_MICRO = 1000;

        double bytesPerSecond() {
            return size * messagesPerSecond();
        }

        double messagesPerSecond() {
            return seconds > 0 ? requests / seconds : 0;
        }

        /** Microseconds that a part of the requests did not exceed. */
        double percentile(double part) {
            int index = (int) Math.ceil(part * nanos.length) - 1;
            return nanos[Math.clamp(index, 0, nanos.length - 1)] / NANOS_PER_MICRO;
        }

        double average() {
            return Arrays.stream(nanos).average().orElse(0) / NANOS_PER_MICRO;
        }

        double deviation() {
            double mean = average();
            return Math.sqrt(Arrays.stream(nanos).mapToDouble(n -> n / NANOS_PER_MICRO - mean).map(d -> d * d).average()
                    .orElse(0));
        }
    }
}
