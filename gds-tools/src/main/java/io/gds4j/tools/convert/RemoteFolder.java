package io.gds4j.tools.convert;

import io.gds4j.remote.S3Files;
import io.gds4j.tools.terminal.CommandFailure;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A folder of an S3 bucket that receives a checkpoint. The files are written to a local folder and then uploaded, the index last,
 * so that a reader finds the whole checkpoint or none.
 */
final class RemoteFolder implements AutoCloseable {
    private static final String INDEX = ".index.json";
    private static final List<String> WHOLE = List.of("model.safetensors", "model.safetensors" + INDEX);

    private final Path target;
    private final Path local;

    RemoteFolder(Path target) {
        this.target = target;
        if (!target.toUri().getScheme().equals("s3")) {
            throw CommandFailure.usage("%s: only files and S3 objects can be written".formatted(target));
        }
        for (String name : WHOLE) {
            // Objects cannot be replaced together: a reader would see files of both checkpoints.
            if (Files.exists(target.resolve(name))) {
                throw CommandFailure.badInput(
                        target.toString(), "%s: holds a checkpoint already; delete it or name another folder"
                                .formatted(target));
            }
        }
        try {
            local = Files.createTempDirectory("gds4j-upload-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Path local() {
        return local;
    }

    void upload() throws IOException {
        for (Path file : files()) {
            S3Files.upload(file, target.resolve(file.getFileName().toString()));
        }
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(local)) {
            return files.sorted(Comparator.comparing((Path file) -> file.toString().endsWith(INDEX))
                    .thenComparing(Comparator.naturalOrder())).toList();
        }
    }

    @Override
    public void close() {
        try {
            for (Path file : files()) {
                Files.delete(file);
            }
            Files.delete(local);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
