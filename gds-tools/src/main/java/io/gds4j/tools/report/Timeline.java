package io.gds4j.tools.report;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** What threads and copies did over time, for each file and GPU. Filled by one thread. */
final class Timeline {
    /** What takes time. */
    enum Kind {
        READ("read"),
        WRITE("written"),
        COPY("copied"),
        WAIT("waited");

        private final String word;

        Kind(String word) {
            this.word = word;
        }

        /** Returns what was done, in one word. */
        String word() {
            return word;
        }
    }

    /** Number of equal parts of the time. */
    static final int BINS = 240;
    private static final int MAX_FILES = 40;
    private static final long NANOS = 1_000_000_000;
    private static final long MAX_NANOS = 3600 * NANOS;

    /** A file or a GPU. */
    static final class Lane {
        private final String name;
        private final Map<Kind, double[]> busy = new EnumMap<>(Kind.class);
        private long bytes;
        private long first = Long.MAX_VALUE;
        private long last;

        private Lane(String name) {
            this.name = name;
        }

        String name() {
            return name;
        }

        long bytes() {
            return bytes;
        }

        /** Returns the bytes a second from its first to its last event. */
        double bytesPerSecond() {
            return last > first ? bytes * (double) NANOS / (last - first) : 0;
        }

        /** Returns how many threads or copies were at work on average in each part of the time; by kind. */
        Map<Kind, double[]> busy() {
            return busy;
        }

        private void merge(Lane other) {
            other.busy.forEach((kind, values) -> {
                double[] sum = busy.computeIfAbsent(kind, ignored -> new double[BINS]);
                for (int i = 0; i < BINS; i++) {
                    sum[i] += values[i];
                }
            });
            bytes += other.bytes;
            first = Math.min(first, other.first);
            last = Math.max(last, other.last);
        }
    }

    private final long begin;
    private final long end;
    private final Map<String, Lane> files = new LinkedHashMap<>();
    private final Map<String, Lane> gpus = new LinkedHashMap<>();
    private final Map<Kind, Histogram> spread = new EnumMap<>(Kind.class);
    private final Map<Kind, Double> seconds = new EnumMap<>(Kind.class);

    /**
     * Creates an empty time line.
     *
     * @param begin first nanosecond, of any clock
     * @param end last nanosecond
     */
    Timeline(long begin, long end) {
        this.begin = begin;
        this.end = Math.max(end, begin + 1);
    }

    void file(String name, Kind kind, long from, long to, long bytes) {
        add(files.computeIfAbsent(name, Lane::new), kind, from, to, bytes);
    }

    void gpu(String name, Kind kind, long from, long to, long bytes) {
        add(gpus.computeIfAbsent(name, Lane::new), kind, from, to, bytes);
    }

    private void add(Lane lane, Kind kind, long from, long to, long bytes) {
        lane.bytes += bytes;
        lane.first = Math.min(lane.first, from);
        lane.last = Math.max(lane.last, to);
        seconds.merge(kind, (to - from) / (double) NANOS, Double::sum);
        spread.computeIfAbsent(kind, ignored -> new Histogram(MAX_NANOS, 2))
                .recordValue(Math.clamp(to - from, 0, MAX_NANOS));
        double[] busy = lane.busy.computeIfAbsent(kind, ignored -> new double[BINS]);
        double width = (end - begin) / (double) BINS;
        double left = (Math.max(from, begin) - begin) / width;
        double right = (Math.min(to, end) - begin) / width;
        for (int bin = (int) left; bin < BINS && bin < right; bin++) {
            busy[bin] += Math.max(0, Math.min(right, bin + 1.0) - Math.max(left, bin));
        }
    }

    boolean isEmpty() {
        return files.isEmpty() && gpus.isEmpty();
    }

    double seconds() {
        return (end - begin) / (double) NANOS;
    }

    /** Returns the seconds that all threads or copies together spent on a kind. */
    double seconds(Kind kind) {
        return seconds.getOrDefault(kind, 0.0);
    }

    /** Returns the durations of each kind, nanoseconds. */
    Map<Kind, Histogram> spread() {
        return spread;
    }

    /** Returns the files, those with most bytes first; the smallest ones of many together. */
    List<Lane> files() {
        List<Lane> sorted = new ArrayList<>(files.values());
        sorted.sort(Comparator.comparingLong(Lane::bytes).reversed());
        if (sorted.size() <= MAX_FILES) {
            return sorted;
        }
        List<Lane> rest = sorted.subList(MAX_FILES - 1, sorted.size());
        Lane others = new Lane("%s smaller files".formatted(rest.size()));
        rest.forEach(others::merge);
        List<Lane> shown = new ArrayList<>(sorted.subList(0, MAX_FILES - 1));
        shown.add(others);
        return shown;
    }

    Collection<Lane> gpus() {
        return gpus.values();
    }
}
