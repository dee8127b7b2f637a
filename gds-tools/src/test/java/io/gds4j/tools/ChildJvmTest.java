package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Behaviour that only a child process shows: exit status, signals, and the content of standard output. */
@Tag("slow")
class ChildJvmTest {
    private static final long PATIENCE_SECONDS = 300;
    private static final String WITHOUT_DRIVER =
            "programs still open, list, map, decode, verify, convert and save checkpoints";

    @TempDir
    private Path folder;

    static ProcessBuilder gds(String... arguments) {
        List<String> line = new ArrayList<>();
        line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        line.addAll(
                List.of(
                        "--enable-native-access=ALL-UNNAMED",
                        "--illegal-native-access=deny",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        GdsCommand.class.getName()));
        line.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(line);
        builder.environment().remove("CUFILE_ENV_PATH_JSON");
        builder.environment().remove("JDK_JAVA_OPTIONS");
        return builder;
    }

    private GdsRun run(String... arguments) throws IOException, InterruptedException {
        return run(gds(arguments));
    }

    private GdsRun run(ProcessBuilder gds) throws IOException, InterruptedException {
        Path out = folder.resolve("stdout");
        Path err = folder.resolve("stderr");
        Process process = gds.redirectOutput(out.toFile()).redirectError(err.toFile()).start();
        assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        return new GdsRun(process.exitValue(), Files.readString(out), Files.readString(err));
    }

    @Test
    void standardOutputHoldsOnlyTheObject() throws IOException, InterruptedException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));

        GdsRun run = run("load", file.toString(), "--target", "host", "--verify", "--digest", "--json");

        assertThat(run.status()).isZero();
        assertThat(run.err()).isEmpty();
        JsonNode tensors = run.json().get("tensorList");
        JsonNode named = null;
        for (JsonNode tensor : tensors) {
            named = tensor.get("name").asText().equals(TestCheckpoints.UNICODE) ? tensor : named;
        }
        assertThat(named).as("a non-ASCII name is preserved").isNotNull();
        assertThat(named.get("sha256").asText()).isEqualTo(TestCheckpoints.digests(file).get(TestCheckpoints.UNICODE));
    }

    @ParameterizedTest
    @CsvSource({"-Dos.name=Mac OS X, 'the driver needs Linux, this is Mac OS X '",
            "-Dos.name=Windows 11, 'the driver needs Linux, this is Windows 11 '",
            "--illegal-native-access=deny, 'native access is denied: start java with '"})
    void listsMapsAndConvertsWithoutLibc(String option, String refusal) throws IOException, InterruptedException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        Path made = folder.resolve("made");
        for (String[] arguments : new String[][]{
                {"load", file.toString(), "--list"},
                {"load", file.toString(), "--map", "--verify"},
                {"convert", file.toString(), made.toString(), "--checksums"}}) {
            GdsRun run = run(option, arguments);
            assertThat(run.err()).isEmpty();
            assertThat(run.status()).isZero();
        }
        assertThat(TestCheckpoints.digests(made.resolve("model.safetensors"))).isEqualTo(TestCheckpoints.digests(file));

        GdsRun load = run(option, new String[]{"load", file.toString()});
        assertThat(load.status()).isEqualTo(4);
        assertThat(load.err()).hasLineCount(1).startsWith("gds: " + refusal).contains(WITHOUT_DRIVER, "gds load --map");
        for (String[] arguments : new String[][]{{"check"}, {"check", file.toString()}}) {
            GdsRun check = run(option, arguments);
            assertThat(check.status()).isEqualTo(4);
            assertThat(check.err()).hasLineCount(1).startsWith("gds: " + refusal).contains(WITHOUT_DRIVER);
            assertThat(check.out()).startsWith("Fails: " + refusal).doesNotContain("serves by default");
        }
    }

    /** Runs the command without native access. */
    private GdsRun run(String option, String[] arguments) throws IOException, InterruptedException {
        ProcessBuilder child = gds(arguments);
        child.command().set(1, option);
        return run(child);
    }

    @Test
    void exitStatusReachesTheParent() throws IOException, InterruptedException {
        GdsRun run = run("load", folder.resolve("missing").toString(), "--json");

        assertThat(run.status()).isEqualTo(3);
        assertThat(run.json().get("error").get("exitStatus").asInt()).isEqualTo(3);
        assertThat(run.errorLine()).startsWith("gds: ").contains("missing");
    }

    @ParameterizedTest
    @CsvSource({"INT, 130", "TERM, 143"})
    void signalDuringTheDemoDeletesTheCheckpoint(String signal, int status) throws IOException, InterruptedException {
        assumeFalse(isIgnoredHere(status - 128), "a background job: the shell has it ignore SIG" + signal);
        Path err = folder.resolve("stderr");
        Path work = Files.createDirectory(folder.resolve("work"));
        Process process = gds("demo", "--size", "256M", "--dir", work.toString()).redirectError(err.toFile()).start();
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            // The demo prints this line after it creates the folder and before it writes 256 MiB.
            assertThat(out.readLine()).contains("creating").contains(work.toString());

            assertThat(new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid())).start().waitFor())
                    .isZero();

            assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).isEqualTo(status);
        assertThat(work).isEmptyDirectory();
        assertThat(err).isEmptyFile();
    }

    /** The events of a run are in a temporary file for a fifth of a second. */
    @Test
    void signalDuringAReportLeavesNoEvents() throws IOException, InterruptedException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        Path temporary = Files.createDirectory(folder.resolve("tmp"));
        Path page = folder.resolve("page.html");
        ProcessBuilder builder = gds("load", file.toString(), "-t", "host", "--report", page.toString())
                .redirectErrorStream(true).redirectOutput(folder.resolve("output").toFile());
        builder.command().add(1, "-Djava.io.tmpdir=" + temporary);
        Process process = builder.start();
        try {
            while (process.isAlive() && !holdsEvents(temporary)) {
                Thread.onSpinWait();
            }
            process.destroy();
            assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).isEqualTo(143);
        assertThat(temporary).isEmptyDirectory();
        assertThat(page).doesNotExist();
    }

    /** Flight recorder's own folders have other names, and it removes them. */
    private static boolean holdsEvents(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.anyMatch(file -> file.getFileName().toString().startsWith("gds-report-"));
        }
    }

    /** True if this process, and therefore its children, ignore a signal. */
    private static boolean isIgnoredHere(int signal) throws IOException {
        String mask = Files.readAllLines(Path.of("/proc/self/status"))
                .stream()
                .filter(line -> line.startsWith("SigIgn:"))
                .findFirst()
                .orElse("SigIgn: 0")
                .substring("SigIgn:".length())
                .strip();
        return (Long.parseUnsignedLong(mask, 16) >>> (signal - 1) & 1) != 0;
    }

    @Test
    void unwritableResultIsStatusFour() throws IOException, InterruptedException {
        Path err = folder.resolve("stderr");

        Process process = gds("--version").redirectOutput(new File("/dev/full")).redirectError(err.toFile()).start();

        assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(4);
        assertThat(Files.readString(err)).isEqualTo("gds: standard output: No space left on device\n");
    }

    /** {@code /proc} has no free space and takes no files. */
    @ParameterizedTest
    @CsvSource({"/proc", "FOLDER/missing"})
    void reportNeedsAPlaceForItsEvents(String place) throws IOException, InterruptedException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        String temporary = place.replace("FOLDER", folder.toString());
        Path err = folder.resolve("stderr");
        ProcessBuilder builder = gds("load", file.toString(), "--report", folder.resolve("page.html").toString())
                .redirectOutput(folder.resolve("stdout").toFile()).redirectError(err.toFile());
        builder.command().add(1, "-Djava.io.tmpdir=" + temporary);

        Process process = builder.start();

        assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(4);
        assertThat(Files.readAllLines(err)).filteredOn(line -> !line.startsWith("WARNING: java.io.tmpdir"))
                .singleElement().asString()
                .startsWith("gds: " + temporary + ": ").endsWith("; TMPDIR names another folder");
    }

    /** How many files a JVM opens depends on its class path: with too few it does not reach the command, and says so itself. */
    @ParameterizedTest
    @ValueSource(ints = {10, 14, 18})
    void fewDescriptorsAreNoInternalError(int most) throws IOException, InterruptedException {
        Path err = folder.resolve("stderr");
        ProcessBuilder builder =
                gds("check").redirectOutput(folder.resolve("stdout").toFile()).redirectError(err.toFile());
        builder.command().addAll(0, List.of("sh", "-c", "ulimit -n " + most + "; exec \"$@\"", "sh"));

        Process process = builder.start();

        assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        List<String> lines = Files.readAllLines(err);
        if (lines.getFirst().startsWith("gds: ")) {
            assertThat(lines).singleElement().asString().contains("open files");
            assertThat(process.exitValue()).isEqualTo(4);
        } else {
            assertThat(lines).first().asString().startsWith("Error: ");
            assertThat(process.exitValue()).isEqualTo(1);
        }
    }

    @Test
    void topEndsWithItsReader() throws IOException, InterruptedException {
        Path err = folder.resolve("stderr");

        Process process = gds("top", "--interval", "0.1").redirectError(err.toFile()).start();
        try {
            process.getInputStream().close();

            assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).isEqualTo(4);
        assertThat(Files.readString(err)).isEmpty();
    }

    /** Another name in its place would be a success that nobody asked for. */
    @Test
    void nameThatIsNoTextIsRefused() throws IOException, InterruptedException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        Path out = Files.createDirectory(folder.resolve("out"));
        Path err = folder.resolve("stderr");
        ProcessBuilder builder = gds("convert", file.toString()).redirectError(err.toFile())
                .redirectOutput(folder.resolve("stdout").toFile());
        builder.command().addAll(0, List.of("sh", "-c", "exec \"$@\" \"$(printf '" + out + "/\\377')\"", "sh"));
        builder.environment().put("LC_ALL", "C.UTF-8");

        Process process = builder.start();

        assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(2);
        assertThat(Files.readAllLines(err)).singleElement().asString().contains("not valid UTF-8");
        assertThat(out).isEmptyDirectory();
    }

    /** The C library of a German environment has another text for a pipe without a reader. */
    @Test
    void closedReaderCausesNoMessageInAnyLanguage() throws IOException, InterruptedException {
        assumeTrue(Files.exists(Path.of("/usr/share/locale/de/LC_MESSAGES/libc.mo")), "no German texts");
        assumeTrue(Files.exists(Path.of("/usr/share/i18n/locales/de_DE")), "no German locale");
        ProcessBuilder making = new ProcessBuilder(
                "localedef", "-i", "de_DE", "-f", "UTF-8", folder.resolve("de_DE.UTF-8").toString());
        making.redirectErrorStream(true).redirectOutput(folder.resolve("localedef").toFile()).start().waitFor();
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        Path err = folder.resolve("stderr");
        ProcessBuilder builder = gds("load", file.toString(), "--list").redirectError(err.toFile());
        builder.environment().putAll(Map.of("LOCPATH", folder.toString(), "LC_ALL", "de_DE.UTF-8"));

        Process process = builder.start();
        process.getInputStream().close();

        assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(4);
        assertThat(Files.readString(err)).isEmpty();
    }

    @Test
    void closedReaderCausesNoStackTrace() throws IOException, InterruptedException {
        Path file = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        Path err = folder.resolve("stderr");

        Process process = gds("load", file.toString(), "--list").redirectError(err.toFile()).start();
        process.getInputStream().close();

        assertThat(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isIn(0, 4);
        assertThat(Files.readString(err)).isEmpty();
    }
}
