package io.gds4j.access;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.FfmPosix;

/** A child JVM that uses libc and the CUDA driver and prints their messages. */
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
