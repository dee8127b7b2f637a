package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** A JVM that prints a row for each case of a group. Some groups end it. */
public final class AnswersChild {
    private static final int SECONDS = 60;

    private final Path folder;
    private final Map<String, String> rows = new LinkedHashMap<>();
    private String output = "";
    private int exitStatus;

    private AnswersChild(Path folder) {
        this.folder = folder;
    }

    /**
     * Runs to the end.
     *
     * @param main its main class: takes a group, the path of a file of 8 MiB, and more
     * @param folder a folder of its own, where the file is made
     */
    public static AnswersChild run(Class<?> main, AnswersSetting setting, Path folder, String... more)
            throws IOException, InterruptedException {
        AnswersChild child = new AnswersChild(folder);
        byte[] content = new byte[RawLibrary.BYTES];
        new Random(1).nextBytes(content);
        Path file = Files.write(folder.resolve("data"), content);
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:-CreateCoredumpOnCrash",
                "-XX:ErrorFile=" + folder.resolve("hs_err.log")));
        command.addAll(List.of("-cp", absoluteClassPath(), main.getName(), setting.group(), file.toString()));
        command.addAll(List.of(more));
        ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
        builder.environment().keySet().removeIf(name -> name.startsWith("CUFILE_"));
        builder.environment().putAll(setting.environment(folder));
        child.read(builder.redirectOutput(folder.resolve("output").toFile()).start());
        return child;
    }

    /** The child runs in a folder of its own. */
    private static String absoluteClassPath() {
        List<String> parts = new ArrayList<>();
        for (String part : System.getProperty("java.class.path").split(":")) {
            parts.add(Path.of(part).toAbsolutePath().toString());
        }
        return String.join(":", parts);
    }

    private void read(Process process) throws IOException, InterruptedException {
        boolean ended = process.waitFor(SECONDS, TimeUnit.SECONDS);
        if (!ended) {
            process.destroyForcibly().waitFor();
        }
        exitStatus = process.exitValue();
        output = Files.readString(folder.resolve("output"), StandardCharsets.ISO_8859_1);
        for (String line : output.split("\n")) {
            String[] columns = line.split("\t", 3);
            if (columns.length == 3 && columns[0].equals("row")) {
                rows.put(columns[1], columns[2]);
            }
        }
        if (!ended) {
            rows.put("end", "hangs after " + (rows.isEmpty() ? "nothing" : List.copyOf(rows.keySet()).getLast()));
        }
    }

    /** Compares a case with its row; a case {@code says} is a line that the library prints. */
    public void check(String name, AnswerTable.Row expected) {
        if (name.startsWith("says ")) {
            assertThat(output.lines().map(line -> line.replaceAll("/\\S*/", "").strip())).contains(expected.answer());
            return;
        }
        assertThat(rows).as("%s; exit status %d", output, exitStatus).containsKey(name);
        String answer = rows.get(name);
        assertThat(AnswerTable.agrees(expected.answer(), answer))
                .as("%s: expected %s, but the answer is %s", name, expected.answer(), answer)
                .isTrue();
    }

    /** Case and answer, in the order of the calls. */
    public Map<String, String> rows() {
        return rows;
    }

    /** Everything it printed. */
    public String output() {
        return output;
    }

    public int exitStatus() {
        return exitStatus;
    }
}
