package io.gds4j.tools.check;

import io.gds4j.config.DirectStorage;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Arguments of {@code gds check}.
 *
 * @param paths files, folders and block devices to examine
 * @param directStorage whether GPUDirect Storage may or must serve; empty if the configuration decides
 * @param printConfig whether to print only the default configuration file
 * @param verbose whether to print default values and details as well
 * @param required what the machine must have
 */
public record CheckArguments(
        List<Path> paths, Optional<DirectStorage> directStorage, boolean printConfig, boolean verbose,
        List<Requirement> required) {
    public CheckArguments {
        paths = List.copyOf(paths);
        required = List.copyOf(required);
    }
}
