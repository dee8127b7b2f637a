package io.gds4j.access;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The message of a program without native access names the missing option. */
@Tag("slow")
class NativeAccessTest {
    private static final String DENY = "--illegal-native-access=deny";

    private static String path(Predicate<String> entries) {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entries)
                .collect(Collectors.joining(File.pathSeparator));
    }

    private static String run(String... options) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
        command.addAll(List.of(options));
        command.add(AccessChild.class.getName());
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }

    private static String[] asModule(String... more) {
        Predicate<String> underTest = entry -> entry.contains("gds-native") && !entry.contains("test");
        Predicate<String> others = entry -> entry.contains("gds-api") || entry.contains("jackson");
        List<String> options = new ArrayList<>(List.of(
                DENY,
                "-p",
                path(underTest.or(others)),
                "--add-modules",
                "io.gds4j.ffi",
                "--add-exports",
                "io.gds4j.ffi/io.gds4j.ffi.posix=ALL-UNNAMED",
                "--add-exports",
                "io.gds4j.ffi/io.gds4j.ffi.cuda=ALL-UNNAMED",
                "-cp",
                path(entry -> entry.contains("test-classes") || entry.contains("tests.jar"))));
        options.addAll(List.of(more));
        return options.toArray(String[]::new);
    }

    @Test
    void messageNamesTheOptionForTheClassPath() throws Exception {
        String output = run(DENY, "-cp", System.getProperty("java.class.path"));
        assertThat(output).contains("PLATFORM_NOT_SUPPORTED", "start java with --enable-native-access=ALL-UNNAMED");
        assertThat(output.lines().filter(line -> line.startsWith("Unavailable"))).singleElement().asString()
                .contains("--enable-native-access=ALL-UNNAMED").doesNotContain("NVIDIA");
    }

    @Test
    void messageNamesTheModuleOnTheModulePath() throws Exception {
        assertThat(run(asModule())).contains("start java with --enable-native-access=io.gds4j.ffi");
    }

    @Test
    void optionSilencesTheMessage() throws Exception {
        String classPath =
                run(DENY, "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path"));
        String modulePath = run(asModule("--enable-native-access=io.gds4j.ffi"));
        for (String output : new String[]{classPath, modulePath}) {
            assertThat(output).startsWith("page size ").doesNotContain("native-access");
            assertThat(output.lines()).hasSize(2);
        }
    }
}
