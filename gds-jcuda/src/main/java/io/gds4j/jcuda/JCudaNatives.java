package io.gds4j.jcuda;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Stream;
import jcuda.JCudaVersion;
import jcuda.LibUtils;

/**
 * Loads JCuda's native libraries. Call it before anything else of {@code JCudaDriver} or {@code JCuda}.
 *
 * <p>
 * By itself JCuda unpacks its library to a fixed name in the temporary directory and reuses an existing file. Two programs that start
 * at once crash each other, and another user of the machine can plant code. This class unpacks to a private folder of the process and
 * removes it once the library is loaded. It also works with JCuda's jars on the module path, where JCuda does not find its library.
 *
 * <pre>{@code
 * JCudaNatives.loadDriver();
 * JCudaDriver.cuInit(0);
 * }</pre>
 *
 * @since 0.1
 */
public final class JCudaNatives {
    private static final Object LOCK = new Object();
    /** Libraries loaded by this process; guarded by LOCK. */
    private static final Set<String> LOADED = new HashSet<>();

    private static final String TEMPORARY = "java.io.tmpdir";
    private static final ClassLoader CLASSES = JCudaVersion.class.getClassLoader();

    private JCudaNatives() {
    }

    /**
     * Loads the native library of {@code JCudaDriver}; does nothing if it is loaded already. Any thread.
     *
     * @throws CuFileException CUDA_DRIVER_ERROR on a machine without a driver or GPU, before any class of JCuda is
     *         initialised; PLATFORM_NOT_SUPPORTED if its native library is missing or cannot be loaded
     */
    public static void loadDriver() {
        load("JCudaNatives.loadDriver", CudaDriver.detect(), "JCudaDriver", "jcuda.driver.JCudaDriver");
    }

    /**
     * Loads the native library of {@code JCuda}, the runtime API; does nothing if it is loaded already. Any thread.
     *
     * @throws CuFileException as {@link #loadDriver}
     */
    public static void loadRuntime() {
        load("JCudaNatives.loadRuntime", CudaDriver.detect(), "JCudaRuntime", "jcuda.runtime.JCuda");
    }

    static void load(String function, CudaAvailability availability, String name, String initialised) {
        requireDriver(function, availability);
        synchronized (LOCK) {
            if (LOADED.contains(name)) {
                return;
            }
            String library = LibUtils.createPlatformLibraryName(name + "-" + JCudaVersion.get());
            String file = LibUtils.createLibraryFileName(library);
            if (isOnLibraryPath(file)) {
                initialise(function, initialised);
            } else {
                unpackAndInitialise(function, file, initialised);
            }
            LOADED.add(name);
        }
    }

    /** Returns the driver, or throws with the reason why there is none. */
    static CudaAvailability.Available requireDriver(String function, CudaAvailability availability) {
        return switch (availability) {
            case CudaAvailability.Available available -> available;
            case CudaAvailability.Unavailable none ->
                throw CuFileException.of(CuFileError.CUDA_DRIVER_ERROR, function, none.reason() + "; " + none.remedy());
        };
    }

    private static void unpackAndInitialise(String function, String file, String initialised) {
        String directory = System.getProperty(TEMPORARY);
        try (UnpackedLibrary unpacked = UnpackedLibrary.of(CLASSES, "lib/" + file, Path.of(directory))
                .orElseThrow(() -> missing(function, file))) {
            System.setProperty(TEMPORARY, unpacked.folder().toString());
            try {
                initialise(function, initialised);
            } finally {
                System.setProperty(TEMPORARY, directory);
            }
        } catch (IOException e) {
            throw CuFileException.builder(function)
                    .error(CuFileError.PLATFORM_NOT_SUPPORTED)
                    .detail("JCuda's native library cannot be unpacked to " + directory + ", which -D" + TEMPORARY
                            + " names: " + e)
                    .cause(e)
                    .build();
        }
    }

    private static CuFileException missing(String function, String file) {
        return CuFileException.of(
                CuFileError.PLATFORM_NOT_SUPPORTED,
                function,
                "JCuda's native library " + file + " is missing; add the jar org.jcuda:jcuda-natives:"
                        + JCudaVersion.get() + ", which exists for linux-x86_64, or set -Djava.library.path");
    }

    private static void initialise(String function, String name) {
        try {
            Class.forName(name, true, CLASSES);
        } catch (LinkageError | ClassNotFoundException e) {
            throw CuFileException.builder(function)
                    .error(CuFileError.PLATFORM_NOT_SUPPORTED)
                    .detail("JCuda's native library cannot be loaded: " + reason(e))
                    .cause(e)
                    .build();
        }
    }

    /** Returns the dynamic linker's line: JCuda's message has two stack traces, and the line is in the last heading. */
    static String reason(Throwable failure) {
        return String.valueOf(failure.getMessage())
                .lines()
                .filter(line -> line.contains(UnsatisfiedLinkError.class.getName() + ": "))
                .reduce((first, last) -> last)
                .map(line -> line.substring(line.indexOf(": ") + 2))
                .orElseGet(() -> String.valueOf(failure));
    }

    private static boolean isOnLibraryPath(String file) {
        String path = System.getProperty("java.library.path", "");
        return Stream.of(path.split(File.pathSeparator))
                .anyMatch(folder -> !folder.isEmpty() && Files.isRegularFile(Path.of(folder, file)));
    }
}
