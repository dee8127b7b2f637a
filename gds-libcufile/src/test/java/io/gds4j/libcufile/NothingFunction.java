package io.gds4j.libcufile;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixConstants;
import java.lang.foreign.MemorySegment;

/**
 * A native function that only returns its third argument. Calling it measures the cost of a call. It is machine code, so no C
 * compiler is needed.
 */
public final class NothingFunction {
    private static final int PROT_EXEC = 4;
    /** mov rax, rdx; ret. */
    private static final byte[] X86_64 = {0x48, (byte) 0x89, (byte) 0xd0, (byte) 0xc3};
    /** mov x0, x2; ret. */
    private static final byte[] AARCH64 =
            {(byte) 0xe0, 0x03, 0x02, (byte) 0xaa, (byte) 0xc0, 0x03, 0x5f, (byte) 0xd6};

    private NothingFunction() {
    }

    /** Returns the entry point, which is valid until the process ends. */
    public static MemorySegment make() {
        byte[] code = System.getProperty("os.arch").equals("aarch64") ? AARCH64 : X86_64;
        long page = FfmPosix.instance()
                .mmap(
                        0,
                        code.length,
                        PosixConstants.PROT_READ | PosixConstants.PROT_WRITE | PROT_EXEC,
                        PosixConstants.MAP_PRIVATE | PosixConstants.MAP_ANONYMOUS,
                        -1,
                        0);
        if (page < 0) {
            throw new IllegalStateException("no executable memory: errno " + -page);
        }
        MemorySegment function = MemorySegment.ofAddress(page);
        MemorySegment.copy(code, 0, function.reinterpret(code.length), JAVA_BYTE, 0, code.length);
        return function;
    }
}
