package io.gds4j.tools.guest;

import io.gds4j.CuFileDriver;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Calls on a disk that fails in a part of it (dm-error), or for seconds (dm-flakey), and is whole afterwards. */
@GuestTest
class FailingRangesTest {
    private static final boolean LONG = Long.getLong("gds4j.property.seconds", 0) >= 10;
    private static final int RANGES = LONG ? 16 : 4;
    private static final Path DEVICE = Path.of("/dev/mapper/bad");
    /** 128 MiB of the disk, so that the old state is soon back. */
    private static final long SECTORS = 1 << 18;

    private static CuFileDriver driver;
    private static Path point;

    @BeforeAll
    static void start() throws Exception {
        driver = CuFileDriver.open();
        point = Guest.newFolder();
        Guest.shell("dmsetup create bad --table '%s' && mkfs.ext4 -qF %s".formatted(whole(), DEVICE));
        mount();
        for (DiskWork work : DiskWork.values()) {
            work.prepare(driver, point);
        }
        Guest.run("umount", point.toString());
        // the old state, to go back to
        copy(DEVICE.toString(), "/dev/vdb");
    }

    @AfterAll
    static void stop() {
        driver.close();
        Guest.shell("dmsetup remove bad");
    }

    private static void mount() {
        Guest.run("mount", "-t", "ext4", DEVICE.toString(), point.toString());
    }

    private static String whole() {
        return "0 %s linear %s 0".formatted(SECTORS, Guest.DISK);
    }

    /** Gives the mounted disk another table. */
    private static void change(String table) {
        Guest.shell("dmsetup suspend --nolockfs bad && printf '%s' | dmsetup load bad && dmsetup resume bad"
                .formatted(table));
    }

    private static void run(DiskWork work, String table) throws Exception {
        mount();
        boolean succeeded;
        change(table);
        try {
            succeeded = Attempt.succeeds(work, driver, point);
        } finally {
            change(whole());
            Guest.run("umount", point.toString());
        }
        mount();
        try {
            work.check(driver, point, succeeded);
        } catch (AssertionError | RuntimeException e) {
            throw new AssertionError("after " + table.replace('\n', ' '), e);
        } finally {
            Guest.run("umount", point.toString());
        }
        System.out.printf("failing ranges: work=%s succeeded=%s table=%s%n", work, succeeded, table);
    }

    private static void restore() {
        copy("/dev/vdb", DEVICE.toString());
    }

    /** Past the page cache: what a device's cache wrote back later would change the disk below the file system. */
    private static void copy(String from, String to) {
        Guest.shell("dd if=%s of=%s bs=1M count=%s iflag=direct oflag=direct status=none"
                .formatted(from, to, SECTORS / 2048));
    }

    @ParameterizedTest
    @EnumSource
    void callReportsOrSucceedsWhicheverPartFails(DiskWork work) throws Exception {
        // file systems lay out new files from the front: the last ranges would only repeat what works
        long size = SECTORS / 2 / RANGES;
        for (int i = 0; i < RANGES; i++) {
            long from = i * size;
            restore();
            String table = "";
            if (from > 0) {
                table = "0 %s linear %s 0\\n".formatted(from, Guest.DISK);
            }
            table += "%s %s error\\n%s %s linear %s %3$s".formatted(
                    from, size, from + size, SECTORS - from - size, Guest.DISK);
            run(work, table);
        }
    }

    @Test
    void callReportsOrSucceedsWhileTheDiskComesAndGoes() throws Exception {
        for (String how : new String[]{"", " 1 error_writes", " 1 error_reads"}) {
            for (DiskWork work : LONG
                    ? DiskWork.values()
                    : new DiskWork[]{DiskWork.WRITE, DiskWork.SAVE, DiskWork.SHARDED_SAVE, DiskWork.CACHE}) {
                restore();
                run(work, "0 %s flakey %s 0 1 1%s".formatted(SECTORS, Guest.DISK, how));
            }
        }
    }
}
