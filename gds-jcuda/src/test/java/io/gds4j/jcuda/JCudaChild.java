package io.gds4j.jcuda;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;

/** A child JVM that loads JCuda's library: {@code none} finds no driver, {@code claimed} is told that there is one. */
final class JCudaChild {
    private JCudaChild() {
    }

    /** A driver as detection would find it. */
    static CudaAvailability claimed() {
        return new FakeCuda().available();
    }

    /** Exits with 0 if the library loads or the right exception is thrown. */
    public static void main(String[] arguments) {
        CudaAvailability driver = arguments[0].equals("none")
                ? new CudaAvailability.Unavailable("there is no driver", "install one")
                : claimed();
        String before = System.getProperty("java.io.tmpdir");
        try {
            JCudaNatives.load("child", driver, "JCudaDriver", "jcuda.driver.JCudaDriver");
            System.out.println("loaded");
        } catch (CuFileException e) {
            System.out.println(e.error() + ": " + e.getMessage());
        }
        if (!before.equals(System.getProperty("java.io.tmpdir"))) {
            System.out.println("java.io.tmpdir was not restored");
            System.exit(3);
        }
    }
}
