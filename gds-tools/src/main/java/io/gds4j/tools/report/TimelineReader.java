package io.gds4j.tools.report;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.jspecify.annotations.Nullable;

/** Reads a time line from a recording, event by event: a recording may hold millions. */
final class TimelineReader {
    private static final String READ = "gds4j.PieceRead";
    private static final String COPY = "gds4j.PieceCopy";
    private static final String WAIT = "gds4j.PieceWait";
    /** Requests of the program, for files of which no pieces are known: libcufile and io_uring cut requests themselves. */
    private static final Set<String> REQUESTS = Set.of("gds4j.Read", "gds4j.Write", "gds4j.Batch");

    private final Path recording;
    private final Set<String> filesWithPieces = new HashSet<>();

    /** First and last nanosecond of pieces, and of the requests of each file. */
    private final Range pieces = new Range();
    private final Map<String, Range> requests = new HashMap<>();

    private static final class Range {
        private long begin = Long.MAX_VALUE;
        private long end = Long.MIN_VALUE;

        void add(long from, long to) {
            begin = Math.min(begin, from);
            end = Math.max(end, to);
        }
    }

    private TimelineReader(Path recording) {
        this.recording = recording;
    }

    static Timeline read(Path recording) throws IOException {
        return new TimelineReader(recording).read();
    }

    private Timeline read() throws IOException {
        each(event -> {
            String type = event.getEventType().getName();
            if (type.equals(READ)) {
                filesWithPieces.add(file(event));
            }
            Range range = REQUESTS.contains(type)
                    ? requests.computeIfAbsent(file(event), ignored -> new Range())
                    : pieces;
            range.add(nanos(event.getStartTime()), nanos(event.getEndTime()));
        });
        requests.forEach((file, range) -> {
            if (!filesWithPieces.contains(file)) {
                pieces.add(range.begin, range.end);
            }
        });
        Timeline timeline = pieces.begin > pieces.end ? new Timeline(0, 1) : new Timeline(pieces.begin, pieces.end);
        each(event -> add(timeline, event));
        return timeline;
    }

    private void add(Timeline timeline, RecordedEvent event) {
        String type = event.getEventType().getName();
        long from = nanos(event.getStartTime());
        long to = nanos(event.getEndTime());
        if (type.equals(READ)) {
            timeline.file(file(event), kind(event.getBoolean("write")), from, to, event.getLong("bytes"));
        } else if (type.equals(COPY)) {
            timeline.gpu(gpu(event), Timeline.Kind.COPY, from, to, event.getLong("bytes"));
        } else if (type.equals(WAIT)) {
            timeline.gpu(gpu(event), Timeline.Kind.WAIT, from, to, 0);
        } else if (!filesWithPieces.contains(file(event))) {
            boolean write = type.equals("gds4j.Write") || type.equals("gds4j.Batch") && event.getBoolean("write");
            timeline.file(file(event), kind(write), from, to, event.getLong("bytes"));
        }
    }

    private static Timeline.Kind kind(boolean write) {
        return write ? Timeline.Kind.WRITE : Timeline.Kind.READ;
    }

    private static String file(RecordedEvent event) {
        @Nullable String path = event.getString("path");
        return path == null ? "a descriptor" : path;
    }

    private static String gpu(RecordedEvent event) {
        int gpu = event.getInt("gpu");
        return gpu < 0 ? "GPU of the program's context" : "gpu:" + gpu;
    }

    private static long nanos(Instant time) {
        return Math.addExact(Math.multiplyExact(time.getEpochSecond(), 1_000_000_000L), time.getNano());
    }

    private void each(Consumer<RecordedEvent> use) throws IOException {
        try (RecordingFile file = new RecordingFile(recording)) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                String type = event.getEventType().getName();
                if (REQUESTS.contains(type) || type.startsWith("gds4j.Piece")) {
                    use.accept(event);
                }
            }
        }
    }

    /** Names of the events that a time line needs. */
    static Set<String> events() {
        Set<String> names = new HashSet<>(REQUESTS);
        names.addAll(Set.of(READ, COPY, WAIT));
        return names;
    }
}
