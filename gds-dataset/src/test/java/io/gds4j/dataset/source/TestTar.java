package io.gds4j.dataset.source;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Writes tars member by member, well and badly. */
final class TestTar {
    private static final int BLOCK = 512;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    TestTar file(String name, String data) {
        return member(name, '0', data);
    }

    TestTar member(String name, char type, String data) {
        byte[] bytes = data.getBytes(StandardCharsets.UTF_8);
        header(name, type, bytes.length);
        out.writeBytes(bytes);
        out.writeBytes(new byte[(BLOCK - bytes.length % BLOCK) % BLOCK]);
        return this;
    }

    TestTar header(String name, char type, long size) {
        return header(name, type, "%011o\0".formatted(size).getBytes(StandardCharsets.ISO_8859_1));
    }

    TestTar header(String name, char type, byte[] size) {
        byte[] header = new byte[BLOCK];
        byte[] text = name.getBytes(StandardCharsets.UTF_8);
        System.arraycopy(text, 0, header, 0, Math.min(100, text.length));
        System.arraycopy(size, 0, header, 124, size.length);
        header[156] = (byte) type;
        System.arraycopy("ustar\00000".getBytes(StandardCharsets.ISO_8859_1), 0, header, 257, 8);
        int sum = 8 * ' ';
        for (byte value : header) {
            sum += Byte.toUnsignedInt(value);
        }
        System.arraycopy("%06o\0 ".formatted(sum).getBytes(StandardCharsets.ISO_8859_1), 0, header, 148, 8);
        out.writeBytes(header);
        return this;
    }

    TestTar pax(String key, String value) {
        int length = key.length() + value.getBytes(StandardCharsets.UTF_8).length + 3;
        while (length != Integer.toString(length).length() + key.length()
                + value.getBytes(StandardCharsets.UTF_8).length + 3) {
            length++;
        }
        return member("pax", 'x', length + " " + key + "=" + value + "\n");
    }

    /** Returns the tar with the blocks of zeros that end it. */
    byte[] end() {
        out.writeBytes(new byte[2 * BLOCK]);
        return bytes();
    }

    byte[] bytes() {
        return out.toByteArray();
    }
}
