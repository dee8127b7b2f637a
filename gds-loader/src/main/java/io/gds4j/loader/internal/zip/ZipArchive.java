package io.gds4j.loader.internal.zip;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.FormatInput;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.zip.CRC32;

/**
 * The members of a zip file, as its central directory describes them, with the position of each member's data from the member's
 * local header. Reads no data and decompresses nothing.
 *
 * <p>
 * Rejects what two readers could understand differently: members that overlap, duplicate names, local headers that contradict the
 * directory, a directory outside the file. Any other name is allowed: nothing is extracted, so a name is no path.
 */
public final class ZipArchive {
    private static final int ENTRY_SIGNATURE = 0x02014b50;
    private static final int ENTRY_BYTES = 46;
    private static final int ENTRY_CRC = 16;
    private static final int LOCAL_SIGNATURE = 0x04034b50;
    private static final int LOCAL_BYTES = 30;
    private static final int LOCAL_CRC = 14;
    private static final int LOCAL_NAME_LENGTH = 26;
    private static final int ZIP64_FIELD = 1;
    private static final int FLAG_ENCRYPTED = 1;
    private static final int FLAG_SIZES_FOLLOW = 8;

    /** An entry of the central directory. */
    private record Entry(
            String name, byte[] rawName, long offset, long header, long stored, long bytes, int method, int crc) {
        /** Returns the name for a message. */
        String quoted() {
            return CheckpointException.quote(name);
        }
    }

    private final ZipSource file;
    private final EndRecord end;
    private final Map<String, Member> members = new LinkedHashMap<>();

    private ZipArchive(ZipSource file, EndRecord end) {
        this.file = file;
        this.end = end;
    }

    /**
     * Returns the names of the members in the order of the central directory, for the recognition of a format. In a broken
     * zip file it returns the name in the first local header, and in any other file nothing.
     */
    public static List<String> names(FileHead head) {
        if (!head.startsWith((byte) 'P', (byte) 'K', (byte) 3, (byte) 4) || head.size() < LOCAL_BYTES) {
            return List.of();
        }
        try {
            ZipSource file = new ZipSource(head, Path.of(""));
            return new ZipArchive(file, EndRecord.read(file))
                    .entries().stream().map(Entry::name).toList();
        } catch (CheckpointException broken) {
            ByteBuffer first = head.first();
            byte[] name = new byte[Math.min(
                    Short.toUnsignedInt(first.getShort(LOCAL_NAME_LENGTH)), first.limit() - LOCAL_BYTES)];
            first.get(LOCAL_BYTES, name);
            return List.of(new String(name, StandardCharsets.ISO_8859_1));
        }
    }

    /**
     * Reads and checks the central directory and all local headers.
     *
     * @throws CheckpointException if the file breaks a rule
     */
    public static ZipArchive read(FormatInput in) {
        return read(in, in.path());
    }

    /** Reads an archive that may be a part of the file at {@code path}; see {@link #read(FormatInput)}. */
    public static ZipArchive read(FileHead in, Path path) {
        ZipSource file = new ZipSource(in, path);
        ZipArchive archive = new ZipArchive(file, EndRecord.read(file));
        List<Entry> entries = archive.entries();
        entries.sort(Comparator.comparingLong(Entry::header));
        Member previous = null;
        for (Entry entry : entries) {
            Member member = archive.member(entry);
            if (previous != null && member.headerOffset() < previous.dataEnd()) {
                throw file.broken(
                        ZipRules.OVERLAP,
                        member.headerOffset(),
                        "member %s begins at %s, within member %s, which ends at %s"
                                .formatted(
                                        CheckpointException.quote(member.name()),
                                        member.headerOffset(),
                                        CheckpointException.quote(previous.name()),
                                        previous.dataEnd()));
            }
            if (archive.members.putIfAbsent(member.name(), member) != null) {
                throw file.broken(
                        ZipRules.DUPLICATE_MEMBER,
                        member.headerOffset(),
                        "member %s occurs twice".formatted(CheckpointException.quote(member.name())));
            }
            previous = member;
        }
        return archive;
    }

    /** Receives ranges of a file. */
    public interface Ranges {
        void accept(long begin, long end);
    }

    /**
     * Tells which bytes have no effect on a caller that reads the data of some members: that of the others, what lies behind any
     * data, and the checksums.
     */
    public void forEachUnread(Predicate<Member> read, Ranges sink) {
        long end = this.end.offset();
        for (Member member : List.copyOf(members.values()).reversed()) {
            sink.accept(read.test(member) ? member.dataEnd() : member.dataOffset(), end);
            sink.accept(member.headerOffset() + LOCAL_CRC, member.headerOffset() + LOCAL_CRC + Integer.BYTES);
            sink.accept(member.entryOffset() + ENTRY_CRC, member.entryOffset() + ENTRY_CRC + Integer.BYTES);
            end = member.headerOffset();
        }
    }

    /** Returns the members in the order of their data. */
    public Collection<Member> members() {
        return Collections.unmodifiableCollection(members.values());
    }

    /** Returns the member with this name. */
    public Optional<Member> member(String name) {
        return Optional.ofNullable(members.get(name));
    }

    private List<Entry> entries() {
        // checked before the list exists: the number of members is bounded by the bytes that describe them
        if (end.members() < 0 || end.members() > end.length() / ENTRY_BYTES) {
            throw file.broken(end.offset(),
                    "%s members are announced, but the central directory of %s bytes has room for %s"
                            .formatted(
                                    Long.toUnsignedString(end.members()), end.length(), end.length() / ENTRY_BYTES));
        }
        LittleEndian directory = new LittleEndian(file.read(end.offset(), end.length()));
        List<Entry> entries = new ArrayList<>((int) end.members());
        int at = 0;
        for (long i = 0; i < end.members(); i++) {
            at = entry(directory, at, entries);
        }
        if (at != end.length()) {
            throw file.broken(end.offset() + at,
                    "%s bytes of the central directory follow its %s members"
                            .formatted(end.length() - at, end.members()));
        }
        return entries;
    }

    /** Reads the entry at {@code at}; returns where the next one begins. */
    private int entry(LittleEndian directory, int at, List<Entry> entries) {
        long offset = end.offset() + at;
        if (directory.length() - at < ENTRY_BYTES || directory.u32(at) != ENTRY_SIGNATURE) {
            throw file.broken(offset, "an entry of the central directory is missing");
        }
        int nameBytes = directory.u16(at + 28);
        int extraBytes = directory.u16(at + 30);
        int nameAt = at + ENTRY_BYTES;
        int extraAt = nameAt + nameBytes;
        int next = extraAt + extraBytes + directory.u16(at + 32);
        if (next > directory.length()) {
            throw file.broken(offset, "an entry reaches past the end of the central directory");
        }
        byte[] rawName = directory.bytes(nameAt, extraAt);
        String name = name(rawName, offset);
        int flags = directory.u16(at + 8);
        if ((flags & FLAG_ENCRYPTED) != 0) {
            throw file.broken(
                    CheckpointRule.UNSUPPORTED_FORMAT,
                    offset,
                    "member %s is encrypted".formatted(CheckpointException.quote(name)));
        }
        long bytes = directory.u32(at + 24);
        long stored = directory.u32(at + 20);
        long header = directory.u32(at + 42);
        int field = zip64Field(directory, extraAt, extraAt + extraBytes, name);
        int fieldEnd = field < 0 ? -1 : field + directory.u16(field - 2);
        // the field has only the numbers that do not fit, in this order
        if (bytes == LittleEndian.ABSENT_32) {
            bytes = zip64(directory, field, fieldEnd, offset, name);
            field += Long.BYTES;
        }
        if (stored == LittleEndian.ABSENT_32) {
            stored = zip64(directory, field, fieldEnd, offset, name);
            field += Long.BYTES;
        }
        if (header == LittleEndian.ABSENT_32) {
            header = zip64(directory, field, fieldEnd, offset, name);
        }
        entries.add(new Entry(name, rawName, offset, header, stored, bytes, directory.u16(at + 10),
                (int) directory.u32(at + ENTRY_CRC)));
        return next;
    }

    /** Returns where the content of the ZIP64 field begins, or -1; {@code from} and {@code to} bound the extra fields. */
    private int zip64Field(LittleEndian directory, int from, int to, String name) {
        int found = -1;
        for (int at = from; at < to;) {
            int content = at + 4;
            if (content > to || directory.u16(at + 2) > to - content) {
                throw file.broken(end.offset() + at,
                        "an extra field of member %s reaches past its entry"
                                .formatted(CheckpointException.quote(name)));
            }
            if (directory.u16(at) == ZIP64_FIELD) {
                if (found >= 0) {
                    throw file.broken(end.offset() + at,
                            "member %s has two ZIP64 fields".formatted(CheckpointException.quote(name)));
                }
                found = content;
            }
            at = content + directory.u16(at + 2);
        }
        return found;
    }

    private long zip64(LittleEndian directory, int at, int fieldEnd, long offset, String name) {
        if (at < 0 || fieldEnd - at < Long.BYTES) {
            throw file.broken(offset,
                    "the ZIP64 field of member %s is missing or too short".formatted(CheckpointException.quote(name)));
        }
        return directory.u64(at);
    }

    private String name(byte[] raw, long offset) {
        String name = new String(raw, StandardCharsets.UTF_8);
        if (!Arrays.equals(name.getBytes(StandardCharsets.UTF_8), raw)) {
            // writers without the UTF-8 flag; one character for each byte keeps different names different
            name = new String(raw, StandardCharsets.ISO_8859_1);
        }
        String what = null;
        if (name.isEmpty()) {
            what = "is empty";
        } else if (name.indexOf('\0') >= 0) {
            what = "contains NUL";
        }
        if (what != null) {
            throw file.broken(
                    ZipRules.MEMBER_NAME,
                    offset,
                    "the name of member %s %s".formatted(CheckpointException.quote(name), what));
        }
        return name;
    }

    /** Reads the local header of an entry, which alone says where the data begins. */
    private Member member(Entry entry) {
        int headBytes = LOCAL_BYTES + entry.rawName.length;
        if (entry.header < 0 || entry.header > end.offset() - headBytes) {
            throw file.broken(end.offset(),
                    "the local header of member %s is at %s, but the central directory begins at %s"
                            .formatted(entry.quoted(), Long.toUnsignedString(entry.header), end.offset()));
        }
        LittleEndian local = new LittleEndian(file.read(entry.header, headBytes));
        if (local.u32(0) != LOCAL_SIGNATURE) {
            throw file.broken(entry.header, "the local header of member %s is missing".formatted(entry.quoted()));
        }
        boolean sizesFollow = (local.u16(6) & FLAG_SIZES_FOLLOW) != 0;
        long size = local.u32(18);
        if (local.u16(8) != entry.method
                || local.u16(LOCAL_NAME_LENGTH) != entry.rawName.length
                || !Arrays.equals(local.bytes(LOCAL_BYTES, headBytes), entry.rawName)
                || !sizesFollow && size != LittleEndian.ABSENT_32 && size != entry.stored) {
            throw file.broken(entry.header,
                    "the local header of member %s contradicts the central directory".formatted(entry.quoted()));
        }
        long data = entry.header + headBytes + local.u16(28);
        if (entry.stored < 0 || data > end.offset() || entry.stored > end.offset() - data) {
            throw file.broken(entry.header,
                    "member %s, %s bytes at %s, reaches into the central directory at %s"
                            .formatted(entry.quoted(), Long.toUnsignedString(entry.stored), data, end.offset()));
        }
        if (entry.method == Member.STORED && entry.bytes != entry.stored) {
            throw file.broken(entry.header,
                    "member %s is not compressed, but has %s bytes stored as %s"
                            .formatted(entry.quoted(), Long.toUnsignedString(entry.bytes), entry.stored));
        }
        return new Member(
                entry.name, entry.offset, entry.header, data, entry.stored, entry.bytes, entry.method, entry.crc);
    }

    /**
     * Reads the members that are stored as they are and hold tensors, and compares their bytes with the CRC-32 in their entries.
     *
     * @param tensors offsets of tensors in the file
     * @param buffer memory that the reads pass through
     * @throws CheckpointException {@link ZipRules#CHECKSUM} for the first member that differs; as {@link #read}
     */
    public static void checkSums(FormatInput in, NavigableSet<Long> tensors, ByteBuffer buffer) {
        for (Member member : read(in).members()) {
            Long tensor = tensors.ceiling(member.dataOffset());
            if (!member.stored() || tensor == null || tensor >= member.dataEnd()) {
                continue;
            }
            CRC32 crc = new CRC32();
            for (long at = member.dataOffset(); at < member.dataEnd();) {
                buffer.clear().limit((int) Math.min(buffer.capacity(), member.dataEnd() - at));
                in.read(at, buffer);
                at += buffer.position();
                crc.update(buffer.flip());
            }
            if ((int) crc.getValue() != member.crc()) {
                throw CheckpointException.of(
                        ZipRules.CHECKSUM,
                        in.path(),
                        member.dataOffset(),
                        "the bytes of member %s have the CRC-32 %08x, its entry says %08x".formatted(
                                CheckpointException.quote(member.name()), (int) crc.getValue(), member.crc()));
            }
        }
    }

    /**
     * A member of a zip file.
     *
     * @param name name in the archive, with {@code /} between folders
     * @param entryOffset offset of the entry in the central directory
     * @param headerOffset offset of the local header in the file
     * @param dataOffset offset of the first byte of the member's data
     * @param storedBytes bytes of the data in the file
     * @param bytes bytes of the data after decompression
     * @param method compression method; 0 means that the data is stored as it is
     * @param crc CRC-32 of the data after decompression
     */
    public record Member(
            String name, long entryOffset, long headerOffset, long dataOffset, long storedBytes, long bytes, int method,
            int crc) {

        /** Compression method of members that are stored as they are. */
        static final int STORED = 0;

        /** Returns the offset after the last byte of data in the file. */
        public long dataEnd() {
            return dataOffset + storedBytes;
        }

        /** Returns whether the bytes in the file are the member's content. */
        public boolean stored() {
            return method == STORED;
        }
    }
}
