package io.gds4j.source;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A path of a file system whose files are sources. {@code CuFileDriver.openFile} opens it by {@link #openSource()}, so that the
 * loader and other programs with paths need not know about sources.
 *
 * @since 0.1
 */
public interface SourcePath extends Path {
    /**
     * Opens the file for reading.
     *
     * @return the source; needs no close
     * @throws IOException if there is no such file, or it cannot be read
     */
    RangeSource openSource() throws IOException;
}
