package io.gds4j.consumer;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What examples/build.sh makes of a Maven that fails. */
class ExamplesTest {
    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

    @TempDir
    private Path folder;

    /** Runs a copy of the script, beside which there is no archive of gds4j, with tools that say this and fail. */
    private Run build(boolean installed, String output) throws Exception {
        for (String name : new String[]{"examples/build.sh", "dev/java.sh"}) {
            Files.createDirectories(folder.resolve(name).getParent());
            Files.copy(ROOT.resolve(name), folder.resolve(name));
        }
        for (String example : new String[]{"maven", "kotlin", "scala", "spring-boot", "s3", "cudf", "parquet", "arrow",
                "jlama", "lucene", "gradle"}) {
            Files.createDirectories(folder.resolve("examples").resolve(example));
        }
        Files.createDirectories(folder.resolve("tmp"));
        tool("mvn", "echo \"$@\" >>'%s/arguments'; echo \"$MAVEN_OPTS\" >'%s/options'; echo \"%s\"; exit 1"
                .formatted(folder, folder, output));
        tool("gradle", "exit 1");
        return Run.of(folder, Map.of("PATH", folder + "/bin:" + System.getenv("PATH"), "JAVA_HOME",
                System.getProperty("java.home"), "TMPDIR", folder + "/tmp", "INSTALLED", installed ? "1" : ""),
                List.of(folder + "/examples/build.sh"));
    }

    private void tool(String name, String text) throws IOException {
        Path bin = Files.createDirectories(folder.resolve("bin"));
        Path tool = Files.writeString(bin.resolve(name), "#!/bin/bash\n" + text + "\n");
        Files.setPosixFilePermissions(tool, PosixFilePermissions.fromString("rwx------"));
    }

    @Tag("slow")
    @ParameterizedTest
    @ValueSource(strings = {
            "[ERROR] Could not transfer artifact org.a:b:pom:1 from/to central (https://repo): transfer failed",
            "[ERROR] Cannot access central (https://repo) in offline mode and the artifact org.a:b:pom:1 has not been"
                    + " downloaded from it before. -> [Help 1]",
            "[ERROR] Could not resolve: org.a:b:pom:1 failed to transfer from https://repo during a previous attempt."})
    void exampleWhoseArtifactsCannotBeFetchedIsLeftOut(String output) throws Exception {
        Run run = build(true, output);

        assertThat(run.status()).as(run.out()).isZero();
        assertThat(run.out().lines()).contains("maven: left out, org.a:b:pom:1 cannot be fetched here",
                "cudf: left out, org.a:b:pom:1 cannot be fetched here");
    }

    @Tag("slow")
    @Test
    void exampleIsLeftOutIfGds4jCannotBeInstalledForWantOfAPlugin() throws Exception {
        Run run = build(false, "[ERROR] Could not transfer artifact org.a:b:pom:1 from/to central: no network");

        assertThat(run.status()).isZero();
        assertThat(run.out().lines()).containsExactly(
                "installs gds4j", "installation and all examples: left out, org.a:b:pom:1 cannot be fetched here");
    }

    @Tag("slow")
    @ParameterizedTest
    @ValueSource(strings = {
            "[ERROR] cannot find symbol",
            "[ERROR] Could not find artifact org.a:b:jar:7 in central (https://repo)",
            "[ERROR] Could not transfer artifact io.gds4j:gds-api:pom:0.1 from/to central: no network"})
    void faultOfAnExampleOrOfGds4jFails(String output) throws Exception {
        Run run = build(true, output);

        assertThat(run.status()).isOne();
        assertThat(run.out()).contains("maven: FAILED").contains(output);
    }

    @Tag("slow")
    @Test
    void nothingStaysBehind() throws Exception {
        build(true, "");

        assertThat(folder.resolve("tmp")).isEmptyDirectory();
        assertThat(Files.readString(folder.resolve("options"))).contains("-Djava.io.tmpdir=" + folder + "/tmp/");
        assertThat(Files.readString(folder.resolve("arguments")).lines())
                .as("a daemon would stay").allMatch(arguments -> arguments.contains("-Dkotlin.compiler.daemon=false"));
    }

    /** Maven writes some files of a repository in place, also through a hard link. */
    @Test
    void ciCopiesTheRepositoryThatItChanges() throws IOException {
        try (Stream<String> lines = Files.lines(ROOT.resolve(".ci/run"))) {
            assertThat(lines).anyMatch(line -> line.contains("cp -r ~/.m2/repository "))
                    .noneMatch(line -> line.matches(".*\\bcp -\\w*l.*|.*\\bln .*"));
        }
    }
}
