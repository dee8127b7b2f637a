package io.gds4j.consumer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** What a process that has ended left behind. */
record Run(int status, String out, String err) {

    private static final long LIMIT_SECONDS = 300;

    /**
     * Runs a command to its end.
     *
     * @param folder working folder; the two outputs are kept there too
     * @param environment what to set; an empty value unsets
     */
    static Run of(Path folder, Map<String, String> environment, List<String> command)
            throws IOException, InterruptedException {
        Path out = Files.createTempFile(folder, "out", ".txt");
        Path err = Files.createTempFile(folder, "err", ".txt");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        // Options that a CI machine sets for all JVMs are announced on standard error.
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
        environment.forEach((name, value) -> {
            if (value.isEmpty()) {
                builder.environment().remove(name);
            } else {
                builder.environment().put(name, value);
            }
        });
        Process process = builder.start();
        process.getOutputStream().close();
        if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("%s still ran after %d s".formatted(command, LIMIT_SECONDS));
        }
        return new Run(process.exitValue(), Files.readString(out), Files.readString(err));
    }
}
