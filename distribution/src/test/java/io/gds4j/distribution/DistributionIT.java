package io.gds4j.distribution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The archives, unpacked outside the source tree and used as a user does. */
@Tag("slow")
class DistributionIT {
    private static final Path TARGET = Path.of("target").toAbsolutePath();
    private static final long LIMIT_SECONDS = 60;

    @TempDir
    private static Path parent;

    /** The folder that the archive holds, in a folder with a space in its name. */
    private static Path root;

    @TempDir
    private Path folder;

    /** Exit status and output of a finished process. */
    private record Run(int status, String out, String err) {
    }

    @BeforeAll
    static void unpack() throws Exception {
        Path place = Files.createDirectory(parent.resolve("a folder"));
        assertThat(run(place, "tar", "-xzf", archive(".tar.gz").toString()).status()).isZero();
        try (Stream<Path> files = Files.list(place)) {
            root = files.toList().getFirst();
        }
    }

    @Test
    void topFolderNamesTheVersion() throws Exception {
        assertThat(root.getFileName() + ".tar.gz").isEqualTo(archive(".tar.gz").getFileName().toString());
        assertThat(root.resolve("LICENSE")).hasSameTextualContentAs(TARGET.resolve("../../LICENSE"));
        assertThat(root.resolve("NOTICE")).hasSameTextualContentAs(TARGET.resolve("../../NOTICE"));
        String version = root.getFileName().toString().substring("gds4j-".length());
        assertThat(root.resolve("README.txt")).content().startsWith("gds4j " + version + ": the gds command");
    }

    @Test
    void commandRunsThroughALink() throws Exception {
        Path link = Files.createSymbolicLink(folder.resolve("gds"), root.resolve("bin/gds"));

        Run run = run(folder, link.toString(), "--version");
        Files.delete(link);

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.out()).startsWith("gds4j ").contains("JDK");
        assertThat(run.err()).isEmpty();
    }

    @Test
    void demoLoadsAndLeavesNothing() throws Exception {
        Run run = run(folder, root.resolve("bin/gds").toString(), "demo", "--size", "4M", "--json");

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(json(run).get("verified").asBoolean()).isTrue();
        try (Stream<Path> files = Files.list(folder)) {
            assertThat(files.filter(Files::isDirectory)).as("the demo's folder").isEmpty();
        }
    }

    @Test
    void checkExaminesAPath() throws Exception {
        Run check = run(folder, root.resolve("bin/gds").toString(), "check", ".", "--json");

        assertThat(check.status()).as(check.err()).isZero();
        assertThat(json(check).get("paths")).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"gds", "gds-load", "gds-completion"})
    void commandHasAManualPage(String name) throws IOException {
        assertThat(root.resolve("share/man/man1").resolve(name + ".1")).content()
                .startsWith(".TH \"" + name.toUpperCase(Locale.ROOT).replace("-", "\\-") + "\" \"1\"")
                .contains(".SH \"SYNOPSIS\"", "\\fB\\-\\-help\\fR");
    }

    @Test
    void completionIsSourcedWithoutAnError() throws Exception {
        Path script = root.resolve("share/bash-completion/completions/gds");

        Run run = run(folder, "bash", "--norc", "-c", "source \"$1\" && complete -p gds", "bash", script.toString());

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.err()).isEmpty();
        assertThat(run.out()).contains("_complete_gds");
        assertThat(root.resolve("share/zsh/site-functions/_gds")).content().startsWith("#compdef gds\n");
        assertThat(root.resolve("share/fish/vendor_completions.d/gds.fish")).content().contains("complete -c gds");
    }

    /** A scanner of vulnerabilities reads this file, so it names each jar of lib/ and its version. */
    @Test
    void billOfMaterialsNamesEveryJar() throws IOException {
        Path list = root.resolve("gds4j.cdx.json");
        assumeThat(list).as("an offline build lists no dependencies").exists();
        JsonNode bill = new ObjectMapper().readTree(list.toFile());
        List<String> parts = bill.get("components").valueStream()
                .map(part -> part.get("name").asText() + "-" + part.get("version").asText())
                .toList();

        assertThat(bill.get("bomFormat").asText()).isEqualTo("CycloneDX");
        try (Stream<Path> files = Files.list(root.resolve("lib"))) {
            assertThat(files.map(file -> file.getFileName().toString()).filter(name -> !name.equals("gds.jar")))
                    .allMatch(jar -> parts.stream().anyMatch(jar::startsWith));
        }
    }

    @Test
    void everyLibraryHasALicence() throws IOException {
        List<String> rows;
        try (Stream<String> lines = Files.lines(root.resolve("THIRD-PARTY.txt"))) {
            rows = lines.filter(line -> line.contains("-* ")).map(String::strip).toList();
        }
        List<String> jars;
        try (Stream<Path> files = Files.list(root.resolve("lib"))) {
            jars = files.map(file -> file.getFileName().toString()).filter(name -> !name.startsWith("gds")).toList();
        }
        assertThat(jars).allMatch(jar -> rows.stream().anyMatch(row -> jar.startsWith(prefix(row))));
        assertThat(rows).allMatch(row -> jars.stream().anyMatch(jar -> jar.startsWith(prefix(row))));
        assertThat(rows).allMatch(row -> Files.isRegularFile(root.resolve(row.substring(row.lastIndexOf(' ') + 1))));
    }

    @Test
    void zipHoldsTheSameFiles() throws IOException {
        List<String> zipped;
        try (ZipFile zip = new ZipFile(archive(".zip").toFile())) {
            zipped = zip.stream().filter(entry -> !entry.isDirectory()).map(Object::toString).sorted().toList();
        }
        try (Stream<Path> files = Files.walk(root)) {
            assertThat(zipped).isEqualTo(files.filter(Files::isRegularFile)
                    .map(file -> root.getParent().relativize(file).toString())
                    .sorted()
                    .toList());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"sha256", "sha512"})
    void checksumsFit(String algorithm) throws Exception {
        for (String type : List.of(".tar.gz", ".zip")) {
            Run run = run(TARGET, algorithm + "sum", "-c", archive(type) + "." + algorithm);
            assertThat(run.status()).as(run.err()).isZero();
        }
    }

    private static String prefix(String row) {
        return row.substring(0, row.indexOf('*'));
    }

    private static JsonNode json(Run run) throws IOException {
        return new ObjectMapper().readTree(run.out());
    }

    private static Path archive(String type) throws IOException {
        try (Stream<Path> files = Files.list(TARGET)) {
            return files.filter(file -> file.toString().endsWith(type)).toList().getFirst();
        }
    }

    private static Run run(Path folder, String... command) throws IOException, InterruptedException {
        Path out = Files.createTempFile("out", ".txt");
        Path err = Files.createTempFile("err", ".txt");
        try {
            ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile())
                    .redirectOutput(out.toFile())
                    .redirectError(err.toFile());
            // The JVM reports these variables, which CI machines may set, on standard error.
            builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
            Process process = builder.start();
            process.getOutputStream().close();
            if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new AssertionError("%s still ran after %d s".formatted(List.of(command), LIMIT_SECONDS));
            }
            return new Run(process.exitValue(), Files.readString(out), Files.readString(err));
        } finally {
            Files.delete(out);
            Files.delete(err);
        }
    }
}
