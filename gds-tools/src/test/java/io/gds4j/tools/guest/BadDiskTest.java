package io.gds4j.tools.guest;

import io.gds4j.CuFileDriver;
import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every request that a call makes to its disk fails once: the first, the second and so on, until the call makes no further ones.
 * The call succeeds or reports; afterwards no wrong bytes pass for right ones, and the next call removes what was left.
 *
 * <p>
 * {@code -Dgds4j.guest.fs=xfs} takes another file system, {@code -Dgds4j.guest.work=SAVE.*} some of the calls. A run of less than 10 {@code gds4j.property.seconds} leaves out most numbers.
 */
@Tag("guest")
@EnabledIf(value = "io.gds4j.tools.guest.CountingDisk#isPossible",
        disabledReason = "needs the virtual machine of dev/guest.sh, or nbdfuse and root")
class BadDiskTest {
    private static final int MEGABYTES = 320;
    private static final int MAX = 200;
    private static final int SHORT_STEP = 9;
    private static final int STEP = Long.getLong("gds4j.property.seconds", 0) >= 10 ? 1 : SHORT_STEP;
    private static final String FILE_SYSTEM = System.getProperty("gds4j.guest.fs", "ext4");
    private static final String WORK = System.getProperty("gds4j.guest.work", ".*");

    private static CountingDisk disk;
    private static CuFileDriver driver;
    private static Path point;

    @BeforeAll
    static void start() throws IOException {
        disk = CountingDisk.start(MEGABYTES);
        driver = CuFileDriver.open();
        point = Guest.newFolder();
        Guest.shell("mkfs.%s -q %s".formatted(FILE_SYSTEM, disk.device()));
        mount();
        for (DiskWork work : DiskWork.values()) {
            work.prepare(driver, point);
            // classes are loaded, so that a run is about the disk
            work.run(driver, point);
        }
        Guest.run("umount", point.toString());
        Guest.shell("mkfs.%s -q %s %s".formatted(
                FILE_SYSTEM, FILE_SYSTEM.equals("ext4") ? "-F" : "-f", disk.device()));
        mount();
        for (DiskWork work : DiskWork.values()) {
            work.prepare(driver, point);
        }
        Guest.run("umount", point.toString());
        disk.keep();
    }

    @AfterAll
    static void stop() {
        driver.close();
        disk.close();
    }

    private static void mount() {
        Guest.run("mount", "-t", FILE_SYSTEM, disk.device().toString(), point.toString());
    }

    static Stream<Arguments> workAndRequests() {
        return Stream.of(DiskWork.values()).filter(work -> work.name().matches(WORK)).flatMap(work -> Stream
                .of(CountingDisk.Request.values())
                .flatMap(request -> Stream.of(Arguments.of(work, request, false), Arguments.of(work, request, true))));
    }

    @ParameterizedTest
    @MethodSource("workAndRequests")
    void callReportsOrSucceedsWhicheverRequestFails(DiskWork work, CountingDisk.Request request, boolean goesOn)
            throws Exception {
        int reported = 0;
        int runs = 0;
        // what fails for ever differs little from one number to the next
        int step = goesOn ? SHORT_STEP : STEP;
        int number = 1;
        boolean failed = true;
        for (; failed && number <= MAX; number += step) {
            runs++;
            disk.restore();
            mount();
            boolean succeeded;
            try {
                if (goesOn) {
                    disk.failFrom(request, number);
                } else {
                    disk.fail(request, number);
                }
                succeeded = Attempt.succeeds(work, driver, point);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("%s %s %s".formatted(request, goesOn ? "from" : "only", number), e);
            } finally {
                failed = disk.heal();
                // a descriptor that was left open would keep the disk busy
                Guest.run("umount", point.toString());
            }
            reported += succeeded ? 0 : 1;
            mount();
            try {
                work.check(driver, point, succeeded);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("after %s %s %s, which the call %s".formatted(
                        request, goesOn ? "from" : "only", number, succeeded ? "survived" : "reported"), e);
            } finally {
                Guest.run("umount", point.toString());
            }
        }
        System.out.printf("bad disk: on=%s work=%s fails=%s %s runs=%s reported=%s%n",
                FILE_SYSTEM, work, request, goesOn ? "from" : "only", runs, reported);
    }
}
