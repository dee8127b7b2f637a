package io.gds4j.tools.check;

import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.ffi.cufile.LibCuFile.Found;
import io.gds4j.ffi.cufile.LibCuFile.NotFound;
import io.gds4j.ffi.cufile.LibCuFile.Search;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The location of libcufile on this machine. Searches the folders that the backend searches, but never loads the
 * library: loading takes time and can start its logging.
 *
 * @param path path of the library; empty if it was not found
 * @param version version from its file name, such as {@code 1.15.1}
 * @param searched searched folders, in order
 */
public record LibCuFile(Optional<Path> path, Optional<String> version, List<String> searched) {
    /** Searches the folders of the dynamic linker and of CUDA's packages. */
    public static LibCuFile find(SystemFiles files, Map<String, String> environment) {
        Search search = io.gds4j.ffi.cufile.LibCuFile.search(files.root(), environment);
        return switch (search.location()) {
            case Found(Path path, Optional<String> version) ->
                new LibCuFile(Optional.of(path), version, search.folders());
            case NotFound none -> new LibCuFile(Optional.empty(), Optional.empty(), search.folders());
        };
    }

    /** Describes the library in a few words. */
    public String describe() {
        return path.map(file -> "%s (%s)".formatted(version.orElse("version unknown"), file)).orElse("not found");
    }
}
