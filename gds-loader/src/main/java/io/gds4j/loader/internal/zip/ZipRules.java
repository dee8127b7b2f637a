package io.gds4j.loader.internal.zip;

import io.gds4j.loader.format.CheckpointRule;

/** The rules for zip files. */
final class ZipRules {
    /** Records, directory or headers that are missing, contradict each other or lie outside the file. */
    public static final CheckpointRule STRUCTURE = new CheckpointRule("ZipStructure", "broken zip file");
    /** A member whose name is empty or contains NUL. */
    public static final CheckpointRule MEMBER_NAME = new CheckpointRule("ZipMemberName", "broken zip file");
    /** Two members of one name. */
    public static final CheckpointRule DUPLICATE_MEMBER = new CheckpointRule("ZipDuplicateMember", "broken zip file");
    /** Two members that share bytes of the file. */
    public static final CheckpointRule OVERLAP = new CheckpointRule("ZipOverlap", "broken zip file");
    /** A member whose bytes have another CRC-32 than its entry. */
    public static final CheckpointRule CHECKSUM = new CheckpointRule("ZipChecksum", "broken zip file");

    private ZipRules() {
    }
}
