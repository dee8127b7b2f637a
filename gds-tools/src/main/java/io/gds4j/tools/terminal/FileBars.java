package io.gds4j.tools.terminal;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A line for each file of which bytes have been read, with its rate and the time that it still takes, and a line for all files. Erases
 * itself at the end. Draws on the threads that report progress, at most ten times a second.
 */
final class FileBars implements Progress {
    private static final long UPDATE_NANOS = 100_000_000;
    /** Most files shown at a time; loads read a few at a time. */
    private static final int MAX_FILES = 8;
    private static final String UP = "\u001b[%sA";
    private static final String ERASE_BELOW = "\r\u001b[J";

    /** What is known of a file, or of all. */
    private static final class Part {
        private final long total;
        private long done;
        /** Bytes that were done when the time began, which is when they were first heard of. */
        private long first;
        private long start;
        private long last;

        Part(long total) {
            this.total = total;
        }

        void advance(long bytes, long now) {
            if (done == 0 && start == 0) {
                start = now;
                first = bytes;
            }
            done = bytes;
            last = now;
        }

        /** Bytes per second; 0 if there is no time between bytes yet. */
        double rate() {
            return done > first && last > start ? (done - first) * 1e9 / (last - start) : 0;
        }
    }

    private final PrintStream err;
    private final ProgressLine text;
    private final String task;
    private final Part all;
    private final Map<String, Part> parts = new LinkedHashMap<>();
    private final Thread hook = new Thread(this::wipe, "gds-progress-wipe");
    private long lastDrawn = System.nanoTime();
    private int height;

    /**
     * Creates the lines.
     *
     * @param files bytes of each file, by name
     */
    FileBars(Terminal terminal, String task, Map<String, Long> files) {
        this.err = terminal.err();
        this.task = task;
        this.text = new ProgressLine(terminal, task, files.keySet());
        files.forEach((name, bytes) -> parts.put(name, new Part(bytes)));
        this.all = new Part(files.values().stream().mapToLong(Long::longValue).sum());
        all.start = lastDrawn;
        Runtime.getRuntime().addShutdownHook(hook);
    }

    @Override
    public synchronized void advanceTo(long bytes) {
        long now = System.nanoTime();
        all.advance(bytes, now);
        if (now - lastDrawn >= UPDATE_NANOS) {
            lastDrawn = now;
            draw();
        }
    }

    @Override
    public synchronized void advanceTo(long bytes, String file) {
        Part part = parts.get(file);
        if (part != null) {
            part.advance(Math.min(part.total, part.done + Math.max(0, bytes - all.done)), System.nanoTime());
        }
        advanceTo(bytes);
    }

    /** Returns the files that have begun. Of too many it leaves out complete ones, the earliest first. */
    private List<Map.Entry<String, Part>> begun() {
        List<Map.Entry<String, Part>> begun = parts.entrySet().stream()
                .filter(part -> part.getValue().done > 0).collect(Collectors.toCollection(ArrayList::new));
        Iterator<Map.Entry<String, Part>> each = begun.iterator();
        for (int more = begun.size() - MAX_FILES; more > 0 && each.hasNext();) {
            Part part = each.next().getValue();
            if (part.done == part.total) {
                each.remove();
                more--;
            }
        }
        return begun.subList(0, Math.min(MAX_FILES, begun.size()));
    }

    private void draw() {
        List<String> lines = new ArrayList<>();
        begun().forEach(entry -> lines.add(line(entry.getKey(), entry.getValue())));
        lines.add(line(task, all));
        StringBuilder frame = new StringBuilder();
        erase(frame);
        lines.forEach(line -> frame.append(line).append('\n'));
        height = lines.size();
        err.print(frame);
        err.flush();
    }

    private String line(String name, Part part) {
        return text.of(name, part.done, part.total, part.rate());
    }

    private void erase(StringBuilder frame) {
        if (height > 0) {
            frame.append(UP.formatted(height)).append(ERASE_BELOW);
        }
        height = 0;
    }

    private synchronized void wipe() {
        StringBuilder frame = new StringBuilder();
        erase(frame);
        err.print(frame);
        err.flush();
    }

    @Override
    public void close() {
        ShutdownState.remove(hook);
        wipe(); // twice if the process is ending, which is harmless
    }
}
