package io.gds4j.tools.check;

import java.nio.file.Path;
import java.util.List;

/**
 * Arguments of {@code gds check}.
 *
 * @param paths files, folders and block devices to examine
 * @param printConfig whether to print only the default configuration file
 * @param verbose whether to print default values and details as well
 * @param required what the machine must have
 */
public record CheckArguments(
        List<Path> paths, boolean printConfig, boolean verbose, List<Requirement> required) {
    public CheckArguments {
        paths = List.copyOf(paths);
        required = List.copyOf(required);
    }
}
