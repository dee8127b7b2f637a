package io.gds4j.dataset.source;

import io.gds4j.internal.text.NpyGrammar;
import io.gds4j.internal.text.PythonLiteral.Malformed;
import io.gds4j.internal.text.PythonLiteral.Value;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the header of a .npy file: a matrix whose rows are records. */
final class NpyHeader {
    private static final Pattern TYPE = Pattern.compile("([<>|=]?)([?bBiufcSUVmMO])(\\d{0,9})(\\[\\w{1,16}])?[^']*");

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
        ByteBuffer prefix = file.read(0, NpyGrammar.PREFIX, "the .npy header");
        if (!NpyGrammar.hasMagic(prefix)) {
            throw malformed(0, "is no .npy file: it does not begin with \\x93NUMPY");
        }
        int version = prefix.get();
        int minor = prefix.get();
        if (!NpyGrammar.knows(version, minor)) {
            throw malformed(NpyGrammar.PREFIX - 2, ".npy version %s, allowed: 1 to 3".formatted(
                    minor == 0 ? version : version + "." + minor));
        }
        int lengthBytes = NpyGrammar.lengthBytes(version);
        long length = NpyGrammar.length(
                file.read(NpyGrammar.PREFIX, lengthBytes, "the length of the .npy header"), version);
        if (length > NpyGrammar.MAX) {
            throw malformed(NpyGrammar.PREFIX, "the .npy header has %s bytes, allowed: 0 to %s".formatted(
                    length, NpyGrammar.MAX));
        }
        int begin = NpyGrammar.PREFIX + lengthBytes;
        ByteBuffer bytes = file.read(begin, (int) length, "the .npy header");
        try {
            return rows(NpyGrammar.parse(bytes, version), begin, begin + length, file.size());
        } catch (Malformed e) {
            throw malformed(begin + e.position(), "the .npy header is malformed: " + e.detail());
        }
    }

    private RecordRows rows(NpyGrammar header, long begin, long data, long size) {
        String type = header.descr() instanceof Value.Text(String text) ? text : "";
        Matcher descr = TYPE.matcher(type);
        if (!descr.matches()) {
            throw malformed(begin, "the .npy header has no descr, as a plain type such as '<f4'");
        }
        String kind = descr.group(2);
        if (kind.equals("O") || kind.equals("V")) {
            throw malformed(begin, "descr is '%s': Python objects and structures are not allowed".formatted(type));
        }
        long item = descr.group(3).isEmpty() ? 1 : Long.parseLong(descr.group(3)) * (kind.equals("U") ? 4 : 1);
        if (header.shape().isEmpty()) {
            throw malformed(begin, "shape is (), allowed: one dimension or more");
        }
        if (header.fortran() && header.shape().size() > 1) {
            throw malformed(begin, "fortran_order is True: its rows are not contiguous, allowed: False");
        }
        long rows = header.shape().getFirst();
        long row = item;
        for (long extent : header.shape().subList(1, header.shape().size())) {
            row = product(row, extent, begin);
        }
        if (row == 0) {
            throw malformed(begin, "a row has 0 bytes, allowed: 1 or more");
        }
        long bytes = product(rows, row, begin);
        if (bytes != size - data) {
            throw malformed(data, "the file has %s bytes of data, the header says %s".formatted(size - data, bytes));
        }
        return new RecordRows(path, data, row, row, rows, Optional.of(element(descr)),
                Optional.of(List.copyOf(header.shape().subList(1, header.shape().size()))));
    }

    /** Returns the type as numpy writes it: with this machine's byte order where the header names none, and the unit of times. */
    private static String element(Matcher descr) {
        String order = descr.group(1).isEmpty() || descr.group(1).equals("=") ? "<" : descr.group(1);
        String unit = descr.group(4) == null ? "" : descr.group(4);
        return order + descr.group(2) + descr.group(3) + unit;
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
