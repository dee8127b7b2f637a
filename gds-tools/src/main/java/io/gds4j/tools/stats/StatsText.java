package io.gds4j.tools.stats;

import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.OperationCount;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.tools.terminal.Text;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Formats statistics in the layout of gds_stats. */
final class StatsText {
    private static final double MIB = 1 << 20;
    private static final double GIB = 1 << 30;
    private static final int PER_LINE = 4;

    private StatsText() {
    }

    static List<String> lines(SessionStatistics session) {
        List<String> lines = new ArrayList<>();
        lines.add("SESSION %s (%s), statistics level %s"
                .formatted(Text.name(session.number()), Text.name(session.backend()), session.level()));
        lines.add("GLOBAL STATS:");
        global(session.level1(), lines);
        session.level2().ifPresent(level2 -> {
            histogram("READ-SIZE HISTOGRAM :", level2.readSizeKbHistogram(), lines);
            histogram("WRITE-SIZE HISTOGRAM :", level2.writeSizeKbHistogram(), lines);
        });
        session.level3().ifPresent(level3 -> {
            lines.add(level3.gpus().isEmpty() ? "PER_GPU STATS: none" : "PER_GPU STATS:");
            for (int gpu = 0; gpu < level3.gpus().size(); gpu++) {
                gpu(gpu, level3.gpus().get(gpu), lines);
            }
        });
        lines.add("GDS4J STATS:");
        session.bytesByPath().forEach((path, bytes) -> lines.add("%s: %s MiB".formatted(Text.name(path), mib(bytes))));
        lines.add("Bounce buffers: in use(MiB)=%s peak(MiB)=%s"
                .formatted(mib(session.bouncePoolBytes()), mib(session.bouncePoolPeakBytes())));
        lines.add("Requests: in flight=%s retries=%s".formatted(session.queueDepth(), session.retries()));
        lines.add("io_uring: " + Text.name(session.ioUring()));
        return lines;
    }

    private static void global(StatisticsLevel1 counted, List<String> lines) {
        lines.add("Total Read Size (MiB): " + mib(counted.readBytes()));
        lines.add("Read BandWidth (GiB/s): " + gib(counted.readBytesPerSecond()));
        lines.add("Avg Read Latency (us): " + counted.readLatencyAverageMicros());
        lines.add("Total Write Size (MiB): " + mib(counted.writeBytes()));
        lines.add("Write BandWidth (GiB/s): " + gib(counted.writeBytesPerSecond()));
        lines.add("Avg Write Latency (us): " + counted.writeLatencyAverageMicros());
        lines.add("Total Batch Read Size (MiB): " + mib(counted.batchReadBytes()));
        lines.add("Total Batch Write Size (MiB): " + mib(counted.batchWriteBytes()));
        lines.add("Avg Batch Submit Latency (us): " + counted.batchSubmitLatencyAverageMicros());
        lines.add("Avg Batch Completion Latency (us): " + counted.batchCompletionLatencyAverageMicros());
        calls("Read", counted.readOps(), lines);
        calls("Write", counted.writeOps(), lines);
        calls("HandleRegister", counted.handleRegisterOps(), lines);
        calls("HandleDeregister", counted.handleDeregisterOps(), lines);
        calls("BufRegister", counted.bufferRegisterOps(), lines);
        calls("BufDeregister", counted.bufferDeregisterOps(), lines);
        calls("BatchSubmit", counted.batchSubmitOps(), lines);
        calls("BatchComplete", counted.batchCompleteOps(), lines);
        calls("BatchSetup", counted.batchSetUpOps(), lines);
        calls("BatchCancel", counted.batchCancelOps(), lines);
        calls("BatchDestroy", counted.batchDestroyOps(), lines);
        calls("BatchEnqueued", counted.batchEnqueuedOps(), lines);
        calls("BatchProcessed", counted.batchProcessedOps(), lines);
    }

    private static void calls(String name, OperationCount count, List<String> lines) {
        lines.add("%s: ok = %s err = %s".formatted(name, count.ok(), count.err()));
    }

    private static void histogram(String title, List<Long> counts, List<String> lines) {
        lines.add(counts.stream().allMatch(count -> count == 0) ? title + " none" : title);
        StringBuilder line = new StringBuilder();
        int shown = 0;
        long from = 0;
        for (int i = 0; i < counts.size(); i++) {
            long to = 4L << i;
            if (counts.get(i) > 0) {
                line.append(i == counts.size() - 1
                        ? "%s+(KiB) %s  ".formatted(from, counts.get(i))
                        : "%s-%s(KiB) %s  ".formatted(from, to, counts.get(i)));
                shown++;
            }
            if (shown == PER_LINE || i == counts.size() - 1 && shown > 0) {
                lines.add("  " + line.toString().strip());
                line.setLength(0);
                shown = 0;
            }
            from = to;
        }
    }

    private static void gpu(int number, GpuStatistics gpu, List<String> lines) {
        lines.add("GPU %s(UUID: %s) Read: bw=%s util(%%)=%s n=%s p2p=%s nvfs=%s posix=%s unalign=%s dr=%s r_sparse=%s"
                .formatted(
                        number,
                        Text.name(gpu.uuid()),
                        gib(gpu.readBytesPerSecond()),
                        gpu.readUtilization(),
                        gpu.totalReads(),
                        gpu.p2pReads(),
                        gpu.nvfsReads(),
                        gpu.posixReads(),
                        gpu.unalignedReads(),
                        gpu.dynamicRoutingReads(),
                        gpu.sparseRegions())
                + " r_inline=%s err=%s MiB=%s".formatted(gpu.inlineRegions(), gpu.readErrors(), mib(gpu.readBytes())));
        lines.add("  Write: bw=%s util(%%)=%s n=%s p2p=%s nvfs=%s posix=%s unalign=%s dr=%s err=%s MiB=%s"
                .formatted(
                        gib(gpu.writeBytesPerSecond()),
                        gpu.writeUtilization(),
                        gpu.totalWrites(),
                        gpu.p2pWrites(),
                        gpu.nvfsWrites(),
                        gpu.posixWrites(),
                        gpu.unalignedWrites(),
                        gpu.dynamicRoutingWrites(),
                        gpu.writeErrors(),
                        mib(gpu.writeBytes())));
        lines.add("  BufRegister: n=%s err=%s free=%s MiB=%s"
                .formatted(
                        gpu.bufferRegistrations(),
                        gpu.bufferRegistrationErrors(),
                        gpu.bufferDeregistrations(),
                        mib(gpu.registeredBytes())));
    }

    private static String mib(long bytes) {
        return String.format(Locale.ROOT, "%.1f", bytes / MIB);
    }

    private static String gib(long bytes) {
        return String.format(Locale.ROOT, "%.3f", bytes / GIB);
    }
}
