package io.gds4j.tools.guest;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls on NFS whose server restarts or is gone. */
@GuestTest
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ServerGoneTest {
    private static final String PATIENT = "hard";
    private static final String IMPATIENT = "soft,timeo=5,retrans=1";
    /** The calls that meet a server that is gone; each costs the time of some requests and ten seconds of grace. */
    private static final List<DiskWork> WITHOUT_SERVER = Long.getLong("gds4j.property.seconds", 0) >= 10
            ? List.of(DiskWork.values())
            : List.of(DiskWork.READ, DiskWork.WRITE, DiskWork.SAVE, DiskWork.CACHE);

    private final CuFileDriver driver = CuFileDriver.open();

    private static Path newFolder(Path point) throws IOException {
        return Files.createTempDirectory(point, "work");
    }

    /** A hard mount waits for its server: calls under way do not notice. */
    @ParameterizedTest
    @ValueSource(strings = {"3", "4.2"})
    void callsGoOnWhileTheServerRestarts(String version) throws Exception {
        Path point = Guest.mountNfs(version, PATIENT);
        // one restart: after each, locks wait for ten seconds
        Thread server =
                new Thread(() -> Guest.shell("sleep 1; nfs-server stop && sleep 1 && nfs-server restart"), "server");
        server.start();
        boolean restarted;
        int calls = 0;
        do {
            restarted = !server.isAlive();
            Path folder = newFolder(point);
            for (DiskWork work : DiskWork.values()) {
                work.prepare(driver, folder);
                assertThat(Attempt.succeeds(work, driver, folder)).as("%s", work).isTrue();
                work.check(driver, folder, true);
                calls++;
            }
        } while (!restarted);
        System.out.printf("server restarts: nfs=%s calls=%s%n", version, calls);
        server.join();
        Guest.run("umount", point.toString());
    }

    /** A soft mount gives up: calls report, and the old or the new bytes are there once the server is. */
    @ParameterizedTest
    @ValueSource(strings = {"3", "4.2"})
    void callsReportAServerThatIsSilent(String version) throws Exception {
        Path point = Guest.mountNfs(version, IMPATIENT);
        Path folder = newFolder(point);
        for (DiskWork work : DiskWork.values()) {
            work.prepare(driver, folder);
        }
        for (DiskWork work : WITHOUT_SERVER) {
            boolean succeeded;
            Guest.run("nfs-server", "stop");
            try {
                succeeded = Attempt.succeeds(work, driver, folder);
            } finally {
                Guest.run("nfs-server", "restart");
            }
            System.out.printf("server gone: nfs=%s work=%s succeeded=%s%n", version, work, succeeded);
            assertThat(succeeded).as("%s without a server", work).isEqualTo(work == DiskWork.CACHE);
            Guest.shell("until cat %s/read >/dev/null; do sleep 0.1; done".formatted(folder));
            work.check(driver, folder, succeeded);
        }
        Guest.run("umount", point.toString());
    }

    /** A soft mount gives up in the middle of a call. */
    @ParameterizedTest
    @ValueSource(strings = {"3", "4.2"})
    void callsReportAServerThatGoesMeanwhile(String version) throws Exception {
        Path point = Guest.mountNfs(version, IMPATIENT);
        Path folder = newFolder(point);
        for (DiskWork work : DiskWork.values()) {
            work.prepare(driver, folder);
        }
        for (DiskWork work : WITHOUT_SERVER) {
            Thread server = new Thread(() -> Guest.run("nfs-server", "stop"), "server");
            server.start();
            boolean succeeded;
            try {
                succeeded = Attempt.succeeds(work, driver, folder);
            } finally {
                server.join();
                Guest.run("nfs-server", "restart");
            }
            System.out.printf("server goes: nfs=%s work=%s succeeded=%s%n", version, work, succeeded);
            Guest.shell("until cat %s/read >/dev/null; do sleep 0.1; done".formatted(folder));
            work.check(driver, folder, succeeded);
        }
        Guest.run("umount", point.toString());
    }
}
