package io.gds4j.libcufile.process;

import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.lifecycle.ExitTask;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.internal.file.OwnFolder;
import io.gds4j.internal.text.InertText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Passes settings to libcufile before its first function is called: by a file that CUFILE_ENV_PATH_JSON names, and by
 * the environment variables that would override that file. Only C's environment changes; {@link System#getenv} does not
 * show it and child processes do not inherit it. The file, and the log unless the settings name a folder, stand in a
 * temporary folder that is deleted when the JVM exits.
 */
final class LibraryEnvironment {
    private static final String FUNCTION = "cuFileDriverOpen";
    private static final String FILE_VARIABLE = "CUFILE_ENV_PATH_JSON";
    private static final String PREFIX = "gds4j-libcufile-";

    private final Posix posix;
    private final Map<String, String> environment;
    private final Path parent;
    private final Map<String, String> changed = new LinkedHashMap<>();
    private @Nullable OwnFolder folder;

    /**
     * @param environment variables of this process
     * @param parent where the temporary folder is made
     */
    LibraryEnvironment(Posix posix, Map<String, String> environment, Path parent) {
        this.posix = posix;
        this.environment = environment;
        this.parent = parent;
    }

    /** Must not run while another thread is inside the library: C's environment has no lock. */
    synchronized void apply(LibrarySettings settings) {
        OwnFolder own = folder();
        Path home = own.name();
        Path file = home.resolve("cufile.json");
        Path log = Path.of(settings.get(CuFileKeys.LOGGING_DIR));
        if (!log.toString().isEmpty() && !Files.isDirectory(log)) {
            throw CuFileException.of(
                    CuFileError.DRIVER_INVALID_PROPS,
                    FUNCTION,
                    "logging.dir is %s, allowed: a directory that exists".formatted(log));
        }
        try {
            Files.writeString(own.path().resolve(file.getFileName()), settings.json(home));
        } catch (IOException e) {
            throw CuFileException.builder(FUNCTION)
                    .error(CuFileError.IO_ERROR)
                    .path(file)
                    .detail("the configuration for libcufile cannot be written: " + e.getMessage())
                    .cause(e)
                    .build();
        }
        Map<String, String> wanted = settings.variables(environment, changed.keySet());
        wanted.put(FILE_VARIABLE, file.toString());
        wanted.forEach(this::set);
        changed.putAll(wanted);
    }

    private void set(String name, String value) {
        if (!value.equals(changed.get(name))) {
            PosixErrors.check(FUNCTION, "setenv", posix.setenv(name, value, true), Optional.empty());
        }
    }

    private OwnFolder folder() {
        if (folder == null) {
            try {
                // Readable for this user alone.
                OwnFolder made = OwnFolder.create(parent.resolve(PREFIX + UUID.randomUUID()));
                deleteAtExit(made);
                folder = made;
            } catch (IOException e) {
                throw CuFileException.builder(FUNCTION)
                        .error(CuFileError.IO_ERROR)
                        .path(parent)
                        .detail("no temporary folder for libcufile's configuration: " + e.getMessage())
                        .cause(e)
                        .build();
            }
        }
        return folder;
    }

    private static void deleteAtExit(OwnFolder made) {
        try {
            ExitTask.register(FUNCTION, "gds4j-libcufile-files", () -> delete(made));
        } catch (CuFileException e) {
            delete(made);
            throw e;
        }
    }

    /** Deletes as much as possible; at exit a failure is only logged. */
    private static void delete(OwnFolder made) {
        try (made) {
            made.remove();
        } catch (IOException e) {
            System.getLogger("io.gds4j.libcufile")
                    .log(System.Logger.Level.DEBUG, "left behind: {0}",
                            InertText.line(String.valueOf(e.getMessage())));
        }
    }
}
