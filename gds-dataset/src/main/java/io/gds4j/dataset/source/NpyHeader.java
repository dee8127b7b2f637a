package io.gds4j.dataset.source;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the header of a .npy file: a matrix whose rows are records. */
final class NpyHeader {
    private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
    private static final int PREFIX = 8;
    private static final int MAX = 1 << 20;
    private static final Pattern DESCR = Pattern.compile("'descr'\\s*:\\s*'([<>|=]?)([?bBiufcSUVmMO])(\\d{0,9})[^']*'");
    private static final Pattern FORTRAN = Pattern.compile("'fortran_order'\\s*:\\s*(True|False)");
    private static final Pattern SHAPE = Pattern.compile("'shape'\\s*:\\s*\\(([\\d,\\sL]*)\\)");

    private final Path path;

    private NpyHeader(Path path) {
        this.path = path;
    }

    /** Returns the rows along the first axis. */
    static RecordRows read(Path path) {
        try (HeaderFile file = HeaderFile.open(path)) {
            return new NpyHeader(path).rows(file);
        }
    }

    private RecordRows rows(HeaderFile file) {
        ByteBuffer prefix = file.read(0, PREFIX, "the .npy header");
        for (int i = 0; i < MAGIC.length; i++) {
            if (prefix.get(i) != MAGIC[i]) {
                throw malformed(0, "is no .npy file: it does not begin with \\x93NUMPY");
            }
        }
        int version = prefix.get(MAGIC.length);
        if (version < 1 || version > 3) {
            throw malformed(MAGIC.length, ".npy version %s, allowed: 1 to 3".formatted(version));
        }
        int lengthBytes = version == 1 ? Short.BYTES : Integer.BYTES;
        ByteBuffer field = file.read(PREFIX, lengthBytes, "the length of the .npy header");
        long length = version == 1 ? Short.toUnsignedLong(field.getShort()) : Integer.toUnsignedLong(field.getInt());
        if (length > MAX) {
            throw malformed(PREFIX, "the .npy header has %s bytes, allowed: 0 to %s".formatted(length, MAX));
        }
        int begin = PREFIX + lengthBytes;
        ByteBuffer bytes = file.read(begin, (int) length, "the .npy header");
        return rows(StandardCharsets.ISO_8859_1.decode(bytes).toString(), begin, begin + length, file.size());
    }

    private RecordRows rows(String text, long begin, long data, long size) {
        Matcher descr = find(DESCR, text, begin, "descr, as a plain type such as '<f4'");
        String kind = descr.group(2);
        if (kind.equals("O") || kind.equals("V")) {
            throw malformed(begin, "descr is %s: Python objects and structures are not allowed".formatted(
                    descr.group().replaceFirst("^'descr'\\s*:\\s*", "")));
        }
        long item = descr.group(3).isEmpty() ? 1 : Long.parseLong(descr.group(3)) * (kind.equals("U") ? 4 : 1);
        String[] shape = find(SHAPE, text, begin, "shape").group(1).replace("L", "").split(",");
        boolean fortran = find(FORTRAN, text, begin, "fortran_order").group(1).equals("True");
        long rows = -1;
        long row = item;
        int dimensions = 0;
        for (String dimension : shape) {
            if (!dimension.isBlank()) {
                long extent = number(dimension.strip(), begin);
                if (dimensions == 0) {
                    rows = extent;
                } else {
                    row = product(row, extent, begin);
                }
                dimensions++;
            }
        }
        if (dimensions == 0) {
            throw malformed(begin, "shape is (), allowed: one dimension or more");
        }
        if (fortran && dimensions > 1) {
            throw malformed(begin, "fortran_order is True: its rows are not contiguous, allowed: False");
        }
        if (row == 0) {
            throw malformed(begin, "a row has 0 bytes, allowed: 1 or more");
        }
        long bytes = product(rows, row, begin);
        if (bytes != size - data) {
            throw malformed(data, "the file has %s bytes of data, the header says %s".formatted(size - data, bytes));
        }
        return new RecordRows(path, data, row, row, rows, descr.group(1) + kind + descr.group(3));
    }

    private Matcher find(Pattern pattern, String text, long begin, String what) {
        Matcher matcher = pattern.matcher(text);
        if (!matcher.find()) {
            throw malformed(begin, "the .npy header has no " + what);
        }
        return matcher;
    }

    private long number(String digits, long begin) {
        try {
            return Long.parseLong(digits);
        } catch (NumberFormatException e) {
            throw malformed(begin, "shape has '%s', allowed: numbers below 2^63".formatted(
                    digits.length() > 40 ? digits.substring(0, 40) + "…" : digits));
        }
    }

    private long product(long a, long b, long begin) {
        try {
            return Math.multiplyExact(a, b);
        } catch (ArithmeticException e) {
            throw malformed(begin, "the array has 2^63 bytes or more");
        }
    }

    private RecordFormatException malformed(long offset, String detail) {
        return RecordFormatException.malformed(path, offset, detail);
    }
}
