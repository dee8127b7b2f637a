package io.gds4j.tools.power;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * Replays a log of writes, cuts it off at each entry, and checks after each cut that the promises hold. Beside the cut that keeps
 * all writes, others keep or lose each write since the last flush by a coin, and tear some of them.
 */
final class PowerCuts {
    private static final double KEPT = 0.5;
    private static final double TORN = 0.25;
    private static final int CHECKS_BETWEEN_ALL = 16;
    private static final int CUTS_BETWEEN_LINES = 500;
    private static final int MAX_FAILURES = 20;

    private final WriteLog log;
    private final LoopDisk disk;
    private final List<Operation> operations;
    private final Recording recording;
    private final long seed;
    private final Map<String, Integer> cuts = new TreeMap<>();
    private final List<String> failures = new ArrayList<>();
    private int done;

    private PowerCuts(WriteLog log, LoopDisk disk, List<Operation> operations, Recording recording, long seed) {
        this.log = log;
        this.disk = disk;
        this.operations = operations;
        this.recording = recording;
        this.seed = seed;
    }

    /**
     * The result of a log.
     *
     * @param cuts number of cuts, by the operation that was running
     * @param failures what was broken, one line each
     */
    record Result(Map<String, Integer> cuts, List<String> failures) {
        int sum() {
            return cuts.values().stream().mapToInt(Integer::intValue).sum();
        }
    }

    static Result run(Path file, Recording recording, List<Operation> operations, int wanted, long seed)
            throws IOException {
        WriteLog log = WriteLog.read(file);
        try (LoopDisk disk = new LoopDisk(Recording.MEGABYTES << 20)) {
            PowerCuts cuts = new PowerCuts(log, disk, operations, recording, seed);
            cuts.run(wanted);
            return new Result(cuts.cuts, cuts.failures);
        }
    }

    /** Cuts before each entry after the mark of the mounted file system, and at the end. */
    private void run(int wanted) throws IOException {
        List<WriteLog.Entry> entries = log.entries();
        int first = 1;
        while (!entries.get(first - 1).mark().equals(Recording.MOUNTED)) {
            first++;
        }
        int coins = coins(first, wanted);
        Progress progress = new Progress();
        int flushed = 0;
        for (int n = 0; n <= entries.size() && failures.size() < (recording.isControl() ? 1 : MAX_FAILURES); n++) {
            if (n > 0) {
                WriteLog.Entry last = entries.get(n - 1);
                progress.note(last.mark());
                for (int end = flushedBy(n, flushed); flushed < end; flushed++) {
                    disk.add(entries.get(flushed));
                }
            }
            if (n < first) {
                continue;
            }
            List<WriteLog.Entry> pending = entries.subList(flushed, n);
            for (int coin = 0; coin <= (canLose(pending) ? coins : 0); coin++) {
                cut(n, coin, pending, progress);
            }
        }
    }

    /** Returns how many of the first {@code n} entries the last of them makes durable: before, {@code flushed} were. */
    private int flushedBy(int n, int flushed) {
        WriteLog.Entry last = log.entries().get(n - 1);
        if (!last.flushes()) {
            return flushed;
        }
        // a flush secures the writes before it, its own data only if that is durable
        return last.isDurable() || last.length() == 0 ? n : n - 1;
    }

    private static boolean canLose(List<WriteLog.Entry> pending) {
        return pending.stream().anyMatch(entry -> !entry.isDurable() && entry.length() > 0);
    }

    /** Returns how many coins each cut takes that may lose writes. */
    private int coins(int first, int wanted) {
        int flushed = 0;
        int losing = 0;
        for (int n = 1; n <= log.entries().size(); n++) {
            flushed = flushedBy(n, flushed);
            losing += n >= first && canLose(log.entries().subList(flushed, n)) ? 1 : 0;
        }
        return Math.max(0, Math.ceilDiv(wanted - (log.entries().size() - first + 1), Math.max(1, losing)));
    }

    /** @param coin 0 to keep all writes */
    private void cut(int n, int coin, List<WriteLog.Entry> pending, Progress progress) throws IOException {
        Random random = new Random(seed + (long) n << 20 | coin);
        disk.reset();
        for (WriteLog.Entry write : pending) {
            if (coin == 0 || write.isDurable()) {
                disk.write(write, write.length());
            } else if (random.nextDouble() < KEPT) {
                long unit = recording.atomicBytes(write, log.unit());
                boolean torn = write.length() > unit && random.nextDouble() < TORN;
                disk.write(write, torn ? random.nextLong(write.length() / unit) * unit : write.length());
            }
        }
        cuts.merge(progress.current(), 1, Integer::sum);
        boolean all = done++ % CHECKS_BETWEEN_ALL == 0;
        if (done % CUTS_BETWEEN_LINES == 0) {
            System.out.printf("%s: %s cuts, %s broken%n", recording, done, failures.size());
        }
        String failure = disk.check(recording, () -> progress.check(operations, disk.point(), all));
        if (!failure.isEmpty()) {
            String line = "%s, cut %s, coin %s, in %s: %s".formatted(recording, n, coin, progress, failure);
            System.out.println(line);
            failures.add(line);
        }
    }
}
