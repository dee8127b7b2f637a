package io.gds4j.tools.check;

import io.gds4j.ffi.cufile.LibCuFile.Found;
import io.gds4j.ffi.cufile.LibCuFile.NotFound;
import io.gds4j.ffi.cufile.LibCuFile.Search;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Whether NVIDIA's library is on this machine. It is looked for where the backend looks for it, never loaded: opening it costs
 * time and may start its logging.
 *
 * @param path the library, if it was found
 * @param version what its file name says, such as {@code 1.15.1}
 * @param searched folders that were looked into, in order
 */
public record LibCuFile(Optional<Path> path, Optional<String> version, List<String> searched) {
    /** Looks where the dynamic linker would, and where CUDA's packages put it. */
    public static LibCuFile find(SystemFiles files, Map<String, String> environment) {
        Search search = io.gds4j.ffi.cufile.LibCuFile.search(files.root(), environment);
        return switch (search.location()) {
            case Found(Path path, Optional<String> version) ->
                new LibCuFile(Optional.of(path), version, search.folders());
            case NotFound none -> new LibCuFile(Optional.empty(), Optional.empty(), search.folders());
        };
    }

    /** In a few words. */
    public String describe() {
        return path.map(file -> "%s (%s)".formatted(version.orElse("version unknown"), file)).orElse("not found");
    }
}
