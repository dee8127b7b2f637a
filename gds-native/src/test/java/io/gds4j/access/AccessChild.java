package io.gds4j.access;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.FfmPosix;

/** A JVM of its own that tries libc and the CUDA driver, and prints what it is told. */
final class AccessChild {
    private AccessChild() {
    }

    public static void main(String[] arguments) {
        try {
            System.out.println("page size " + FfmPosix.instance().pageSize());
        } catch (CuFileException e) {
            System.out.println(e.error() + ": " + e.getMessage());
        }
        System.out.println(CudaDriver.detect());
    }
}
