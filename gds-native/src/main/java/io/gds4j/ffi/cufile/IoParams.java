package io.gds4j.ffi.cufile;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code CUfileIOParams_t}: one entry of a batch. */
public final class IoParams {
    public static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("mode"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_LONG.withName("devPtr_base"),
            ValueLayout.JAVA_LONG.withName("file_offset"),
            ValueLayout.JAVA_LONG.withName("devPtr_offset"),
            ValueLayout.JAVA_LONG.withName("size"),
            ValueLayout.JAVA_LONG.withName("fh"),
            ValueLayout.JAVA_INT.withName("opcode"),
            MemoryLayout.paddingLayout(4),
            ValueLayout.JAVA_LONG.withName("cookie"));

    /** {@code CUFILE_BATCH}, the only mode there is. */
    static final int BATCH = 1;
    /** {@code CUFILE_READ}. */
    static final int READ = 0;
    /** {@code CUFILE_WRITE}. */
    static final int WRITE = 1;

    private static final VarHandle MODE = field("mode");
    private static final VarHandle BASE = field("devPtr_base");
    private static final VarHandle FILE_OFFSET = field("file_offset");
    private static final VarHandle BUFFER_OFFSET = field("devPtr_offset");
    private static final VarHandle SIZE = field("size");
    private static final VarHandle HANDLE = field("fh");
    private static final VarHandle OPCODE = field("opcode");
    private static final VarHandle COOKIE = field("cookie");

    private IoParams() {
    }

    /** Fills element {@code index} of an array. */
    public static void write(
            MemorySegment array,
            int index,
            long handle,
            boolean write,
            long base,
            long size,
            long fileOffset,
            long bufferOffset,
            long cookie) {
        long at = index * LAYOUT.byteSize();
        MODE.set(array, at, BATCH);
        BASE.set(array, at, base);
        FILE_OFFSET.set(array, at, fileOffset);
        BUFFER_OFFSET.set(array, at, bufferOffset);
        SIZE.set(array, at, size);
        HANDLE.set(array, at, handle);
        OPCODE.set(array, at, write ? WRITE : READ);
        COOKIE.set(array, at, cookie);
    }

    private static VarHandle field(String name) {
        return LAYOUT.varHandle(PathElement.groupElement(name));
    }
}
