package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.CuFileStatisticsMXBean;
import io.gds4j.tools.terminal.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import javax.management.MBeanServer;
import javax.management.MBeanServerDelegate;
import javax.management.MBeanServerNotification;
import javax.management.NotificationListener;
import javax.management.ObjectName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code gds top} on this process, on other processes, and on processes that do not answer. */
@Tag("slow")
class TopCommandTest {
    private static final int SIZE = 1 << 20;
    private static final String ME = Long.toString(ProcessHandle.current().pid());
    private static final Pattern SUM =
            Pattern.compile("\u001b\\[1m\\d\\d:\\d\\d:\\d\\d  [0-9.]+ [MG]B/s by 1 JVM");
    private static final MBeanServer SERVER = ManagementFactory.getPlatformMBeanServer();

    @TempDir
    private Path folder;

    private Path file() throws IOException {
        return Files.write(folder.resolve("data"), new byte[SIZE]);
    }

    /** Opens a driver without statistics, and returns when it is a bean. */
    private static CuFileDriver published() throws Exception {
        CountDownLatch registered = new CountDownLatch(1);
        ObjectName pattern = new ObjectName(CuFileStatisticsMXBean.NAME_PATTERN);
        NotificationListener listener = (notification, ignored) -> {
            if (notification instanceof MBeanServerNotification bean
                    && bean.getType().equals(MBeanServerNotification.REGISTRATION_NOTIFICATION)
                    && pattern.apply(bean.getMBeanName())) {
                registered.countDown();
            }
        };
        SERVER.addNotificationListener(MBeanServerDelegate.DELEGATE_NAME, listener, null, null);
        try {
            CuFileDriver driver = CuFileDriver.open(CuFileConfig.builder().withoutEnvironment().build(), "compat");
            assertThat(registered.await(1, TimeUnit.MINUTES)).isTrue();
            return driver;
        } finally {
            SERVER.removeNotificationListener(MBeanServerDelegate.DELEGATE_NAME, listener);
        }
    }

    /** Repeats a run until it has seen bytes that moved between its samples: on a busy machine they may not. */
    private static GdsRun untilBytesMove(Supplier<GdsRun> run, Predicate<GdsRun> hasSeen) {
        GdsRun last = run.get();
        while (last.status() == 0 && !hasSeen.test(last)) {
            last = run.get();
        }
        return last;
    }

    private static JsonNode lastSession(GdsRun run) {
        return run.json().get("samples").get(1).get("jvms").get(0).get("sessions").get(0);
    }

    @Test
    @Timeout(180)
    void speedsOfASessionWithoutStatisticsAreShown() throws Exception {
        Path file = file();
        AtomicBoolean over = new AtomicBoolean();
        try (CuFileDriver driver = published();
                CuFileHandle handle = driver.openFile(file);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            Thread work = Thread.ofPlatform().start(() -> {
                while (!over.get()) {
                    handle.read(memory.range(), 0);
                }
            });
            GdsRun run = untilBytesMove(
                    () -> GdsRun.gds("top", ME, "-i", "0.1", "-n", "2", "--json"),
                    json -> lastSession(json).get("bytesPerSecond").asLong() > 0);
            GdsRun text = untilBytesMove(
                    () -> GdsRun.onTerminal(
                            Map.of("COLUMNS", "100", "TERM", "xterm"), "top", ME, "-i", "0.1", "-n", "2"),
                    shown -> SUM.matcher(shown.out()).find());
            over.set(true);
            work.join();

            assertThat(run.status()).as(run.err()).isZero();
            assertThat(run.json().get("samples")).hasSize(2);
            JsonNode session = lastSession(run);
            assertThat(session.get("level").asInt()).isZero();
            String path = session.get("ioPaths").fieldNames().next();
            assertThat(session.get("ioPathsPerSecond").get(path).asLong()).isPositive()
                    .isEqualTo(session.get("bytesPerSecond").asLong());
            assertThat(session.get("gpus")).as("they need level 3").isEmpty();
            assertThat(driver.statistics().level()).as("gds top switches nothing on").isZero();
            assertThat(text.out()).containsOnlyOnce("\u001b[?1049h").containsOnlyOnce("\u001b[?1049l")
                    .containsOnlyOnce("\u001b[?7l").containsSubsequence("\u001b[?7l", path, "\u001b[?7h")
                    .contains("\u001b[H", path, "pool", "queue", "counted at statistics level 3");
            assertThat(text.out()).as("the sum").containsPattern(SUM);
            String last = text.out().substring(text.out().indexOf("\u001b[?1049l"));
            assertThat(last).as("the last block stays").contains(path).contains(" by 1 JVM with a driver");
            assertThat(text.out().lines().map(line -> line.replaceAll("\u001b\\[[0-9;?]*[A-Za-z]", "")))
                    .allMatch(line -> line.strip().length() <= 100);
        }
        assertThat(SERVER.queryNames(new ObjectName(CuFileStatisticsMXBean.NAME_PATTERN), null)).isEmpty();
    }

    @Test
    void blocksFollowEachOtherInAPipe() {
        CuFileConfig counting =
                CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.PROFILE_CUFILE_STATS, 1L).build();
        try (CuFileDriver driver = CuFileDriver.open(counting, "compat")) {
            GdsRun run = GdsRun.gds("top", ME, "--interval", "0.1", "--count", "2");
            assertThat(driver.isOpen()).isTrue();
            assertThat(run.status()).as(run.err()).isZero();
            assertThat(run.out()).doesNotContain("\u001b")
                    .containsPattern("(?s)queue .*\n\n\\d\\d:\\d\\d:\\d\\d .*queue ");
        }
    }

    @Test
    void otherJvmsOfTheUserAreFoundAndTheirEndIsSaid() throws IOException {
        Process program = CountingProgram.start(file(), 3);
        try {
            GdsRun all = GdsRun.gds("top", "-i", "0.1", "-n", "1", "--json");
            assertThat(all.status()).as(all.err()).isZero();
            JsonNode found = jvm(all, program.pid());
            assertThat(found.get("state").asText()).as("%s", found).isEqualTo("open");
            assertThat(found.get("program").asText()).isEqualTo(CountingProgram.class.getName());
            assertThat(all.out()).as("arguments may be secret").doesNotContain(folder.toString());
            assertThat(found.get("sessions").get(0).get("level").asInt()).isEqualTo(3);

            GdsRun watched = watchAndThen(program::destroyForcibly, "top", Long.toString(program.pid()), "-i", "0.1");
            assertThat(watched.status()).isZero();
            assertThat(watched.out()).endsWith("CountingProgram: has ended\n");
        } finally {
            program.destroyForcibly();
        }
    }

    /** A shell that waits for another process does not ask for the status of a JVM that has ended. */
    @Test
    void endedJvmWhoseParentDoesNotCareIsOver() throws Exception {
        // The shell itself would ask, so the process ends only when the shell has become another program.
        Process shell = new ProcessBuilder("sh", "-c", "exec 3<&0; read line <&3 & echo $!; exec sleep 60").start();
        try {
            long ended = Long.parseLong(shell.inputReader().readLine());
            while (!Files.readString(Path.of("/proc/" + shell.pid() + "/comm")).equals("sleep\n")) {
                Thread.onSpinWait();
            }
            shell.outputWriter().append('\n').close();
            while (!Files.readString(Path.of("/proc/" + ended + "/stat")).contains(") Z ")) {
                Thread.onSpinWait();
            }
            GdsRun run = GdsRun.gds("top", Long.toString(ended));
            assertThat(run.status()).isEqualTo(3);
            assertThat(run.errorLine()).isEqualTo("gds: there is no process " + ended);
        } finally {
            shell.destroyForcibly();
        }
    }

    private static JsonNode jvm(GdsRun run, long pid) {
        for (JsonNode jvm : run.json().get("samples").get(0).get("jvms")) {
            if (jvm.get("pid").asLong() == pid) {
                return jvm;
            }
        }
        throw new AssertionError(run.out());
    }

    /** Runs a command without an end, and an action after its first lines. */
    private static GdsRun watchAndThen(Runnable action, String... line) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, false, StandardCharsets.UTF_8) {
            @Override
            public void flush() {
                super.flush();
                action.run();
            }
        };
        Terminal terminal =
                new Terminal(out, new PrintStream(new ByteArrayOutputStream()), Map.of(), () -> false, () -> false);
        int status = GdsCommand.run(terminal, line);
        return new GdsRun(status, bytes.toString(StandardCharsets.UTF_8), "");
    }

    @Test
    void stoppedJvmIsReportedAndNotWaitedFor() throws Exception {
        Process program = CountingProgram.start(file(), 0);
        try {
            assertThat(new ProcessBuilder("kill", "-STOP", Long.toString(program.pid())).start().waitFor()).isZero();
            GdsRun run = GdsRun.gds("top", "-i", "0.1", "-n", "1");
            assertThat(run.status()).as(run.err()).isZero();
            assertThat(run.out()).containsPattern(
                    program.pid() + " CountingProgram: has not answered for \\d+ s: it may be stopped\n");
        } finally {
            program.destroyForcibly();
        }
    }

    @Test
    void processesWithoutADriverAreLinesOrFailures() {
        assertThat(GdsRun.gds("top", ME, "-i", "0.1", "-n", "1").out()).contains(ME).contains(": no driver is open\n");
        GdsRun missing = GdsRun.gds("top", "4194304999");
        assertThat(missing.status()).isEqualTo(3);
        assertThat(missing.errorLine()).isEqualTo("gds: there is no process 4194304999");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-i 0", "-i NaN", "-i 3601", "-n 0", "-n -1"})
    void intervalAndCountHaveLimits(String options) {
        GdsRun run = GdsRun.gds(("top " + ME + " " + options).split(" "));
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.errorLine()).contains("allowed: ");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void textsOfTheOtherProcessAreInert(boolean withTexts) throws Exception {
        String hostile = "\u001b[31m\u001b]0;title\u0007\n4711 forged\u202e";
        ObjectName name = new ObjectName("io.gds4j:type=CuFileStatistics,session=79");
        SERVER.registerMBean(ForgedStatistics.bean(withTexts ? hostile : null), name);
        try {
            GdsRun run = GdsRun.gds("top", ME, "-i", "0.1", "-n", "1");
            assertThat(run.status()).as(run.err()).isEqualTo(withTexts ? 0 : 4);
            for (String text : List.of(run.out(), run.err())) {
                assertThat(text).doesNotContain("\u001b", "\u0007", "\u202e", "\n4711 forged");
            }
            assertThat(run.out() + run.err()).contains(
                    withTexts ? "\\n4711 forged" : "its statistics are not those of this version of gds4j");
        } finally {
            SERVER.unregisterMBean(name);
        }
    }
}
