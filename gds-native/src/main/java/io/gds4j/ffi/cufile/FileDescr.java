package io.gds4j.ffi.cufile;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/** {@code CUfileDescr_t}: the file to register, here always an open descriptor. */
final class FileDescr {
    static final StructLayout LAYOUT = MemoryLayout.structLayout(
            ValueLayout.JAVA_INT.withName("type"),
            MemoryLayout.paddingLayout(4),
            MemoryLayout.unionLayout(
                    ValueLayout.JAVA_INT.withName("fd"), ValueLayout.JAVA_LONG.withName("handle")).withName("handle"),
            ValueLayout.JAVA_LONG.withName("fs_ops"));

    /** {@code CU_FILE_HANDLE_TYPE_OPAQUE_FD}. */
    static final int OPAQUE_FD = 1;

    private static final VarHandle TYPE = LAYOUT.varHandle(PathElement.groupElement("type"));
    private static final VarHandle FD =
            LAYOUT.varHandle(PathElement.groupElement("handle"), PathElement.groupElement("fd"));

    private FileDescr() {
    }

    /** Fills and zeroes {@code buffer}: the library would follow pointers that earlier content left in it. */
    static void write(MemorySegment buffer, int type, int fd) {
        buffer.asSlice(0, LAYOUT.byteSize()).fill((byte) 0);
        TYPE.set(buffer, 0L, type);
        FD.set(buffer, 0L, fd);
    }
}
