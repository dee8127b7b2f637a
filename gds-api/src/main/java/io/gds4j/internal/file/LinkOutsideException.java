package io.gds4j.internal.file;

import io.gds4j.internal.text.InertText;
import java.nio.file.FileSystemException;
import java.nio.file.Path;

/** A file that is reached by a link which leads out of the folder that the user named. */
public final class LinkOutsideException extends FileSystemException {
    private static final long serialVersionUID = 1L;

    LinkOutsideException(Path file, Path real) {
        super(file.toString(), null,
                "it leads out of the folder, to %s; --follow-links or FileVisitOption.FOLLOW_LINKS allows that"
                        .formatted(InertText.quote(real.toString())));
    }
}
