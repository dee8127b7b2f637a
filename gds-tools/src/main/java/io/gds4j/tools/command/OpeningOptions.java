package io.gds4j.tools.command;

import io.gds4j.tools.load.Opening;
import io.gds4j.tools.terminal.CommandFailure;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of commands that open a checkpoint. */
final class OpeningOptions {
    @Mixin
    private final LinksOption links = new LinksOption();

    @Option(names = "--variant", paramLabel = "NAME",
            description = "Open the files of a folder that have this variant in their names, such as fp16 for"
                    + " model.fp16.safetensors. Default: the files without one.")
    private @Nullable String variant;

    Opening value() {
        CommandFailure.usageIf(variant != null && (variant.isEmpty() || variant.contains("/")),
                "--variant is a part of file names, such as fp16");
        return new Opening(links.value(), Optional.ofNullable(variant));
    }
}
