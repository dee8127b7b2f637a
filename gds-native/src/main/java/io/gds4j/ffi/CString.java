package io.gds4j.ffi;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;

/** Converts text to and from C strings. */
public final class CString {
    private static final Charset FILE_NAMES = fileNames();
    private static final boolean IS_UTF_8 = FILE_NAMES.equals(StandardCharsets.UTF_8);

    private CString() {
    }

    /** Returns false for text with a NUL inside: C would cut it short and name another file. */
    public static boolean isRepresentable(String text) {
        return text.indexOf('\0') < 0;
    }

    /**
     * Returns the bytes that the JDK uses for a file of this name, NUL-terminated. They are UTF-8 if the locale's charset lacks a
     * character.
     */
    public static MemorySegment ofFileName(SegmentAllocator allocator, String name) {
        byte[] bytes = name.getBytes(FILE_NAMES);
        if (!IS_UTF_8 && !name.equals(new String(bytes, FILE_NAMES))) {
            bytes = name.getBytes(StandardCharsets.UTF_8);
        }
        MemorySegment segment = allocator.allocate(bytes.length + 1L);
        MemorySegment.copy(bytes, 0, segment, ValueLayout.JAVA_BYTE, 0, bytes.length);
        segment.set(ValueLayout.JAVA_BYTE, bytes.length, (byte) 0);
        return segment;
    }

    /** Returns the C string of at most {@code limit} bytes at {@code address}; empty for a null pointer. */
    public static String at(long address, long limit) {
        if (address == 0) {
            return "";
        }
        MemorySegment bytes = MemorySegment.ofAddress(address).reinterpret(limit);
        long length = 0;
        while (length < limit && bytes.get(ValueLayout.JAVA_BYTE, length) != 0) {
            length++;
        }
        byte[] text = bytes.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
        return new String(text, StandardCharsets.UTF_8);
    }

    private static Charset fileNames() {
        String name = System.getProperty("sun.jnu.encoding", "UTF-8");
        return Charset.isSupported(name) ? Charset.forName(name) : StandardCharsets.UTF_8;
    }
}
