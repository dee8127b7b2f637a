package io.gds4j.tools.power;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.save.UnforcedSave.Omission;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A file system of the guest, and the operations on it. */
enum Recording {
    EXT4("ext4", "", 512),
    EXT4_JOURNAL("ext4", "data=journal", 512),
    XFS("xfs", "", 512),
    BTRFS("btrfs", "", 512),
    EXT4_4096("ext4", "", 4096),
    XFS_4096("xfs", "", 4096),
    BTRFS_4096("btrfs", "", 4096),
    EXT4_NO_FOLDER("ext4", Omission.FOLDER),
    XFS_NO_FOLDER("xfs", Omission.FOLDER),
    BTRFS_NO_FOLDER("btrfs", Omission.FOLDER),
    EXT4_NO_FILE("ext4", Omission.FILE),
    XFS_NO_FILE("xfs", Omission.FILE),
    BTRFS_NO_FILE("btrfs", Omission.FILE),
    EXT4_KILLED("ext4"),
    XFS_KILLED("xfs"),
    BTRFS_KILLED("btrfs");

    /** Folder of the guest in which the disks are mounted. */
    static final String MOUNTS = "/mnt";
    static final long MEGABYTES = 256;
    /** Mark of the moment when the file system is mounted. */
    static final String MOUNTED = "mounted";
    private static final long BLOCK_OF_XFS = 4096;
    private static final long SUPERBLOCK_OF_EXT4 = 1024;
    private static final long LOG_MEGABYTES = 4096;

    private final String type;
    private final String options;
    private final int block;
    private final List<Omission> omissions;
    private final boolean logs;

    Recording(String type, String options, int block) {
        this.type = type;
        this.options = options;
        this.block = block;
        this.omissions = List.of();
        this.logs = true;
    }

    /** A control: saves that leave something out, so that cuts must find them broken. */
    Recording(String type, Omission omission) {
        this.type = type;
        this.options = "";
        this.block = 512;
        this.omissions = List.of(omission);
        this.logs = true;
    }

    /** A disk without a log, of a machine that is killed. */
    Recording(String type) {
        this.type = type;
        this.options = "";
        this.block = 512;
        this.omissions = List.of();
        this.logs = false;
    }

    String type() {
        return type;
    }

    String options() {
        return options;
    }

    boolean isControl() {
        return !omissions.isEmpty();
    }

    /**
     * Returns how many bytes of a write the disk writes wholly or not at all: a sector, and what a file system takes for that and does
     * not mount without. XFS does so with the blocks of its folders, and ext4 with its superblock, which it reads before the journal
     * that could mend it.
     */
    long atomicBytes(WriteLog.Entry write, int sector) {
        if (!write.isMetadata()) {
            return sector;
        }
        return Math.max(sector, switch (type) {
            case "xfs" -> BLOCK_OF_XFS;
            case "ext4" -> SUPERBLOCK_OF_EXT4;
            default -> 0;
        });
    }

    /** Returns whether each write to the disk is logged. */
    boolean logs() {
        return logs;
    }

    private String mountPoint() {
        return MOUNTS + "/" + this;
    }

    /** Returns what runs: all that keeps promises, or the control. */
    List<Operation> operations(CuFileDriver driver, CachedReads cache) {
        if (isControl()) {
            return List.of(Checkpoints.unforced(driver, omissions.getFirst()));
        }
        List<Operation> all = new ArrayList<>(List.of(
                Checkpoints.savePlan(driver),
                Checkpoints.shardedSave(driver),
                Checkpoints.convert(driver),
                cache));
        all.addAll(Handles.all(driver));
        return all;
    }

    /**
     * Returns the command that runs the operations in the guest, on disks in a folder.
     *
     * @param before operations that have returned on these disks, in another guest; 0 for new disks
     */
    static List<String> guest(List<Recording> recordings, Path folder, int port, int rounds, int before) {
        List<String> program = new ArrayList<>(List.of(System.getProperty("gds4j.guest.java"),
                PowerRecord.class.getName(), Integer.toString(port), Integer.toString(rounds), Integer.toString(before),
                MOUNTS));
        recordings.forEach(recording -> program.add(recording.toString()));
        List<String> command =
                new ArrayList<>(
                        List.of(System.getProperty("gds4j.guest"), "run", "-t",
                                System.getProperty("gds4j.guest.limit")));
        command.addAll(disks(recordings, folder.toString()));
        command.add(command(recordings, before == 0, String.join(" ", program)));
        return command;
    }

    /** Returns the options of dev/guest.sh that give it the disks of these recordings, named after them in a folder. */
    private static List<String> disks(List<Recording> recordings, String folder) {
        List<String> options = new ArrayList<>();
        for (Recording recording : recordings) {
            String file = folder + "/" + recording;
            options.addAll(List.of(recording.block == 512 ? "-d" : "-n", "%s.disk,%s".formatted(file, MEGABYTES)));
            if (recording.logs) {
                options.addAll(List.of("-d", "%s.log,%s".formatted(file, LOG_MEGABYTES)));
            }
        }
        return options;
    }

    /** Returns the shell command that makes new disks, mounts them in the guest, runs a program and ends the logs. */
    private static String command(List<Recording> recordings, boolean areNew, String program) {
        List<String> before = new ArrayList<>();
        List<String> after = new ArrayList<>();
        int disks = 0;
        int nvmes = 0;
        for (Recording recording : recordings) {
            String disk = recording.block == 512 ? "/dev/vd" + (char) ('a' + disks++) : "/dev/nvme" + nvmes++ + "n1";
            if (recording.logs) {
                before.add("dmsetup create %1$s --table \"0 $(blockdev --getsz %2$s) log-writes %2$s /dev/vd%3$s\""
                        .formatted(recording, disk, (char) ('a' + disks++)));
                disk = "/dev/mapper/" + recording;
            }
            if (areNew) {
                before.add(switch (recording.type) {
                    case "ext4" -> "mkfs.ext4 -q -J size=8 ";
                    case "xfs" -> "mkfs.xfs -q -f --unsupported ";
                    default -> "mkfs.btrfs -q -f ";
                } + disk);
            }
            String options = recording.options.isEmpty() ? "rw" : recording.options;
            before.add("mkdir -p " + recording.mountPoint());
            before.add("mount -t %s -o %s %s %s".formatted(recording.type, options, disk, recording.mountPoint()));
            before.add("sync");
            after.add("umount " + recording.mountPoint());
            if (recording.logs) {
                before.add("dmsetup message %s 0 mark %s".formatted(recording, MOUNTED));
                after.add("dmsetup remove " + recording);
            }
        }
        return String.join(" && ", before) + " && " + program + " && " + String.join(" && ", after);
    }
}
