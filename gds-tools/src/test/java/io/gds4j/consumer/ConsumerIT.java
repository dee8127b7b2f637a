package io.gds4j.consumer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles and runs a user's program against the jars, with only the native access that it grants. */
@Tag("slow")
class ConsumerIT {
    private static final Path JDK = Path.of(System.getProperty("java.home"));
    private static final Path SOURCES = Path.of("src", "test", "resources", "consumer").toAbsolutePath();
    /** Selects the backend that serves on every machine. */
    private static final Map<String, String> COMPAT = Map.of("CUFILE_FORCE_COMPAT_MODE", "true");
    private static final String SIZE = Long.toString((1L << 20) + 1234);

    @TempDir
    Path folder;

    @Test
    void programOnTheClassPathReadsWhatItWrote() throws Exception {
        Path classes = compile(List.of("--class-path", BuiltJars.path(compileTime())), "consumer/Consumer.java");
        List<Path> runtime = new ArrayList<>(BuiltJars.ofApiAndCompat());
        runtime.add(classes);
        Run run = java("--enable-native-access=ALL-UNNAMED", "--class-path", BuiltJars.path(runtime),
                "consumer.Consumer");
        assertThat(run).isEqualTo(new Run(0, "class path compat %s ok\n".formatted(SIZE), ""));
    }

    @Test
    void programOnTheModulePathReadsWhatItWrote() throws Exception {
        Path classes = compile(
                List.of("--module-path", BuiltJars.path(compileTime())), "module-info.java", "consumer/Consumer.java");
        List<Path> runtime = new ArrayList<>(BuiltJars.ofApiAndCompat());
        runtime.add(classes);
        Run run = java(
                "--enable-native-access=io.gds4j.ffi",
                "--module-path",
                BuiltJars.path(runtime),
                "--module",
                "consumer/consumer.Consumer");
        assertThat(run).isEqualTo(new Run(0, "module path compat %s ok\n".formatted(SIZE), ""));
    }

    @Test
    void programThatRequiresAllSeesBothBackends() throws Exception {
        Run run = Run.of(folder, Map.of(), List.of(
                JDK.resolve("bin/java").toString(),
                "--limit-modules", "io.gds4j.all",
                "--module-path", BuiltJars.path(BuiltJars.ofTheOneDependency()),
                "--list-modules"));
        assertThat(run.status()).isZero();
        assertThat(run.out()).contains("io.gds4j@", "io.gds4j.loader@", "io.gds4j.compat@", "io.gds4j.libcufile@");
    }

    /** Adds the null annotations, which only the compiler needs. */
    private static List<Path> compileTime() throws IOException {
        List<Path> jars = new ArrayList<>(BuiltJars.ofApiAndCompat());
        jars.addAll(BuiltJars.named("jspecify"));
        return jars;
    }

    private Path compile(List<String> options, String... sources) throws Exception {
        Path classes = Files.createDirectory(folder.resolve("classes"));
        List<String> command = new ArrayList<>(List.of(JDK.resolve("bin/javac").toString(), "-Xlint:all", "-Werror"));
        command.addAll(options);
        command.addAll(List.of("-d", classes.toString()));
        for (String source : sources) {
            command.add(SOURCES.resolve(source).toString());
        }
        assertThat(Run.of(folder, Map.of(), command)).isEqualTo(new Run(0, "", ""));
        return classes;
    }

    private Run java(String... options) throws Exception {
        List<String> command =
                new ArrayList<>(List.of(JDK.resolve("bin/java").toString(), "--illegal-native-access=deny"));
        command.addAll(List.of(options));
        command.add(folder.resolve("data.bin").toString());
        return Run.of(folder, COMPAT, command);
    }
}
