package io.gds4j.consumer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SavePlan;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Packs a program in every way that docs/packaging.md describes, and runs it by their own command lines. */
@Tag("slow")
class PackagingIT {
    /** Tests run in their module's folder. */
    private static final Path EXAMPLES = Path.of("../examples").toAbsolutePath().normalize();
    private static final Path JDK = Path.of(System.getProperty("java.home"));
    /** Selects the backend that serves on every machine; puts the JDK of the tests first. */
    private static final Map<String, String> ENVIRONMENT = Map.of(
            "CUFILE_FORCE_COMPAT_MODE", "true",
            "CUDA_VISIBLE_DEVICES", "",
            "PATH", JDK.resolve("bin") + File.pathSeparator + System.getenv("PATH"));
    private static final int ELEMENTS = 1234;
    private static final Run EXPECTED =
            new Run(0, "compat of [libcufile, compat]: weight, %d bytes, same\n".formatted(4 * ELEMENTS), "");
    private static final Map<String, String> EXECUTABLE =
            Map.of("Main-Class", "app.Program", "Enable-Native-Access", "ALL-UNNAMED", "Multi-Release", "true");

    @TempDir
    static Path folder;

    private static PackagingGuide guide;
    private static List<Path> jars;

    /** Lays out what the page assumes: app.jar, lib and model.safetensors. */
    @BeforeAll
    static void compileTheProgram() throws Exception {
        guide = PackagingGuide.read();
        Path lib = Files.createDirectory(folder.resolve("lib"));
        for (Path jar : BuiltJars.ofTheOneDependency()) {
            Files.copy(jar, lib.resolve(jar.getFileName()));
        }
        jars = BuiltJars.ofTheOneDependency();
        Path sources = Files.createDirectory(folder.resolve("sources"));
        Path program =
                Files.copy(Path.of("src/test/resources/packaging/Program.java"), sources.resolve("Program.java"));
        Path module = Files.writeString(sources.resolve("module-info.java"), guide.java("module app {"));
        tool("javac", "-Xlint:all", "-Werror", "-d", "classes", "--module-path", "lib", program.toString(),
                module.toString());
        tool("jar", "--create", "--file", "app.jar", "-C", "classes", ".");
        SavePlan.builder()
                .generated("weight", DType.F32, PackagingIT::pattern, ELEMENTS)
                .toFile(folder.resolve("model.safetensors")).save();
    }

    @Test
    void programRunsOnTheClassPath() throws Exception {
        assertThat(run("Class path")).isEqualTo(EXPECTED);
    }

    @Test
    void programRunsOnTheModulePath() throws Exception {
        assertThat(run("Module path")).isEqualTo(EXPECTED);
    }

    @Test
    void shadedJarWithMergedServiceFilesRuns() throws Exception {
        JarMaker.shade(folder.resolve("app-all.jar"), all(), EXECUTABLE, true);
        assertThat(run("Shaded jar")).isEqualTo(EXPECTED);
    }

    /** As a packer makes it by default: the first of two service files stays. */
    @Test
    void shadedJarWithOneServiceFileWarnsAndRuns() throws Exception {
        JarMaker.shade(folder.resolve("app-all.jar"), all(), EXECUTABLE, false);
        Run run = run("Shaded jar");
        assertThat(run.status()).isZero();
        assertThat(run.out()).isEqualTo(EXPECTED.out());
        assertThat(run.err()).contains("WARNING: io.gds4j.libcufile.LibCuFileBackendProvider is on the class path")
                .contains("Merge the service files");
    }

    @Test
    void springBootJarRuns() throws Exception {
        Path loader = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(jar -> jar.contains("spring-boot-loader-"))
                .map(Path::of)
                .findFirst()
                .orElseThrow();
        JarMaker.springBoot(folder.resolve("app-boot.jar"), loader, folder.resolve("app.jar"), jars, "app.Program");
        assertThat(run("Spring Boot jar")).isEqualTo(EXPECTED);
    }

    /** One test: jpackage wraps the image, which takes most of the time. */
    @Test
    void jlinkImageAndJpackageFolderRun() throws Exception {
        assumeTrue(Files.isExecutable(JDK.resolve("bin/jlink")), "the JDK has no jlink");
        assertThat(run("jlink")).isEqualTo(EXPECTED);
        assumeTrue(Files.isExecutable(JDK.resolve("bin/jpackage")), "the JDK has no jpackage");
        assumeTrue(Stream.of(System.getenv("PATH").split(File.pathSeparator))
                .anyMatch(bin -> Files.isExecutable(Path.of(bin, "objcopy"))), "jpackage needs binutils");
        assertThat(run("jpackage")).isEqualTo(EXPECTED);
    }

    /** Those that need the JDK alone; examples/build.sh builds all of them by their own tools. */
    @ParameterizedTest
    @CsvSource({"Try.java, weight F32 [3]", "maven/src/main/java/app/App.java, loaded weight [3] by compat"})
    void exampleRunsFromItsSource(String source, String expected) throws Exception {
        Path place = Files.createTempDirectory(folder, "example");
        Run run = Run.of(place, ENVIRONMENT, List.of(
                JDK.resolve("bin/java").toString(), "--enable-native-access=ALL-UNNAMED", "-cp", folder + "/lib/*",
                EXAMPLES.resolve(source).toString()));

        assertThat(run.out()).contains(expected);
        assertThat(run).isEqualTo(new Run(0, run.out(), ""));
    }

    @Test
    void programOfTheReadmeLoadsWhatTryHasSaved() throws Exception {
        Path place = Files.createTempDirectory(folder, "readme");
        for (List<String> program : List.of(List.of("Try.java"), List.of("Load.java", "try.safetensors"))) {
            List<String> command = new ArrayList<>(List.of(
                    JDK.resolve("bin/java").toString(), "--enable-native-access=ALL-UNNAMED", "-cp", folder + "/lib/*",
                    EXAMPLES.resolve(program.getFirst()).toString()));
            command.addAll(program.subList(1, program.size()));
            Run run = Run.of(place, ENVIRONMENT, command);
            assertThat(run.out()).contains("weight");
            assertThat(run.out().contains("2 tensors, 16 bytes in ")).isEqualTo(program.size() == 2);
        }
    }

    @Test
    void exampleForGradleIsTheOneForMaven() {
        assertThat(EXAMPLES.resolve("gradle/src/main/java/app/App.java"))
                .hasSameTextualContentAs(EXAMPLES.resolve("maven/src/main/java/app/App.java"));
    }

    private static void pattern(String name, long offset, MemorySegment to) {
        for (long i = 0; i < to.byteSize(); i++) {
            to.set(ValueLayout.JAVA_BYTE, i, (byte) ((offset + i) * 31));
        }
    }

    private static List<Path> all() {
        return Stream.concat(Stream.of(folder.resolve("app.jar")), jars.stream()).toList();
    }

    /** Runs the command lines of a section of the page. */
    private static Run run(String section) throws IOException, InterruptedException {
        return Run.of(folder, ENVIRONMENT, List.of("sh", "-e", "-c", guide.commands(section)));
    }

    private static void tool(String name, String... arguments) throws IOException, InterruptedException {
        List<String> command =
                Stream.concat(Stream.of(JDK.resolve("bin").resolve(name).toString()), Stream.of(arguments)).toList();
        assertThat(Run.of(folder, Map.of(), command)).isEqualTo(new Run(0, "", ""));
    }
}
