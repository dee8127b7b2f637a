package io.gds4j.site;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.RecordingBackend;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Objects that a program lost without closing them. */
@Timeout(120)
class ForgottenTest {
    private static final Logger LOGGER = Logger.getLogger("io.gds4j");

    private final LinkedBlockingQueue<String> logged = new LinkedBlockingQueue<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord entry) {
            // Other tests forget objects too.
            if (entry.getMessage().contains("ForgottenTest")) {
                logged.add(entry.getLevel() + " " + entry.getMessage());
            }
        }

        @Override
        public void flush() {
        }

        @Override
        public void close() {
        }
    };
    private final RecordingBackend backend = new RecordingBackend();

    @BeforeEach
    void listen() {
        LOGGER.setUseParentHandlers(false);
        LOGGER.addHandler(handler);
    }

    @AfterEach
    void stopListening() {
        LOGGER.removeHandler(handler);
        LOGGER.setUseParentHandlers(true);
    }

    @Test
    void aForgottenHandleIsLoggedWithItsSiteAndDeregistered() throws InterruptedException {
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            forgetHandle(driver);

            assertThat(nextLog())
                    .startsWith("WARNING CuFileHandle of /data/a was never closed;"
                            + " made at io.gds4j.site.ForgottenTest.forgetHandle(ForgottenTest.java:");
            awaitCalls(1, "handleDeregister");
            assertThat(backend.callsOf("handleDeregister")).containsExactly("handleDeregister /data/a");
        }
        assertThat(backend.callsOf("handleDeregister")).hasSize(1);
    }

    @Test
    void forgottenBuffersBatchesStreamsAndMemoryAreReleasedToo() throws InterruptedException {
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            forgetOthers(driver);

            List<String> lines = List.of(nextLog(), nextLog(), nextLog(), nextLog());
            assertThat(lines).allMatch(line -> line.contains("made at io.gds4j.site.ForgottenTest.forgetOthers"));
            assertThat(lines).anyMatch(line -> line.contains("CuFileBuffer of MemoryRange"));
            assertThat(lines).anyMatch(line -> line.contains("CuFileBatch"));
            assertThat(lines).anyMatch(line -> line.contains("CuFileStream 0x9"));
            assertThat(lines).anyMatch(line -> line.contains("HOST memory of 777 bytes"));
        }
        awaitCalls(4, "bufDeregister", "batchIoDestroy", "streamDeregister", "free");
        assertThat(backend.callsOf("bufDeregister", "batchIoDestroy", "streamDeregister", "free"))
                .containsExactlyInAnyOrder("bufDeregister 64", "batchIoDestroy", "streamDeregister 9", "free 777");
    }

    @Test
    void aForgottenDriverIsClosedOnceItsHandleIsGone() throws InterruptedException {
        CuFileHandle handle = handleOfAForgottenDriver();
        System.gc();
        assertThat(handle.size()).isEqualTo(12345);
        assertThat(backend.callsOf("driverClose")).isEmpty();

        handle.close();
        handle = null;

        assertThat(nextLog())
                .startsWith("WARNING CuFileDriver was never closed;"
                        + " made at io.gds4j.site.ForgottenTest.handleOfAForgottenDriver(");
        awaitCalls(1, "driverClose");
    }

    @Test
    void whatWasClosedIsNotLogged() throws InterruptedException {
        closeEverything();
        forgetHandleOfADriverThatIsClosed();
        try (CuFileDriver driver = CuFileDriver.open(new RecordingBackend())) {
            forgetHandle(driver);
            // The only one that was forgotten, and the last one that was made.
            assertThat(nextLog()).contains("forgetHandle(");
            assertThat(logged).isEmpty();
        }
    }

    private static void forgetHandle(CuFileDriver driver) {
        driver.openFile(Path.of("/data/a"));
    }

    private static void forgetOthers(CuFileDriver driver) {
        driver.registerBuffer(MemoryRange.ofAddress(4096, 64, MemoryKind.HOST));
        driver.batch(1);
        driver.stream(9, Set.of());
        driver.allocator().allocate(MemoryKind.HOST, 777);
    }

    private CuFileHandle handleOfAForgottenDriver() {
        return CuFileDriver.open(backend).openFile(Path.of("/data/a"));
    }

    private static void closeEverything() {
        try (CuFileDriver driver = CuFileDriver.open(new RecordingBackend());
                CuFileHandle handle = driver.openFile(Path.of("/data/closed"))) {
            handle.size();
        }
    }

    private static void forgetHandleOfADriverThatIsClosed() {
        try (CuFileDriver driver = CuFileDriver.open(new RecordingBackend())) {
            driver.openFile(Path.of("/data/dropped"));
        }
    }

    /** The warning comes first, the release behind it. */
    private void awaitCalls(int count, String... functions) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (backend.callsOf(functions).size() < count && System.nanoTime() < deadline) {
            Thread.onSpinWait();
        }
        assertThat(backend.callsOf(functions)).hasSize(count);
    }

    private String nextLog() throws InterruptedException {
        for (int i = 0; i < 200; i++) {
            System.gc();
            String line = logged.poll(50, TimeUnit.MILLISECONDS);
            if (line != null) {
                return line;
            }
        }
        throw new AssertionError("nothing was logged");
    }
}
