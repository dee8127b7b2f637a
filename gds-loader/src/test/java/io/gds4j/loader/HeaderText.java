package io.gds4j.loader;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Makes safetensors files from headers as text, valid or not. */
final class HeaderText {
    private HeaderText() {
    }

    /** Returns header length, header, and {@code data} bytes of data. */
    static byte[] file(String header, int data) {
        return file(header.getBytes(StandardCharsets.UTF_8), data);
    }

    static byte[] file(byte[] header, int data) {
        return ByteBuffer.allocate(8 + header.length + data)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(header.length)
                .put(header)
                .array();
    }

    /** Returns a file that claims a header of {@code length} bytes and has {@code rest} bytes after the length. */
    static byte[] claiming(long length, int rest) {
        return ByteBuffer.allocate(8 + rest)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(length)
                .array();
    }

    static Path write(Path path, byte[] bytes) {
        try {
            return Files.write(path, bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
