package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.sun.tools.attach.VirtualMachine;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code gds stats} on this process, on others, and on a missing one. */
@Tag("slow")
class StatsCommandTest {
    private static final int SIZE = 65_536;
    private static final String ATTACH_MILLIS = "sun.tools.attach.attachTimeout";
    private static final String ME = Long.toString(ProcessHandle.current().pid());

    @TempDir
    private Path folder;

    private CuFileDriver counting(long level) {
        return CuFileDriver.open(
                CuFileConfig.builder()
                        .withoutEnvironment()
                        .set(CuFileKeys.PROFILE_CUFILE_STATS, level)
                        .build(),
                "compat");
    }

    private void read(CuFileDriver driver) throws IOException {
        Path file = Files.write(folder.resolve("data"), new byte[SIZE]);
        try (CuFileHandle handle = driver.openFile(file);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            handle.read(memory.range(), 0);
        }
    }

    @Test
    void countersHaveTheNamesOfCuFile() throws IOException {
        try (CuFileDriver driver = counting(3)) {
            read(driver);
            GdsRun run = GdsRun.gds("stats", ME, "--json");
            assertThat(run.status()).as(run.err()).isZero();
            JsonNode session = run.json().get("sessions").get(0);
            assertThat(run.json().get("schema").asText()).isEqualTo("gds4j.stats/1");
            assertThat(session.get("backend").asText()).isEqualTo("compat");
            assertThat(session.get("read_ops").get("ok").asLong()).isEqualTo(1);
            assertThat(session.get("read_bytes").asLong()).isEqualTo(SIZE);
            assertThat(session.get("hdl_register_ops").get("ok").asLong()).isEqualTo(1);
            assertThat(session.get("read_size_kb_hist").get(5).asLong()).isEqualTo(1);
            assertThat(session.has("batch_mixed_io_submit_ops")).isTrue();
            assertThat(session.has("batch_completion_lat_sum_us")).isTrue();
            assertThat(session.has("num_gpus")).isTrue();
        }
    }

    @Test
    void textHasTheBlocksOfGdsStats() throws IOException {
        try (CuFileDriver driver = counting(2)) {
            read(driver);
            GdsRun run = GdsRun.gds("stats", ME);
            assertThat(run.status()).as(run.err()).isZero();
            assertThat(run.out())
                    .contains("GLOBAL STATS:", "READ-SIZE HISTOGRAM :\n  64-128(KiB) 1\n", "Read: ok = 1 err = 0",
                            "WRITE-SIZE HISTOGRAM : none\n")
                    .doesNotContain("PER_GPU STATS:");
        }
    }

    @Test
    void otherProcessReportsWhileItRuns() throws IOException {
        Path file = Files.write(folder.resolve("data"), new byte[SIZE]);
        // gds top of a test that runs beside this one would make a listed JVM listen.
        Process program = CountingProgram.startUnlisted(file, 3);
        try {
            GdsRun run = GdsRun.gds("stats", Long.toString(program.pid()), "--json");
            assertThat(run.status()).as(run.err()).isZero();
            assertThat(run.json().get("pid").asLong()).isEqualTo(program.pid());
            assertThat(run.err()).contains("process %d now listens on a port for JMX".formatted(program.pid()));
            assertThat(run.json().get("sessions")).hasSize(1);
            JsonNode session = run.json().get("sessions").get(0);
            assertThat(session.get("level").asInt()).isEqualTo(3);
            assertThat(session.get("read_ops").get("ok").asLong()).isEqualTo(1);
            assertThat(session.get("read_bytes").asLong()).isEqualTo(SIZE);
            assertThat(session.get("ioPaths").size()).isEqualTo(1);
        } finally {
            program.destroy();
        }
    }

    /** Answers of another JVM that hold nothing, themselves, or too much; and a session that closes before it is read. */
    @ParameterizedTest
    @CsvSource({"nothing, 4, cannot connect to process", "cycle, 4, what contains itself",
            "text, 4, its statistics are not those", "closed, 3, collects no statistics"})
    void answersOfALyingProgramEndInOneShortLine(String answer, int status, String message) throws IOException {
        Process program = LyingProgram.start(answer);
        try {
            GdsRun run = GdsRun.gds("stats", Long.toString(program.pid()));
            assertThat(run.status()).as(run.err()).isEqualTo(status);
            assertThat(run.err().lines().filter(line -> line.startsWith("gds: "))).singleElement().asString()
                    .contains(message).hasSizeLessThan(500);
            assertThat(run.err()).doesNotContain("\tat ", "\u001b");
        } finally {
            program.destroy();
        }
    }

    @Test
    void statsOptionPrintsStatisticsAtTheEnd() throws IOException {
        Path file = Files.write(folder.resolve("data"), new byte[SIZE]);
        String[] io = {"io", "-f", file.toString(), "-d", "host", "-i", "4K", "--warm-up", "0", "--stats"};
        GdsRun shown = GdsRun.gds(io);
        assertThat(shown.status()).as(shown.err()).isZero();
        assertThat(shown.out()).contains("GLOBAL STATS:", "Read: ok = 16 err = 0", "4-8(KiB) 16");
        Path checkpoint = TestCheckpoints.odd(folder.resolve("model.safetensors"));
        GdsRun load = GdsRun.gds("load", checkpoint.toString(), "--target", "host", "--stats", "--json");
        assertThat(load.status()).as(load.err()).isZero();
        assertThat(load.json().get("stats").get("read_ops").get("ok").asLong()).isPositive();
        // A read may include bytes between tensors.
        assertThat(load.json().get("stats").get("read_bytes").asLong())
                .isBetween(load.json().get("bytes").asLong(), Files.size(checkpoint));
        GdsRun without = GdsRun.gds("load", checkpoint.toString(), "--target", "host", "--json");
        assertThat(without.json().has("stats")).isFalse();
    }

    @Test
    void textsOfTheOtherProcessAreInert() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        String hostile = "\u001b[31m\u001b]0;title\u0007\nSESSION 9 (forged), statistics level 3\u202e";
        ObjectName forged = new ObjectName("io.gds4j:type=CuFileStatistics,session=77");
        ObjectName foreign = new ObjectName("io.gds4j:type=CuFileStatistics,session=x");
        server.registerMBean(ForgedStatistics.bean(hostile), forged);
        server.registerMBean(ForgedStatistics.bean(hostile), foreign);
        try {
            GdsRun run = GdsRun.gds("stats", ME);
            assertThat(run.status()).as(run.err()).isZero();
            assertThat(run.out()).contains("SESSION 77 (\\u001b[31m").contains("\\nSESSION 9 (forged)")
                    .doesNotContain("\nSESSION 9", "\u001b", "\u0007", "\u202e", "SESSION x");
            GdsRun json = GdsRun.gds("stats", ME, "--json");
            assertThat(json.json().get("sessions").get(0).get("backend").asText()).isEqualTo(hostile);
            assertThat(json.out()).doesNotContain("\u001b", "\u202e");
        } finally {
            server.unregisterMBean(forged);
            server.unregisterMBean(foreign);
        }
    }

    @Test
    void beanOfAnotherKindIsReported() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName("io.gds4j:type=CuFileStatistics,session=78");
        server.registerMBean(ForgedStatistics.bean(null), name);
        try {
            GdsRun run = GdsRun.gds("stats", ME);
            assertThat(run.status()).isEqualTo(4);
            assertThat(run.errorLine()).contains("its statistics are not those of this version of gds4j");
        } finally {
            server.unregisterMBean(name);
        }
    }

    @Test
    void processWithoutStatisticsIsReported() {
        try (CuFileDriver driver = counting(0)) {
            assertThat(driver.isOpen()).isTrue();
            GdsRun run = GdsRun.gds("stats", ME);
            assertThat(run.status()).isEqualTo(3);
            assertThat(run.err()).contains("collects no statistics").contains("profile.cufile_stats");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"stats", "top"})
    void otherProgramIsReportedWithoutItsCommandLine(String command) throws IOException {
        Process other = new ProcessBuilder("sleep", "60").start();
        System.setProperty(ATTACH_MILLIS, "200"); // for how long the JDK waits for a JVM that starts
        try {
            GdsRun run = GdsRun.gds(command, Long.toString(other.pid()));
            assertThat(run.status()).isEqualTo(4);
            assertThat(run.errorLine()).isEqualTo(
                    "gds: cannot connect to process %d: it is not a JVM, or has not started yet"
                            .formatted(other.pid()));
        } finally {
            System.clearProperty(ATTACH_MILLIS);
            other.destroy();
        }
    }

    /** A program that has no driver. */
    static final class Idle {
        public static void main(String[] args) throws Exception {
            System.out.println("idle");
            System.in.read();
        }
    }

    /** An agent opens a port. */
    @Test
    void noAgentIsStartedInAProgramWithoutADriver() throws Exception {
        Process idle = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx64m", "-cp",
                System.getProperty("java.class.path"), Idle.class.getName()).start();
        try {
            assertThat(idle.inputReader().readLine()).isEqualTo("idle");
            GdsRun run = GdsRun.gds("stats", Long.toString(idle.pid()));
            assertThat(run.status()).isEqualTo(3);
            assertThat(run.err()).contains("does not use gds4j");
            VirtualMachine jvm = VirtualMachine.attach(Long.toString(idle.pid()));
            assertThat(jvm.getAgentProperties()).doesNotContainKey(
                    "com.sun.management.jmxremote.localConnectorAddress");
            jvm.detach();
        } finally {
            idle.destroy();
        }
    }

    @Test
    void processOfAnotherUserNeedsTheOption() throws Exception {
        assumeThat(Files.getAttribute(Path.of("/proc/self"), "unix:uid")).as("only root sees others").isEqualTo(0);
        Process other = new ProcessBuilder(
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "60").start();
        try {
            while (Files.getAttribute(Path.of("/proc/" + other.pid()), "unix:uid").equals(0)) {
                Thread.onSpinWait();
            }
            assertThat(GdsRun.gds("stats", Long.toString(other.pid())).errorLine()).isEqualTo(
                    "gds: process %d belongs to another user; --any-user connects to it all the same"
                            .formatted(other.pid()));
        } finally {
            other.destroy();
        }
    }

    @Test
    void missingProcessIsBadInput() {
        GdsRun run = GdsRun.gds("stats", "4194304999", "--json");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.err()).contains("there is no process 4194304999");
    }
}
