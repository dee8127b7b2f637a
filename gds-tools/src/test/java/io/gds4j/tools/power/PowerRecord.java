package io.gds4j.tools.power;

import io.gds4j.CuFileDriver;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.List;

/** Runs operations in the guest, and marks in the logs of its disks what has begun and returned. */
final class PowerRecord {
    private PowerRecord() {
    }

    /**
     * @param arguments port of the server, rounds, how many operations have returned before on these disks, folder, then
     *        {@link Recording}s, which are mounted in it under their names
     */
    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[1]);
        int before = Integer.parseInt(arguments[2]);
        try (CuFileDriver driver = CuFileDriver.open();
                CachedReads cache = new CachedReads(Integer.parseInt(arguments[0]));
                Marks marks = new Marks()) {
            for (String argument : List.of(arguments).subList(4, arguments.length)) {
                Recording recording = Recording.valueOf(argument);
                Path root = Path.of(arguments[3], argument);
                List<Operation> operations = recording.operations(driver, cache);
                for (int round = 1 + before / operations.size(); round <= rounds; round++) {
                    int first = round == 1 + before / operations.size() ? before % operations.size() : 0;
                    for (Operation operation : operations.subList(first, operations.size())) {
                        String id = operation.name() + "." + round + ".";
                        marks.add(recording, id + Operation.BEGUN);
                        operation.run(root, round, phase -> marks.add(recording, id + phase));
                        marks.add(recording, id + Operation.DONE);
                    }
                }
                System.out.println("recorded " + recording);
            }
        }
    }

    /** A shell that writes marks: to start a process from here takes longer. */
    private static final class Marks implements AutoCloseable {
        private final Process shell;
        private final Writer commands;
        private final BufferedReader answers;

        Marks() throws IOException {
            shell = new ProcessBuilder("sh").redirectError(ProcessBuilder.Redirect.INHERIT).start();
            commands = shell.outputWriter();
            answers = shell.inputReader();
        }

        /** Adds a mark to the log of a disk, if it has one. */
        void add(Recording recording, String mark) throws IOException {
            if (recording.logs()) {
                commands.write("dmsetup message %s 0 mark %s && echo marked%n".formatted(recording, mark));
                commands.flush();
                if (!"marked".equals(answers.readLine())) {
                    throw new IOException("no mark " + mark);
                }
            }
            System.out.println(mark);
        }

        @Override
        public void close() {
            shell.destroy();
        }
    }
}
