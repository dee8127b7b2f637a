package io.gds4j.ffi.cufile;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import java.nio.file.Path;
import java.util.Map;

/** A machine with one GPU and libcufile, both doubles: a process of its own for the library, and backends on it. */
final class FakeMachine {
    final FakeCuda cuda = new FakeCuda();
    final FakeCuFile fake;
    final LibraryProcess process;

    FakeMachine() {
        this(false);
    }

    /** @param later with the functions that came after cuFile 1.15 */
    FakeMachine(boolean later) {
        FakeCuFile made = new FakeCuFile(cuda);
        this.fake = later ? made.withLaterFunctions() : made;
        LibraryEnvironment environment = new LibraryEnvironment(
                FfmPosix.instance(), Map.of(), Path.of(System.getProperty("java.io.tmpdir")));
        this.process = new LibraryProcess(fake::library, environment);
    }

    LibCuFileBackend backend() {
        return backend(CuFileConfig.defaults());
    }

    LibCuFileBackend backend(CuFileConfig config) {
        return new LibCuFileBackend(process, config, false, FfmPosix.instance(), cuda.available());
    }
}
