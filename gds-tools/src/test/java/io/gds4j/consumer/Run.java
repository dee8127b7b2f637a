package io.gds4j.consumer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Exit status and output of a finished process. */
record Run(int status, String out, String err) {

    private static final long LIMIT_SECONDS = 300;

    /**
     * Runs a command and waits for its end.
     *
     * @param folder working folder, which also receives the two outputs
     * @param environment variables to set; an empty value removes the variable
     */
    static Run of(Path folder, Map<String, String> environment, List<String> command)
            throws IOException, InterruptedException {
        Path out = Files.createTempFile(folder, "out", ".txt");
        Path err = Files.createTempFile(folder, "err", ".txt");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        // The JVM reports these variables, which CI machines may set, on standard error.
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
