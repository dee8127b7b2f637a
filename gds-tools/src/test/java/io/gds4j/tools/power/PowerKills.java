package io.gds4j.tools.power;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Kills the guest in the middle of operations, and checks what its disk holds. The next guest mounts that disk, and goes on with the
 * operation that did not return.
 */
final class PowerKills {
    private static final int MAX_MARKS = 7;
    private static final int MAX_MILLIS = 400;

    private final Recording recording;
    private final List<Operation> operations;
    private final Path folder;
    private final int port;
    private final Random random;
    private final Progress progress = new Progress();
    private final Map<String, Integer> kills = new TreeMap<>();
    private final List<String> failures = new ArrayList<>();
    private int returned;

    private PowerKills(Recording recording, List<Operation> operations, Path folder, int port, Random random) {
        this.recording = recording;
        this.operations = operations;
        this.folder = folder;
        this.port = port;
        this.random = random;
    }

    /** Returns in which operations so many guests died, and what was broken. */
    static PowerCuts.Result run(
            Recording recording, List<Operation> operations, Path folder, int kills, int port, long seed)
            throws IOException, InterruptedException {
        PowerKills run = new PowerKills(recording, operations, folder, port, new Random(seed));
        Files.deleteIfExists(run.image());
        try (LoopDisk disk = new LoopDisk(Recording.MEGABYTES << 20)) {
            for (int i = 1; i <= kills; i++) {
                run.kill();
                disk.copy(run.image());
                String failure = disk.check(recording, () -> run.progress.check(operations, disk.point(), true));
                if (!failure.isEmpty()) {
                    run.failures.add("%s, kill %s, in %s: %s".formatted(recording, i, run.progress, failure));
                }
                System.out.printf("%s: kill %s, in %s%n", recording, i, run.progress);
            }
        }
        return new PowerCuts.Result(run.kills, run.failures);
    }

    private Path image() {
        return folder.resolve(recording + ".disk");
    }

    /** Runs a guest, and kills it some time after a number of marks. */
    private void kill() throws IOException, InterruptedException {
        Process guest = new ProcessBuilder(
                Recording.guest(List.of(recording), folder, port, Integer.MAX_VALUE, returned))
                .redirectErrorStream(true).start();
        List<String> told = new ArrayList<>();
        try (BufferedReader lines = guest.inputReader()) {
            for (int left = random.nextInt(1, MAX_MARKS); left > 0;) {
                String line = lines.readLine();
                if (line == null) {
                    throw new IOException("the guest has ended: " + told);
                }
                told.add(line);
                left -= note(line) ? 1 : 0;
            }
            boolean ended = guest.waitFor(random.nextInt(MAX_MILLIS), TimeUnit.MILLISECONDS);
            guest.descendants()
                    .filter(process -> process.info().command().orElse("").contains("qemu-system"))
                    .findFirst().orElseThrow(() -> new IOException("there is no guest, ended: " + ended))
                    .destroyForcibly();
            // what it told before it died
            lines.lines().forEach(this::note);
        } finally {
            guest.descendants().forEach(ProcessHandle::destroyForcibly);
        }
        guest.waitFor();
        kills.merge(progress.current(), 1, Integer::sum);
    }

    private boolean note(String line) {
        boolean isMark = progress.note(line);
        returned += isMark && line.strip().endsWith("." + Operation.DONE) ? 1 : 0;
        return isMark;
    }
}
