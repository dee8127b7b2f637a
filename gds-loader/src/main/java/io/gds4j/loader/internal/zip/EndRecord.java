package io.gds4j.loader.internal.zip;

import java.util.Optional;

/**
 * Where the central directory of a zip file is, as the records at the end of the file say.
 *
 * @param members number of members
 * @param offset offset of the central directory
 * @param length bytes of the central directory
 */
record EndRecord(long members, long offset, int length) {

    private static final int END_SIGNATURE = 0x06054b50;
    private static final int END_BYTES = 22;
    /** Longest comment that the end record can announce. */
    private static final int MAX_COMMENT = 0xFFFF;
    private static final int LOCATOR_SIGNATURE = 0x07064b50;
    private static final int LOCATOR_BYTES = 20;
    private static final int END64_SIGNATURE = 0x06064b50;
    private static final int END64_BYTES = 56;
    /** Bytes of a ZIP64 end record before the part that its size field counts. */
    private static final int END64_LEAD = 12;
    /** Bytes in which the end record of a file without a comment is found. */
    private static final int SHORT_TAIL = 256;
    /** Largest central directory in bytes; the limit of safetensors headers. */
    private static final long MAX_DIRECTORY_BYTES = 100_000_000;

    /** Finds and checks the records at the end of the file. */
    static EndRecord read(ZipSource file) {
        return find(file, SHORT_TAIL).or(() -> find(file, END_BYTES + MAX_COMMENT)).orElseThrow(() -> file.broken(
                file.size(),
                file.size() == 0
                        ? "the file is empty"
                        : "the end record of a zip file is missing; the file is cut, or is no zip file"));
    }

    /** Looks for the end record in the last bytes. */
    private static Optional<EndRecord> find(ZipSource file, int bytes) {
        int tailBytes = (int) Math.min(file.size(), bytes);
        long tailOffset = file.size() - tailBytes;
        LittleEndian tail = new LittleEndian(file.read(tailOffset, tailBytes));
        for (int at = tailBytes - END_BYTES; at >= 0; at--) {
            // the comment must reach the end of the file, else the signature is part of something else
            if (tail.u32(at) == END_SIGNATURE && at + END_BYTES + tail.u16(at + 20) == tailBytes) {
                return Optional.of(classic(file, tail, at, tailOffset + at));
            }
        }
        return Optional.empty();
    }

    private static EndRecord classic(ZipSource file, LittleEndian tail, int at, long offset) {
        int disk = tail.u16(at + 4);
        int directoryDisk = tail.u16(at + 6);
        int here = tail.u16(at + 8);
        long members = tail.u16(at + 10);
        long length = tail.u32(at + 12);
        long directory = tail.u32(at + 16);
        if (here != members || disk != directoryDisk || disk != 0 && disk != 0xFFFF) {
            throw file.broken(offset, "a zip file in several parts is not supported");
        }
        long end = offset;
        if (offset >= LOCATOR_BYTES) {
            LittleEndian locator = new LittleEndian(file.read(offset - LOCATOR_BYTES, LOCATOR_BYTES));
            if (locator.u32(0) == LOCATOR_SIGNATURE) {
                end = locator.u64(8);
                LittleEndian end64 = end64(file, end, offset - LOCATOR_BYTES);
                members = agree(file, end, "number of members", members, 0xFFFF, end64.u64(32));
                length = agree(file, end, "size", length, LittleEndian.ABSENT_32, end64.u64(40));
                directory = agree(file, end, "offset", directory, LittleEndian.ABSENT_32, end64.u64(48));
            }
        }
        if (length < 0 || directory < 0 || directory > end || length > end - directory) {
            throw file.broken(offset,
                    "the central directory, %s bytes at %s, lies outside the file, whose end record is at %s"
                            .formatted(Long.toUnsignedString(length), Long.toUnsignedString(directory), end));
        }
        if (directory + length != end) {
            throw file.broken(offset,
                    "the central directory ends at %s, but the end record is at %s; bytes precede or follow the zip file"
                            .formatted(directory + length, end));
        }
        if (length > MAX_DIRECTORY_BYTES) {
            throw file.broken(offset,
                    "the central directory has %s bytes, at most %s are allowed"
                            .formatted(length, MAX_DIRECTORY_BYTES));
        }
        return new EndRecord(members, directory, (int) length);
    }

    private static LittleEndian end64(ZipSource file, long end, long locator) {
        if (end < 0 || end > locator - END64_BYTES) {
            throw file.broken(locator,
                    "the ZIP64 end record at %s lies outside the file".formatted(Long.toUnsignedString(end)));
        }
        LittleEndian record = new LittleEndian(file.read(end, END64_BYTES));
        if (record.u32(0) != END64_SIGNATURE) {
            throw file.broken(end, "the ZIP64 end record is missing");
        }
        if (record.u64(4) != locator - end - END64_LEAD) {
            throw file.broken(end,
                    "the ZIP64 end record claims %s bytes, but %s lie between it and its locator"
                            .formatted(Long.toUnsignedString(record.u64(4)), locator - end - END64_LEAD));
        }
        if (record.u32(16) != 0 || record.u32(20) != 0 || record.u64(24) != record.u64(32)) {
            throw file.broken(end, "a zip file in several parts is not supported");
        }
        return record;
    }

    /** Returns the ZIP64 value; the classic one must be equal or say that it does not fit. */
    private static long agree(
            ZipSource file, long end, String what, long classic, long absent, long value) {
        if (classic != absent && classic != value) {
            throw file.broken(end,
                    "the %s of the central directory is %s in the ZIP64 end record and %s in the end record"
                            .formatted(what, Long.toUnsignedString(value), classic));
        }
        return value;
    }
}
