package io.gds4j.loader.format;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;

/**
 * Writes zip files as {@code torch.save} and NumPy write them, member by member, and lets a test break each field. Knows nothing
 * of the reader.
 */
public final class ZipBytes {
    /** A member in the making; the fields are what the central directory will say. */
    public static final class Member {
        String name;
        public long headerOffset;
        public long stored;
        public long bytes;
        public int method;
        public int flags;
        public byte[] extra = {};
        public long crc;
    }

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final List<Member> members = new ArrayList<>();
    private final boolean descriptors;
    private final int alignment;
    /** True to write the ZIP64 records, as torch does for every file. */
    public boolean zip64End;

    private ZipBytes(boolean descriptors, int alignment, boolean zip64End) {
        this.descriptors = descriptors;
        this.alignment = alignment;
        this.zip64End = zip64End;
    }

    /** Sizes follow the data; payloads are aligned to 64 bytes by an extra field; ZIP64 records at the end. */
    public static ZipBytes asTorch() {
        return new ZipBytes(true, 64, true);
    }

    /** Sizes are in the local headers. */
    public static ZipBytes plain() {
        return new ZipBytes(false, 1, false);
    }

    /** Adds a member; returns it for changes of the central directory. */
    public Member add(String name, byte[] content) {
        return add(name, content, 0, content.length);
    }

    /** Adds a member with a compression method and the size of its content. */
    public Member add(String name, byte[] content, int method, long bytes) {
        Member member = new Member();
        member.name = name;
        member.headerOffset = out.size();
        member.stored = content.length;
        member.bytes = bytes;
        member.method = method;
        member.flags = 0x800 | (descriptors && content.length > 0 ? 8 : 0);
        CRC32 crc = new CRC32();
        crc.update(content);
        member.crc = crc.getValue();
        byte[] raw = name.getBytes(StandardCharsets.UTF_8);
        int unpadded = out.size() + 30 + raw.length + 4;
        int padding = alignment == 1 ? -4 : -unpadded & (alignment - 1);
        ByteBuffer local = buffer(30 + raw.length + 4 + padding);
        local.putInt(0x04034b50).putShort((short) 20).putShort((short) member.flags).putShort((short) method);
        local.putInt(0).putInt(descriptors ? 0 : (int) crc.getValue());
        local.putInt(descriptors ? 0 : content.length).putInt(descriptors ? 0 : (int) bytes);
        local.putShort((short) raw.length).putShort((short) (4 + padding)).put(raw);
        if (alignment > 1) {
            local.putShort((short) 0x4246).putShort((short) padding);
            while (local.hasRemaining()) {
                local.put((byte) 'Z');
            }
        }
        out.writeBytes(local.array());
        out.writeBytes(content);
        if (descriptors && content.length > 0) {
            out.writeBytes(buffer(16).putInt(0x08074b50).putInt((int) crc.getValue()).putInt(content.length)
                    .putInt((int) bytes).array());
        }
        members.add(member);
        return member;
    }

    /** Adds bytes that belong to no member. */
    public ZipBytes raw(byte... bytes) {
        out.writeBytes(bytes);
        return this;
    }

    /** Returns the number of bytes so far. */
    public int position() {
        return out.size();
    }

    /** Writes the central directory and the end records. */
    public byte[] finish() {
        return finish(members.size(), 0, 0);
    }

    /** Writes the end with another number of members, and offset and length that are wrong by some bytes. */
    public byte[] finish(long count, long offsetError, long lengthError) {
        ByteArrayOutputStream directory = new ByteArrayOutputStream();
        for (Member member : members) {
            byte[] raw = member.name.getBytes(StandardCharsets.UTF_8);
            boolean large = member.bytes >= 0xFFFFFFFFL || member.headerOffset >= 0xFFFFFFFFL
                    || member.bytes < 0 || member.headerOffset < 0;
            byte[] extra = member.extra;
            if (large) {
                extra = buffer(4 + 24).putShort((short) 1).putShort((short) 24).putLong(member.bytes)
                        .putLong(member.stored).putLong(member.headerOffset).array();
            }
            ByteBuffer entry = buffer(46 + raw.length + extra.length);
            entry.putInt(0x02014b50).putShort((short) 20).putShort((short) 20).putShort((short) member.flags);
            entry.putShort((short) member.method).putInt(0).putInt((int) member.crc);
            entry.putInt(large ? -1 : (int) member.stored).putInt(large ? -1 : (int) member.bytes);
            entry.putShort((short) raw.length).putShort((short) extra.length).putShort((short) 0);
            entry.putShort((short) 0).putShort((short) 0).putInt(0);
            entry.putInt(large ? -1 : (int) member.headerOffset).put(raw).put(extra);
            directory.writeBytes(entry.array());
        }
        int at = out.size();
        out.writeBytes(directory.toByteArray());
        out.writeBytes(end(at + offsetError, directory.size() + lengthError, count, out.size(), zip64End));
        return out.toByteArray();
    }

    /** Returns end records for a directory at an offset. */
    public static byte[] end(long offset, long length, long count, long position, boolean zip64) {
        boolean fits = !zip64 || offset >= 0 && offset < 0xFFFFFFFFL && length >= 0 && length < 0xFFFFFFFFL;
        ByteBuffer end = buffer(zip64 ? 56 + 20 + 22 : 22);
        if (zip64) {
            end.putInt(0x06064b50).putLong(44).putShort((short) 45).putShort((short) 45).putInt(0).putInt(0);
            end.putLong(count).putLong(count).putLong(length).putLong(offset);
            end.putInt(0x07064b50).putInt(0).putLong(position).putInt(1);
        }
        short small = count > 0xFFFF || count < 0 ? -1 : (short) count;
        end.putInt(0x06054b50).putShort((short) 0).putShort((short) 0).putShort(small).putShort(small);
        end.putInt(fits ? (int) length : -1).putInt(fits ? (int) offset : -1).putShort((short) 0);
        return end.array();
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }
}
