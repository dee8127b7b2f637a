package io.gds4j.site;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.Logged;
import io.gds4j.RecordingBackend;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests that the garbage collector closes forgotten objects. */
@Timeout(120)
class ForgottenTest {
    // Other tests forget objects, too.
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("ForgottenTest");

    private final RecordingBackend backend = new RecordingBackend();

    @Test
    void forgottenHandleIsLoggedWithItsSiteAndDeregistered() throws InterruptedException {
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            forgetHandle(driver);

            assertThat(logged.nextAfterCollection())
                    .startsWith("WARNING CuFileHandle of /data/a was never closed;"
                            + " made at io.gds4j.site.ForgottenTest.forgetHandle(ForgottenTest.java:");
            awaitCalls(1, "handleDeregister");
            assertThat(backend.callsOf("handleDeregister")).containsExactly("handleDeregister /data/a");
        }
        assertThat(backend.callsOf("handleDeregister")).hasSize(1);
    }

    @Test
    void forgottenBuffersBatchesStreamsAndMemoryAreReleased() throws InterruptedException {
        try (CuFileDriver driver = CuFileDriver.open(backend)) {
            forgetOthers(driver);

            List<String> lines = List.of(logged.nextAfterCollection(), logged.nextAfterCollection(),
                    logged.nextAfterCollection(), logged.nextAfterCollection());
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
    void forgottenDriverIsClosedAfterItsHandle() throws InterruptedException {
        CuFileHandle handle = handleOfAForgottenDriver();
        System.gc();
        assertThat(handle.size()).isEqualTo(12345);
        assertThat(backend.callsOf("driverClose")).isEmpty();

        handle.close();
        handle = null;

        assertThat(logged.nextAfterCollection())
                .startsWith("WARNING CuFileDriver was never closed;"
                        + " made at io.gds4j.site.ForgottenTest.handleOfAForgottenDriver(");
        awaitCalls(1, "driverClose");
    }

    @Test
    void closedObjectsAreNotLogged() throws InterruptedException {
        closeEverything();
        forgetHandleOfADriverThatIsClosed();
        try (CuFileDriver driver = CuFileDriver.open(new RecordingBackend())) {
            forgetHandle(driver);
            // This handle is the only forgotten object, and the youngest.
            assertThat(logged.nextAfterCollection()).contains("forgetHandle(");
            assertThat(logged.records()).isEmpty();
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

    /** Waits for the release, which follows the warning. */
    private void awaitCalls(int count, String... functions) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (backend.callsOf(functions).size() < count && System.nanoTime() < deadline) {
            Thread.onSpinWait();
        }
        assertThat(backend.callsOf(functions)).hasSize(count);
    }
}
