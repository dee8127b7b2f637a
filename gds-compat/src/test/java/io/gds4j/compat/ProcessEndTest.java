package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.ffi.ChildJvm;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The JVM ends with its own status while requests are in flight or objects are open, and survives a signal of the kernel. */
@Tag("slow")
class ProcessEndTest {
    private static final int SIZE = 3_000_000;
    private static final int LIMIT = 1 << 20;

    @TempDir
    Path folder;

    private Path file;

    private ChildJvm child() {
        return new ChildJvm(ChildScenario.class, folder, CompatBackend.class);
    }

    @BeforeEach
    void makeFile() {
        file = GuardedFile.create(folder.resolve("file"), SIZE, 1).path();
    }

    @Test
    void exitStatusIsThatOfTheProgram() {
        ChildJvm.End end = child().run("exit-while-main-reads", file.toString());
        assertThat(end.status()).as("%s", end).isEqualTo(9);
    }

    /** An exit waits five seconds for I/O that moves bytes. */
    @ParameterizedTest
    @CsvSource({"exit-with-a-stuck-read, 10", "exit-with-a-stuck-gpu-read, 11"})
    void readThatHangsDelaysTheExitByASecond(String scenario, int status) {
        ChildJvm.End end = child().run(scenario, file.toString());
        Duration exit = Duration.ofMillis(System.currentTimeMillis() - Long.parseLong(end.output().strip()));
        assertThat(end.status()).as("%s", end).isEqualTo(status);
        assertThat(exit).isBetween(Duration.ofMillis(900), Duration.ofMillis(4900));
    }

    /** The tear-down of the CUDA driver must not meet its own calls, of which some take seconds. */
    @Test
    void exitWaitsForAGpuThatIsMade() {
        ChildJvm.End end = child().run("exit-while-a-gpu-is-made", file.toString());
        assertThat(end.status()).as("%s", end).isEqualTo(12);
        assertThat(end.output()).as("%s", end).isEqualToIgnoringNewLines("made");
    }

    @ParameterizedTest
    @CsvSource({"exit-with-reads-in-flight, 7", "exit-with-gpu-reads-in-flight, 8"})
    void requestsAreRefusedAtExitAndTheStatusIsKept(String scenario, int status) {
        ChildJvm.End end = child().run(scenario, file.toString());
        assertThat(end.status()).as("%s", end).isEqualTo(status);
        assertThat(end.output()).as("%s", end).isEqualToIgnoringNewLines("all refused");
    }

    @Test
    void forgottenObjectsDoNotKeepTheProcessAlive() {
        ChildJvm.End end = child().run("forget-everything", file.toString());
        assertThat(end.status()).as("%s", end).isZero();
        assertThat(end.output()).isEqualToIgnoringNewLines("done");
    }

    @Test
    void fileSizeLimitIsEfbigAndNoSignalKillsTheJvm() {
        ChildJvm child = child();
        ChildJvm.End end = child.runBehind(
                List.of("bash", "-c", "ulimit -f %d; exec \"$0\" \"$@\"".formatted(LIMIT / 1024)),
                child.places(),
                "write-past-the-limit",
                file.toString());
        assertThat(end.status()).as("%s", end).isZero();
        assertThat(end.output().lines()).containsExactly(
                "offset 0: EFBIG after 1048576, size 1048576",
                "offset 777: EFBIG after 1047799, size 1048576",
                "offset 1048576: EFBIG after 0, size 0",
                "offset 0: EFBIG after 1048576, size 1048576",
                "offset 777: EFBIG after 1047799, size 1048576",
                "offset 1048576: EFBIG after 0, size 0");
    }

    /** Needs root to become another user. Copies the classes to a folder that this user can read. */
    @Test
    void userWithoutWriteAccessReadsFiles() throws IOException {
        assumeTrue(isRoot(), "reading as another user is not tested: needs root");
        assumeTrue(
                Files.isExecutable(Path.of("/usr/bin/setpriv")),
                "reading as another user is not tested: setpriv is missing");
        Path open = Files.createTempDirectory(Path.of("/tmp"), "gds4j-stranger");
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        try {
            Path data = Files.write(open.resolve("data"), RandomBytes.of(1, SIZE));
            String expected = SIZE + " " + sum(Files.readAllBytes(data));
            ChildJvm child = new ChildJvm(ChildScenario.class, open, CompatBackend.class);
            ChildJvm.End end = child.runBehind(
                    List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"),
                    copies(child.places(), open),
                    "read-as-a-stranger",
                    data.toString());
            assertThat(end.status()).as("%s", end).isZero();
            assertThat(end.output().lines()).startsWith(expected, expected, expected)
                    .endsWith("page cache");
        } finally {
            Mount.deleteTree(open);
        }
    }

    private static long sum(byte[] bytes) {
        long sum = 0;
        for (byte b : bytes) {
            sum = sum * 31 + b;
        }
        return sum;
    }

    private static boolean isRoot() throws IOException {
        return Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
    }

    /** A child's class path with every entry copied into {@code open}. */
    private static List<String> copies(List<String> places, Path open) throws IOException {
        List<String> copies = new ArrayList<>();
        for (String entry : places) {
            Path from = Path.of(entry);
            Path to = open.resolve(copies.size() + "-" + from.getFileName());
            copyTree(from, to);
            copies.add(to.toString());
        }
        return copies;
    }

    private static void copyTree(Path from, Path to) throws IOException {
        try (var paths = Files.walk(from)) {
            for (Path path : paths.toList()) {
                Path copy = to.resolve(from.relativize(path).toString());
                if (Files.isDirectory(path)) {
                    Files.createDirectories(copy);
                } else {
                    Files.copy(path, path.equals(from) ? to : copy);
                }
            }
        }
    }
}
