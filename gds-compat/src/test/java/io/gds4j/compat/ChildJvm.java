package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** A JVM of its own for what ends with the JVM. */
final class ChildJvm {
    private static final Duration LIMIT = Duration.ofMinutes(3);

    private static final List<String> NEEDED = List.of(
            "io.gds4j.compat.ChildScenario",
            "io.gds4j.compat.CompatBackend",
            "io.gds4j.ffi.cuda.FakeCuda",
            "io.gds4j.ffi.cuda.Cuda",
            "io.gds4j.testkit.Gate",
            "io.gds4j.CuFileDriver",
            "com.fasterxml.jackson.core.JsonParser",
            "org.jspecify.annotations.Nullable");

    private ChildJvm() {
    }

    /**
     * How a child ended.
     *
     * @param status its exit status; 134 and 139 are crashes
     */
    record End(int status, String output, String error) {
    }

    /** Runs {@code ChildScenario} until it ends by itself; one that hangs is killed and fails the test. */
    static End run(Path folder, String... arguments) {
        return run(List.of(), folder, arguments);
    }

    static End run(List<String> before, Path folder, String... arguments) {
        return runWith(classPath(), before, folder, arguments);
    }

    /** Where the classes come from that a child needs; launchers have class paths of their own. */
    static String classPath() {
        Set<String> places = new LinkedHashSet<>();
        for (String name : NEEDED) {
            try {
                Class<?> type = Class.forName(name);
                places.add(Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI())
                        .toString());
            } catch (ClassNotFoundException | URISyntaxException e) {
                throw new AssertionError(e);
            }
        }
        return String.join(File.pathSeparator, places);
    }

    /**
     * The same with a class path, behind a command that ends by executing its arguments.
     *
     * @param before for example {@code prlimit --fsize=1000}
     */
    static End runWith(String classPath, List<String> before, Path folder, String... arguments) {
        List<String> command = new ArrayList<>(before);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(
                "--enable-native-access=ALL-UNNAMED",
                "--illegal-native-access=deny",
                "-Xmx256m",
                "-Xshare:auto",
                "-XX:TieredStopAtLevel=1",
                "-XX:ErrorFile=" + folder.resolve("hs_err.log"),
                "-cp",
                classPath,
                ChildScenario.class.getName()));
        command.addAll(List.of(arguments));
        try {
            Path output = Files.createTempFile(folder, "child", ".out");
            Path error = Files.createTempFile(folder, "child", ".err");
            Process process = new ProcessBuilder(command)
                    .redirectOutput(output.toFile())
                    .redirectError(error.toFile())
                    .start();
            boolean ended = process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS);
            if (!ended) {
                process.destroyForcibly();
            }
            End end = new End(
                    process.waitFor(),
                    Files.readString(output, StandardCharsets.UTF_8),
                    Files.readString(error, StandardCharsets.UTF_8));
            assertThat(ended).as("%s ended within %s; it said: %s", String.join(" ", arguments), LIMIT, end).isTrue();
            assertThat(folder.resolve("hs_err.log")).as("crash of the JVM").doesNotExist();
            return end;
        } catch (IOException e) {
            throw new AssertionError(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }
}
