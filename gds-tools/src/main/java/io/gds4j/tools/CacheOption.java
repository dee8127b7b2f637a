package io.gds4j.tools;

import io.gds4j.remote.RemoteCache;
import io.gds4j.source.SourcePath;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The options of commands that may read URLs through a local cache. */
final class CacheOption {
    private static final long DEFAULT_BYTES = 50_000_000_000L;

    @Spec(Spec.Target.MIXEE)
    @SuppressWarnings("NullAway.Init")
    private CommandSpec command;

    @Option(names = "--cache", paramLabel = "FOLDER", converter = PathConverter.class,
            description = "Keep what is read from a URL in this folder, and read it from there as long as the server has"
                    + " the same version.")
    private @Nullable Path folder;

    @Option(names = "--cache-size", paramLabel = "BYTES", converter = SizeConverter.class,
            description = "Bytes that the folder of --cache may hold: 8M or more. Default: 50,000,000,000.")
    private long bytes = DEFAULT_BYTES;

    /** Returns a path through the cache, if one is asked for. */
    Path over(Path path) {
        if (folder == null) {
            return path;
        }
        if (!(path instanceof SourcePath)) {
            throw new ParameterException(command.commandLine(), "--cache is for URLs, not for the local file " + path);
        }
        return RemoteCache.open(folder, bytes).over(path);
    }
}
