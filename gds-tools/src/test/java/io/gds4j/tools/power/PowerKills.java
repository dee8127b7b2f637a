package io.gds4j.tools.power;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * Kills the guest in the middle of operations, and checks what its disk holds. Between its start and its end the guest is stopped
 * several times instead: its disk then holds what a kill would leave, and the next kill needs no boot.
 */
final class PowerKills {
    private static final int MAX_MARKS = 19;
    private static final int MAX_MILLIS = 400;
    private static final int QUIET_MILLIS = 500;

    private final Recording recording;
    private final List<Operation> operations;
    private final Path folder;
    private final Random random;
    private final Progress progress = new Progress();
    private final List<String> failures = new ArrayList<>();

    private PowerKills(Recording recording, List<Operation> operations, Path folder, Random random) {
        this.recording = recording;
        this.operations = operations;
        this.folder = folder;
        this.random = random;
    }

    /** Returns what was broken after so many kills. */
    static List<String> run(Recording recording, List<Operation> operations, Path folder, int kills, int port,
            long seed)
            throws IOException, InterruptedException {
        PowerKills run = new PowerKills(recording, operations, folder, new Random(seed));
        Process guest = new ProcessBuilder(Recording.guest(List.of(recording), folder, port, Integer.MAX_VALUE))
                .redirectErrorStream(true).start();
        try (BufferedReader lines = guest.inputReader();
                LoopDisk disk = new LoopDisk(Recording.MEGABYTES << 20)) {
            for (int i = 1; i <= kills; i++) {
                run.kill(guest, lines, disk, i == kills ? "-KILL" : "-STOP");
            }
            return run.failures;
        } finally {
            guest.descendants().forEach(ProcessHandle::destroyForcibly);
        }
    }

    private void kill(Process guest, BufferedReader lines, LoopDisk disk, String signal)
            throws IOException, InterruptedException {
        for (int left = random.nextInt(1, MAX_MARKS); left > 0; left--) {
            String line = lines.readLine();
            if (line == null) {
                throw new IOException("the guest has ended");
            }
            left += progress.note(line) ? 0 : 1;
        }
        boolean ended = guest.waitFor(random.nextInt(MAX_MILLIS), TimeUnit.MILLISECONDS);
        String machine = guest.descendants()
                .filter(process -> process.info().command().orElse("").contains("qemu-system"))
                .map(process -> Long.toString(process.pid()))
                .findFirst().orElseThrow(() -> new IOException("there is no guest, ended: " + ended));
        Shell.run("kill", signal, machine);
        // what it told before
        while (lines.ready() || !guest.waitFor(QUIET_MILLIS, TimeUnit.MILLISECONDS) && lines.ready()) {
            String line = lines.readLine();
            if (line != null) {
                progress.note(line);
            }
        }
        disk.copy(folder.resolve(recording + ".disk"));
        String failure = disk.check(recording, () -> progress.check(operations, disk.point(), true));
        if (!failure.isEmpty()) {
            failures.add("%s, killed in %s: %s".formatted(recording, progress, failure));
        }
        if (signal.equals("-STOP")) {
            Shell.run("kill", "-CONT", machine);
        }
    }
}
