package io.gds4j.tools.check;

import java.nio.file.Path;
import java.util.List;

/**
 * What {@code gds check} was asked for.
 *
 * @param paths files, folders and block devices to look at
 * @param printConfig print the default configuration file and nothing else
 * @param verbose everything, also what nobody set
 * @param required what has to be there
 */
public record CheckArguments(
        List<Path> paths, boolean printConfig, boolean verbose, List<Requirement> required) {
    public CheckArguments {
        paths = List.copyOf(paths);
        required = List.copyOf(required);
    }
}
