package io.gds4j.consumer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The launcher, run as scripts run it. */
@Tag("slow")
class LauncherIT {
    private static final Path MODULE = Path.of("").toAbsolutePath();
    private static final Path LAUNCHER = MODULE.resolveSibling("gds");
    /** Tests run the existing jar: a build within this build would replace it. */
    private static final Map<String, String> NO_BUILD = Map.of("GDS_NO_BUILD", "yes");

    @TempDir
    Path folder;

    @Test
    void versionOptionPrintsOnlyTheVersion() throws Exception {
        Run run = Run.of(folder, NO_BUILD, List.of(LAUNCHER.toString(), "--version"));
        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run.out()).startsWith("gds4j ").contains("JDK").contains("libcufile");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-Xmx100m", "-XX:MaxHeapSize=100m"})
    void smallerHeapThanTheLaunchersOwnServes(String heap) throws Exception {
        Map<String, String> environment = new HashMap<>(NO_BUILD);
        environment.put("GDS_JAVA_OPTS", heap);
        Run run = Run.of(folder, environment, List.of(LAUNCHER.toString(), "--version"));
        assertThat(run.err()).isEmpty();
        assertThat(run.status()).isZero();
    }

    @Test
    void olderJavaHomeIsIgnored() throws Exception {
        Path old = Files.createDirectories(folder.resolve("jdk-17"));
        Files.writeString(old.resolve("release"), "JAVA_VERSION=\"17.0.15\"\n");
        script(old.resolve("bin/java"), "echo an old JVM ran; exit 99");
        Map<String, String> environment = new HashMap<>(NO_BUILD);
        environment.put("JAVA_HOME", old.toString());
        Run run = Run.of(folder, environment, List.of(LAUNCHER.toString(), "--version"));
        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
    }

    @Test
    void symbolicLinkToTheLauncherServes() throws Exception {
        Path copy = copyOfTheTree();
        Path link = Files.createSymbolicLink(folder.resolve("a link"), copy.resolve("gds"));
        Run direct = Run.of(folder, NO_BUILD, List.of(copy.resolve("gds").toString(), "--version"));
        assertThat(Run.of(folder, NO_BUILD, List.of(link.toString(), "--version"))).isEqualTo(direct);
    }

    @Test
    void argumentsArriveUnchanged() throws Exception {
        String odd = "no 'such' \"command\" $HOME *";
        Run run = Run.of(folder, NO_BUILD, List.of(LAUNCHER.toString(), odd));
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).contains(odd);
    }

    @Test
    void unusableClassArchiveIsIgnoredSilently() throws Exception {
        Path copy = copyOfTheTree();
        Files.writeString(copy.resolve("gds-tools/target/gds.jsa"), "not an archive");
        Run run = Run.of(folder, NO_BUILD, List.of(copy.resolve("gds").toString(), "--version"));
        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
    }

    @Test
    void missingJdkNamesWhatToInstall() throws Exception {
        Path copy = copyOfTheTree();
        replace(copy.resolve("gds"), "least=25", "least=999");
        Run run = Run.of(folder, NO_BUILD, List.of(copy.resolve("gds").toString(), "--version"));
        assertThat(run.status()).isEqualTo(6);
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).startsWith("gds: gds4j needs JDK 999 or newer: install").hasLineCount(1);
    }

    @Test
    void launcherWithoutItsTreeFailsWithOneLine() throws Exception {
        Path alone = folder.resolve("gds");
        Files.copy(LAUNCHER, alone, StandardCopyOption.COPY_ATTRIBUTES);
        Run run = Run.of(folder, Map.of("GDS_NO_BUILD", ""), List.of(alone.toString(), "--version"));
        assertThat(run.status()).isEqualTo(6);
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).startsWith("gds: " + folder + " is not a gds4j source tree").hasLineCount(1);
    }

    @ParameterizedTest
    @CsvSource({"a:b, contains ':'", "gr\\303\\266 \\374, is not valid UTF-8"})
    void folderThatJavaCannotUseIsNamed(String name, String expected) throws Exception {
        // A shell creates the folder: Java cannot create one whose name is not UTF-8.
        String script = "d=$(printf '%s'); mkdir \"$d\"; cp -p '%s' \"$d\"/gds; exec \"$d\"/gds --version"
                .formatted(name, LAUNCHER);
        Run run = Run.of(folder, NO_BUILD, List.of("sh", "-c", script));
        assertThat(run.status()).isEqualTo(6);
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).startsWith("gds: Java cannot run from a folder whose name " + expected).hasLineCount(1);
    }

    @Test
    void folderNameBeyondAsciiServes() throws Exception {
        String script = "d=$(printf 'gr\\303\\266\\303\\237e'); mv '%s' \"$d\"; exec \"$d\"/gds --version"
                .formatted(copyOfTheTree());
        Run run = Run.of(folder, NO_BUILD, List.of("sh", "-c", script));
        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
    }

    @Test
    void missingMavenNamesWhatToInstall() throws Exception {
        Path copy = copyOfTheTree();
        Files.delete(copy.resolve("gds-tools/target/build-began"));
        Path commands = Files.createDirectory(folder.resolve("commands"));
        for (String command : List.of("sh", "readlink", "dirname", "find", "sed", "flock")) {
            script(commands.resolve(command), "exec %s \"$@\"".formatted(find(command)));
        }
        Map<String, String> environment = Map.of("PATH", commands.toString(), "MAVEN_HOME", "", "GDS_NO_BUILD", "");
        Run run = Run.of(folder, environment, List.of(copy.resolve("gds").toString(), "--version"));
        assertThat(run.status()).isEqualTo(6);
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).startsWith("gds: ").contains("Maven").contains("install").hasLineCount(1);
    }

    @Test
    void wrapperBuildsWhereMavenIsMissing() throws Exception {
        Path copy = copyOfTheTree();
        Files.delete(copy.resolve("gds-tools/target/build-began"));
        script(copy.resolve("mvnw"), "touch gds-tools/target/build-began built-by-the-wrapper");
        Path commands = Files.createDirectory(folder.resolve("commands"));
        for (String command : List.of("sh", "readlink", "dirname", "find", "sed", "flock", "touch")) {
            script(commands.resolve(command), "exec %s \"$@\"".formatted(find(command)));
        }
        Map<String, String> environment = Map.of("PATH", commands.toString(), "MAVEN_HOME", "", "GDS_NO_BUILD", "");
        Run run = Run.of(folder, environment, List.of(copy.resolve("gds").toString(), "--version"));
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(copy.resolve("built-by-the-wrapper")).exists();
    }

    @Test
    void failedBuildIsReportedOnStandardError() throws Exception {
        Path copy = copyOfTheTree();
        script(copy.resolve("commands/mvn"),
                "printf '\\033[1msome words\\033[m\\n'; echo as the last words, in vain >&2; exit 1");
        setPast(copy.resolve("gds-tools/target/build-began"));
        Run run = Run.of(folder, commandsOf(copy), List.of(copy.resolve("gds").toString(), "--version"));
        assertThat(run.status()).isEqualTo(6);
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).contains("some words", "last words").doesNotContain("\u001b")
                .endsWith("gds: the build failed, see above\n");
    }

    @Test
    void buildNamesEachModuleAndKeepsOnlyErrors() throws Exception {
        Path copy = copyOfTheTree();
        script(copy.resolve("commands/mvn"), """
                echo '[INFO] Scanning for projects...'
                echo '[INFO] Building gds-api 0.1.0-SNAPSHOT                         [2/12]'
                echo '[WARNING] of the compiler'
                echo '  which has two lines'
                echo '[ERROR] of the compiler'
                echo '  that has two lines'
                echo '[INFO] BUILD FAILURE'
                exit 1""");
        setPast(copy.resolve("gds-tools/target/build-began"));
        Run run = Run.of(folder, commandsOf(copy), List.of(copy.resolve("gds").toString(), "--version"));
        assertThat(run.err().lines().skip(1)).containsExactly("gds: module 2 of 12: gds-api", "[ERROR] of the compiler",
                "  that has two lines", "gds: the build failed, see above");
    }

    @Test
    void treeThatCannotBeWrittenNamesTheRemedy() throws Exception {
        Path copy = copyOfTheTree();
        Files.delete(copy.resolve("gds-tools/target/build-began"));
        Files.setPosixFilePermissions(copy.resolve("gds-tools"), PosixFilePermissions.fromString("r-xr-xr-x"));
        assumeFalse(Files.isWritable(copy.resolve("gds-tools")), "root may write everywhere");
        Run run = Run.of(folder, commandsOf(copy), List.of(copy.resolve("gds").toString(), "--version"));
        assertThat(run.status()).isEqualTo(6);
        assertThat(run.err()).contains("you cannot write to " + copy, "GDS_NO_BUILD").hasLineCount(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"pom.xml", "gds-tools/pom.xml", "gds-tools/src/main", "gds-api/src/main/java/A.java",
            "samples/src/main/B.java"})
    void newerSourceTriggersABuild(String source) throws Exception {
        Path copy = copyOfTheTree();
        script(copy.resolve("commands/mvn"), "pwd; echo \"$*\"; touch gds-tools/target/build-began");
        everythingIsOlderThanTheJar(copy);
        Files.setLastModifiedTime(copy.resolve(source), FileTime.from(Instant.now().plusSeconds(5)));
        Run run = Run.of(folder, commandsOf(copy), List.of(copy.resolve("gds").toString(), "--version"));
        assertThat(run.status()).isZero();
        assertThat(run.out()).startsWith("gds4j ").doesNotContain("package");
        assertThat(run.err()).contains(copy + "\n").contains("gds-tools -am package");
    }

    @Test
    void unchangedTreeIsNotBuiltAgain() throws Exception {
        Path copy = copyOfTheTree();
        script(copy.resolve("commands/mvn"), "exit 1");
        everythingIsOlderThanTheJar(copy);
        Run run = Run.of(folder, commandsOf(copy), List.of(copy.resolve("gds").toString(), "--version"));
        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
    }

    @Test
    void concurrentLaunchersBuildOnce() throws Exception {
        Path copy = copyOfTheTree();
        script(copy.resolve("commands/mvn"), "sleep 0.5; echo built >>builds; touch gds-tools/target/build-began");
        setPast(copy.resolve("gds-tools/target/build-began"));
        Callable<Run> version = () -> Run.of(
                folder, commandsOf(copy), List.of(copy.resolve("gds").toString(), "--version"));
        try (ExecutorService pool = Executors.newFixedThreadPool(2)) {
            for (Future<Run> run : pool.invokeAll(List.of(version, version))) {
                assertThat(run.get().status()).isZero();
                assertThat(run.get().out()).startsWith("gds4j ");
            }
        }
        assertThat(copy.resolve("builds")).hasContent("built");
    }

    /** Copies the launcher and the built jars to a folder with a space in its name. */
    private Path copyOfTheTree() throws IOException {
        Path copy = Files.createDirectory(folder.resolve("a copy"));
        Path lib = Files.createDirectories(copy.resolve("gds-tools/target/lib"));
        Files.createDirectories(copy.resolve("gds-tools/src/main"));
        Files.createDirectories(copy.resolve("gds-api/src/main/java"));
        Files.createDirectories(copy.resolve("samples/src/main"));
        Files.copy(LAUNCHER, copy.resolve("gds"), StandardCopyOption.COPY_ATTRIBUTES);
        for (String source : List.of("pom.xml", "gds-tools/pom.xml", "gds-api/pom.xml",
                "gds-api/src/main/java/A.java", "samples/pom.xml", "samples/src/main/B.java")) {
            Files.createFile(copy.resolve(source));
        }
        copyJars(MODULE.resolve("target"), lib.getParent());
        copyJars(MODULE.resolve("target/lib"), lib);
        Files.createFile(lib.resolveSibling("build-began"));
        return copy;
    }

    private static void copyJars(Path from, Path to) throws IOException {
        try (Stream<Path> files = Files.list(from)) {
            for (Path jar : files.filter(file -> file.toString().endsWith(".jar")).toList()) {
                Files.copy(jar, to.resolve(jar.getFileName()));
            }
        }
    }

    private static Map<String, String> commandsOf(Path copy) {
        String path = copy.resolve("commands") + ":" + System.getenv("PATH");
        return Map.of("PATH", path, "GDS_NO_BUILD", "");
    }

    private static void everythingIsOlderThanTheJar(Path copy) throws IOException {
        Path built = copy.resolve("gds-tools/target");
        try (Stream<Path> files = Files.walk(copy)) {
            for (Path file : files.filter(file -> !file.startsWith(built)).toList()) {
                setPast(file);
            }
        }
    }

    private static void setPast(Path file) throws IOException {
        Files.setLastModifiedTime(file, FileTime.from(Instant.now().minusSeconds(60)));
    }

    private static void script(Path file, String body) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + body + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static void replace(Path file, String old, String with) throws IOException {
        String text = Files.readString(file);
        assertThat(text).contains(old);
        Files.writeString(file, text.replace(old, with));
    }

    private static Path find(String command) {
        return Stream.of(System.getenv("PATH").split(":"))
                .map(place -> Path.of(place, command))
                .filter(Files::isExecutable)
                .findFirst()
                .orElseThrow();
    }
}
