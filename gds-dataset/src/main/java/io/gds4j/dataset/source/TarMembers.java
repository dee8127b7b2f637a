package io.gds4j.dataset.source;

import io.gds4j.internal.text.InertText;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Walks through the members of a tar: ustar, pax, and GNU's long names. Names have one char for each byte, whatever their encoding.
 *
 * <p>
 * Where writers differ it follows Python's tarfile, which WebDataset reads by. It refuses what tarfile passes over in silence:
 * a broken header ends no archive.
 */
final class TarMembers implements AutoCloseable {
    private static final int BLOCK = 512;
    /** Longest names and extended headers: PATH_MAX is 4096, but a pax header may carry attributes, too. */
    private static final int MAX_EXTENDED = 1 << 20;
    private static final int NAME_BYTES = 100;
    private static final int MODE_AT = 100;
    private static final int SIZE_AT = 124;
    private static final int SIZE_BYTES = 12;
    private static final int TIME_AT = 136;
    private static final int SUM_AT = 148;
    private static final int SUM_BYTES = 8;
    private static final int TYPE_AT = 156;
    private static final int DEVICE_AT = 329;
    private static final int PREFIX_AT = 345;
    private static final int PREFIX_BYTES = 155;
    /** First bytes of numbers that octal digits have no room for, and of such below 0. */
    private static final int LARGE = 0x80;
    private static final int NEGATIVE = 0xff;
    /** Of eight bytes in a long: every other one, the highest bits, and the sum of one lane. */
    private static final long EVEN_BYTES = 0x00ff00ff00ff00ffL;
    private static final long SIGNS = 0x8080808080808080L;
    private static final long LANE = 0xffff;

    private final HeaderFile file;
    private final HeaderScan scan;
    private long next;
    private long header;
    private String name = "";
    private long data;
    private long size;
    private boolean regular;

    private TarMembers(HeaderFile file, long first) {
        this.file = file;
        this.scan = new HeaderScan(file);
        this.next = first;
    }

    /** Begins at a header of the file. */
    static TarMembers open(Path path, long first) {
        return new TarMembers(HeaderFile.open(path), first);
    }

    /** Goes to the next member; returns false at the end of the archive. */
    boolean advance() {
        header = next;
        @Nullable String longName = null;
        long longSize = -1;
        while (true) {
            if (next == file.size() && next == header && next > 0) {
                return false; // some writers leave out the blocks of zeros
            }
            ByteBuffer block = block();
            if (block == null) {
                return false;
            }
            long bytes = number(block, SIZE_AT, SIZE_BYTES);
            long begin = next + BLOCK;
            byte type = block.get(TYPE_AT);
            if (type == 'L' || type == 'K') {
                String text = untilZero(extended(begin, bytes));
                longName = type == 'L' && longName == null ? text : longName;
            } else if (type == 'x' || type == 'X' || type == 'g') {
                PaxHeader pax = PaxHeader.parse(file.path(), begin, extended(begin, bytes), type == 'g');
                longName = longName == null ? pax.name() : longName;
                longSize = longSize < 0 ? pax.size() : longSize;
            } else {
                member(block, type, longName == null ? name(block) : longName, longSize < 0 ? bytes : longSize);
                return true;
            }
            next = after(begin, bytes);
        }
    }

    /** Returns the next header; null for the zeros at the end. */
    private @Nullable ByteBuffer block() {
        if (next == 0) {
            Packed.refuse(file, "tar");
        }
        ByteBuffer block = scan.at(next, BLOCK, "the header of a tar member");
        long all = 0;
        long lanes = 0; // four sums: bytes of a header fill none
        int negative = 0;
        for (int at = 0; at < BLOCK; at += Long.BYTES) {
            long bytes = block.getLong(at);
            all |= bytes;
            lanes += (bytes & EVEN_BYTES) + (bytes >>> Byte.SIZE & EVEN_BYTES);
            negative += Long.bitCount(bytes & SIGNS);
        }
        if (all == 0) {
            if (next != header) {
                throw malformed(header, "no member follows its extended header");
            }
            return null;
        }
        int sum = (int) ((lanes & LANE) + (lanes >>> 16 & LANE) + (lanes >>> 32 & LANE) + (lanes >>> 48));
        for (int at = SUM_AT; at < SUM_AT + SUM_BYTES; at++) {
            sum += ' ' - Byte.toUnsignedInt(block.get(at)); // counts as spaces
            negative -= block.get(at) >>> Integer.SIZE - 1;
        }
        int signed = sum - (negative << Byte.SIZE);
        long expected = number(block, SUM_AT, SUM_BYTES);
        if (expected != sum && expected != signed) {
            throw malformed(next, "is no header of a tar member: its checksum is %s, that of its bytes %s".formatted(
                    expected, sum));
        }
        for (int at = MODE_AT; at < SIZE_AT; at += SUM_BYTES) {
            check(block, at, SUM_BYTES); // mode, owner, group
        }
        check(block, TIME_AT, SIZE_BYTES);
        check(block, DEVICE_AT, SUM_BYTES);
        check(block, DEVICE_AT + SUM_BYTES, SUM_BYTES);
        return block;
    }

    private void member(ByteBuffer block, byte type, String text, long bytes) {
        if (type == 'S') {
            throw malformed(next, PaxHeader.SPARSE);
        }
        name = text;
        data = next + BLOCK;
        size = bytes;
        boolean folder = type == 0 && text(block, 0, NAME_BYTES).endsWith("/"); // as before POSIX
        regular = !folder && (type == '0' || type == 0 || type == '7');
        boolean bare = folder || type >= '1' && type <= '6'; // links, devices and folders have no data, whatever size says
        next = bare ? data : after(data, bytes);
    }

    /** Returns where the header behind data is. */
    private long after(long begin, long bytes) {
        if (bytes < 0 || bytes > file.size() - begin) {
            throw malformed(next, "the file has %s bytes and ends inside a member of %s bytes".formatted(
                    file.size(), bytes));
        }
        return begin + Math.ceilDiv(bytes, BLOCK) * BLOCK;
    }

    private String extended(long begin, long bytes) {
        if (bytes > MAX_EXTENDED) {
            throw malformed(next, "has an extended header of %s bytes, allowed: 0 to %s".formatted(
                    bytes, MAX_EXTENDED));
        }
        return StandardCharsets.ISO_8859_1.decode(scan.at(begin, (int) bytes, "an extended header")).toString();
    }

    private static String name(ByteBuffer block) {
        String prefix = text(block, PREFIX_AT, PREFIX_BYTES);
        String name = text(block, 0, NAME_BYTES);
        return prefix.isEmpty() ? name : prefix + "/" + name;
    }

    private static String text(ByteBuffer block, int at, int length) {
        return untilZero(StandardCharsets.ISO_8859_1.decode(block.slice(at, length)).toString());
    }

    private static String untilZero(String text) {
        int end = text.indexOf('\0');
        return end < 0 ? text : text.substring(0, end);
    }

    /** Returns a number in octal digits, or in the bytes of GNU's large numbers. */
    private long number(ByteBuffer block, int at, int length) {
        int first = Byte.toUnsignedInt(block.get(at));
        if (first != LARGE) {
            return octal(block, at, length);
        }
        long value = 0;
        for (int i = 1; i < length; i++) {
            if (value > Long.MAX_VALUE >> Byte.SIZE) {
                throw malformed(next, "has a number of 2^63 or more at byte %s".formatted(at));
            }
            value = value << Byte.SIZE | Byte.toUnsignedInt(block.get(at + i));
        }
        return value;
    }

    private long octal(ByteBuffer block, int at, int length) {
        int begin = at;
        int end = at;
        while (end < at + length && block.get(end) != 0) {
            end++;
        }
        while (begin < end && isSpace(block.get(begin))) {
            begin++;
        }
        while (begin < end && isSpace(block.get(end - 1))) {
            end--;
        }
        long value = 0;
        for (int i = begin; i < end; i++) {
            int digit = block.get(i) - '0';
            if (digit < 0 || digit > 7) {
                throw malformed(next + at, "is no header of a tar member: %s is no octal number".formatted(
                        InertText.quote(text(block, begin, end - begin))));
            }
            value = value << 3 | digit;
        }
        return value;
    }

    private static boolean isSpace(byte value) {
        return Character.isWhitespace(Byte.toUnsignedInt(value));
    }

    /** Checks a number that no caller needs: if it is malformed, the header is damaged. */
    private void check(ByteBuffer block, int at, int length) {
        int first = Byte.toUnsignedInt(block.get(at));
        if (first != LARGE && first != NEGATIVE) {
            octal(block, at, length);
        }
    }

    private RecordFormatException malformed(long offset, String detail) {
        return RecordFormatException.malformed(file.path(), offset, detail);
    }

    /** Offset of the first header of the member, extended ones included. */
    long header() {
        return header;
    }

    String name() {
        return name;
    }

    /** Offset of the first byte. */
    long data() {
        return data;
    }

    long size() {
        return size;
    }

    boolean isRegular() {
        return regular;
    }

    @Override
    public void close() {
        file.close();
    }
}
