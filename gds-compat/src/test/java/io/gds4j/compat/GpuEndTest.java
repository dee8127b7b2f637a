package io.gds4j.compat;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.lifecycle.JvmEnd;
import io.gds4j.engine.lifecycle.JvmEndTest;
import io.gds4j.engine.lifecycle.Traffic;
import io.gds4j.ffi.ChildJvm;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cufile.GpuMachine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** Exits of a program on a GPU, over compat and over libcufile. */
@Tag("gpu")
class GpuEndTest {
    @Nested
    class Compat extends OnThisMachine {
        @Override
        String backend() {
            return "compat";
        }
    }

    @Nested
    class LibCuFile extends OnThisMachine {
        @Override
        String backend() {
            return "libcufile";
        }
    }

    abstract static class OnThisMachine extends JvmEndTest {
        abstract String backend();

        /** Makes the file in a folder on a disk, because libcufile asks udev for the disk of a file. */
        @Override
        protected Path makeFile(Path folder) throws IOException {
            Path file = Files.createTempFile(GpuMachine.directory(), "end", ".bin");
            file.toFile().deleteOnExit();
            return Files.write(file, new byte[FILE_BYTES]);
        }

        @Override
        protected ChildJvm.End run(Path folder, Path file, String how) {
            return new ChildJvm(Child.class, folder, CompatBackend.class).run(backend(), file.toString(), how);
        }
    }

    /** The program that ends. */
    static final class Child {
        public static void main(String[] args) throws InterruptedException {
            JvmEnd.run(
                    new JvmEnd.Program(
                            () -> CuFileDriver.open(CuFileConfig.defaults(), args[0]),
                            Path.of(args[1]),
                            () -> Traffic.streamOf(CudaDriver.detect())),
                    args[2]);
        }
    }
}
