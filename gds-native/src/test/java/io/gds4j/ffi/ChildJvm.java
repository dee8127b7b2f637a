package io.gds4j.ffi;

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

/** A child JVM, for tests of the end of a JVM. */
public final class ChildJvm {
    private static final Duration LIMIT = Duration.ofMinutes(3);

    /** A class of each jar or folder that a child needs, as far as the running test has it. */
    private static final List<String> NEEDED = List.of(
            "io.gds4j.ffi.cuda.FakeCuda",
            "io.gds4j.ffi.cuda.Cuda",
            "io.gds4j.engine.lifecycle.ExitTask",
            "io.gds4j.engine.lifecycle.JvmEnd",
            "io.gds4j.libcufile.LibCuFileBackend",
            "io.gds4j.testkit.Gate",
            "io.gds4j.CuFileDriver",
            "com.fasterxml.jackson.core.JsonParser",
            "org.jspecify.annotations.Nullable");

    private final String main;
    private final Path folder;
    private final List<String> places;
    private final List<String> options = new ArrayList<>();

    /**
     * Not yet started.
     *
     * @param main class that it runs
     * @param folder folder of its output
     * @param needed classes from other places than main, gds4j's modules below and their tests
     */
    public ChildJvm(Class<?> main, Path folder, Class<?>... needed) {
        this.main = main.getName();
        this.folder = folder;
        Set<String> found = new LinkedHashSet<>();
        found.add(place(main));
        for (Class<?> type : needed) {
            found.add(place(type));
        }
        for (String name : NEEDED) {
            try {
                found.add(place(Class.forName(name, false, ChildJvm.class.getClassLoader())));
            } catch (ClassNotFoundException e) {
                continue; // a module above the one under test
            }
        }
        this.places = List.copyOf(found);
    }

    /** Launchers have class paths of their own. */
    private static String place(Class<?> type) {
        try {
            return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
        } catch (URISyntaxException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * How a child ended.
     *
     * @param status its exit status; 134 and 139 are crashes
     */
    public record End(int status, String output, String error) {
    }

    /** Adds options of the JVM, which override those of every child. */
    public ChildJvm with(String... more) {
        options.addAll(List.of(more));
        return this;
    }

    /** Returns the class path of the child. */
    public List<String> places() {
        return places;
    }

    /** Runs the child until it ends. A child that hangs is killed and fails the test. */
    public End run(String... arguments) {
        return runBehind(List.of(), places, arguments);
    }

    /**
     * Runs the child through a command that executes its arguments.
     *
     * @param before for example {@code prlimit --fsize=1000}
     * @param classPath instead of {@link #places}
     */
    public End runBehind(List<String> before, List<String> classPath, String... arguments) {
        List<String> command = new ArrayList<>(before);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(
                "--enable-native-access=ALL-UNNAMED",
                "--illegal-native-access=deny",
                "-Xmx256m",
                "-Xshare:auto",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-XX:ErrorFile=" + folder.resolve("hs_err.log")));
        command.addAll(options);
        command.addAll(List.of("-cp", String.join(File.pathSeparator, classPath), main));
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
