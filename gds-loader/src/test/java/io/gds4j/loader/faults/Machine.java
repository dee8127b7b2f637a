package io.gds4j.loader.faults;

import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.libcufile.FakeMachine;
import io.gds4j.spi.CuFileBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Doubles of GPUs, libc and libcufile, and both backends over them. */
final class Machine {
    static final int GPUS = 4;

    /** Bytes of each GPU. */
    private static final long MEMORY = 64L << 20;

    private static final int DRIVER_VERSION = 13_000;

    private final FakeCuda cuda = new FakeCuda(GPUS, MEMORY);
    private final NativeCalls calls = new NativeCalls(cuda);
    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    private final Posix watchedPosix = calls.watch(Posix.class, posix);
    private final Cuda watchedCuda = calls.watch(Cuda.class, cuda);
    /** Made when a cell needs it: its stubs of native code are not freed. */
    private FakeMachine library;

    Machine() {
        posix.rememberNoIo();
    }

    /** Returns a backend that finds the GPUs for the first time. */
    CuFileBackend backend(String name, CuFileConfig config) {
        CudaAvailability gpus = new CudaAvailability.Available(watchedCuda, DRIVER_VERSION, GPUS);
        return name.equals(CompatBackend.NAME)
                ? new CompatBackend(config, watchedPosix, gpus)
                : library().backend(config, gpus);
    }

    private FakeMachine library() {
        if (library == null) {
            library = new FakeMachine(
                    cuda, true, watchedPosix, real -> calls.watch(CuFileLibrary.class, real)).withDirectStorage();
            // later opens make more calls than the first one
            CuFileBackend first = library.backend();
            first.driverOpen();
            first.driverClose();
        }
        return library;
    }

    NativeCalls calls() {
        return calls;
    }

    /** Returns the driver of the GPUs for the calls of the program itself, which are not watched. */
    FakeCuda cuda() {
        return cuda;
    }

    Posix watchedPosix() {
        return watchedPosix;
    }

    /** Returns the descriptors and mappings that are left, and what is against a rule of a library, one line each. */
    List<String> leftOnHost() {
        List<String> left = new ArrayList<>(posix.leaks());
        left.addAll(cuda.violations());
        if (library != null) {
            left.addAll(library.fake.violations());
        }
        return left;
    }

    /** Returns what is left in the GPUs and in libcufile, one line each. */
    List<String> leftInLibraries() {
        List<String> left = new ArrayList<>(cuda.leaks());
        if (library != null) {
            add(left, "users of libcufile", library.fake.driver().users());
            add(left, "handles of libcufile", library.fake.transfers().openFiles());
            add(left, "buffers of libcufile", library.fake.transfers().registeredBuffers().size());
            add(left, "batches of libcufile", library.fake.batches().open());
        }
        return left;
    }

    private static void add(List<String> left, String what, long count) {
        if (count != 0) {
            left.add(count + " " + what);
        }
    }

    /** Returns what each descriptor of the process refers to. */
    static Map<String, String> descriptors() {
        Map<String, String> open = new TreeMap<>();
        try (DirectoryStream<Path> links = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path link : links) {
                String target = target(link);
                // that of the listing, what the JVM loads classes from, and tools that are attached to it
                if (!target.contains("/proc/") && !target.endsWith(".jar") && !target.startsWith("socket:")) {
                    open.put(link.getFileName().toString(), target);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return open;
    }

    private static String target(Path link) throws IOException {
        try {
            return Files.readSymbolicLink(link).toString();
        } catch (NoSuchFileException closed) {
            return "/proc/";
        }
    }
}
