package io.gds4j.tools.command;

import java.nio.file.FileVisitOption;
import java.util.List;
import picocli.CommandLine.Option;

/** The option {@code --follow-links} of commands that read files of a folder which the user names. */
final class LinksOption {
    @Option(names = "--follow-links",
            description = "Follow links of the folder that lead out of it. The path itself may always be a link, and files of the"
                    + " Hugging Face cache are links to its blobs.")
    private boolean follow;

    List<FileVisitOption> value() {
        return follow ? List.of(FileVisitOption.FOLLOW_LINKS) : List.of();
    }
}
