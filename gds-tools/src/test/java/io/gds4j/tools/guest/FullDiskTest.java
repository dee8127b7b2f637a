package io.gds4j.tools.guest;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Calls on a disk with room for nothing, for a page more, and so on, until they succeed: the disk is full at the reservation, at the
 * first byte, at an index or at the commit.
 */
@Tag("guest")
@EnabledIf(value = "io.gds4j.tools.guest.CountingDisk#isPossible",
        disabledReason = "needs the virtual machine of dev/guest.sh, or nbdfuse and root")
class FullDiskTest {
    private static final int MEGABYTES = 48;
    private static final long PAGE = 4096;
    private static final long STEP = Long.getLong("gds4j.property.seconds", 0) >= 10 ? 4 : 64;
    private static final long MAX = 1024;

    @ParameterizedTest
    @EnumSource
    void callReportsOrSucceedsHoweverFullTheDiskIs(DiskWork work) throws Exception {
        Path point = Guest.newFolder();
        Path filler = point.resolve("filler");
        try (CountingDisk disk = CountingDisk.start(MEGABYTES); CuFileDriver driver = CuFileDriver.open()) {
            // without blocks for root
            Guest.run("mkfs.ext4", "-q", "-m", "0", disk.device().toString());
            Guest.run("mount", "-t", "ext4", disk.device().toString(), point.toString());
            work.prepare(driver, point);
            Guest.run("umount", point.toString());
            disk.keep();
            int reported = 0;
            int runs = 0;
            boolean succeeded = false;
            for (long pages = 0; !succeeded; pages += STEP) {
                assertThat(pages).as("pages that are not enough").isLessThan(MAX);
                disk.restore();
                Guest.run("mount", "-t", "ext4", disk.device().toString(), point.toString());
                // the filler takes all but the slack, whose room is then free
                Guest.shell("""
                        cd %s && { [ %2$s = 0 ] || fallocate -l %2$s slack; }
                        dd if=/dev/zero of=filler bs=256k conv=fsync status=none 2>/dev/null
                        rm -f slack && sync -f .""".formatted(point, pages * PAGE));
                succeeded = Attempt.succeeds(work, driver, point);
                Files.delete(filler);
                Guest.run("umount", point.toString());
                Guest.run("mount", "-t", "ext4", disk.device().toString(), point.toString());
                try {
                    work.check(driver, point, succeeded);
                } catch (AssertionError | RuntimeException e) {
                    throw new AssertionError("after %s free pages, succeeded=%s".formatted(pages, succeeded), e);
                } finally {
                    Guest.run("umount", point.toString());
                }
                runs++;
                reported += succeeded ? 0 : 1;
            }
            System.out.printf("full disk: work=%s runs=%s reported=%s%n", work, runs, reported);
        }
    }
}
