package io.gds4j.consumer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compiles and runs a user's program against the jars, with only the native access that it grants. */
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

    @Test
    void programOnTheOneDependencyRunsOnTheClassPath() throws Exception {
        List<Path> jars = new ArrayList<>(BuiltJars.ofTheOneDependency());
        jars.add(compile(List.of("--class-path", BuiltJars.path(jars)), "consumer/Consumer.java"));
        Run run = java("--enable-native-access=ALL-UNNAMED", "--class-path", BuiltJars.path(jars), "consumer.Consumer");
        assertThat(run).isEqualTo(new Run(0, "class path compat %s ok\n".formatted(SIZE), ""));
    }

    /** Packs the jars as a packer does by default: the first of two files with the same name stays. */
    @Test
    void shadedJarWithOneServiceFileFindsBothBackends() throws Exception {
        List<Path> jars = BuiltJars.ofTheOneDependency();
        Path classes = compile(List.of("--class-path", BuiltJars.path(jars)), "consumer/Consumer.java");
        Path all = folder.resolve("all.jar");
        shade(all, jars);
        Run run = java("--enable-native-access=ALL-UNNAMED", "--class-path", BuiltJars.path(List.of(all, classes)),
                "consumer.Consumer");
        assertThat(run.status()).isZero();
        assertThat(run.out()).isEqualTo("class path compat %s ok\n".formatted(SIZE));
        assertThat(run.err()).contains("WARNING: io.gds4j.libcufile.LibCuFileBackendProvider is on the class path")
                .contains("Merge the service files");
    }

    private static void shade(Path all, List<Path> jars) throws IOException {
        Set<String> seen = new HashSet<>();
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(all))) {
            for (Path jar : jars) {
                try (JarFile in = new JarFile(jar.toFile())) {
                    for (JarEntry entry : in.stream().filter(one -> seen.add(one.getName())).toList()) {
                        out.putNextEntry(new JarEntry(entry.getName()));
                        in.getInputStream(entry).transferTo(out);
                    }
                }
            }
        }
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
