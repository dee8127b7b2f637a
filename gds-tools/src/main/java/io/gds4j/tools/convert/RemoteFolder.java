package io.gds4j.tools.convert;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.remote.S3Files;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Output;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A folder of an S3 bucket that receives a checkpoint. The files are written to a local folder and then uploaded, the index last,
 * so that a reader finds the whole checkpoint or none. Replaces no object: a mixture of two checkpoints would look like one. A signal
 * that ends the process removes the local folder and what was uploaded.
 */
final class RemoteFolder implements AutoCloseable {
    private static final String INDEX = ".index.json";
    private static final List<String> WHOLE = List.of("model.safetensors", "model.safetensors" + INDEX);

    /** Longest wait for the thread that uploads when the process ends. */
    private static final long EXIT_MILLIS = 900;

    private final Path target;
    private final Path local;
    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread owner = Thread.currentThread();
    private final Thread hook = new Thread(this::leave);

    private final Output output;
    private volatile String remains = "";

    RemoteFolder(Path target, Output output) {
        this.target = target;
        this.output = output;
        if (!target.toUri().getScheme().equals("s3")) {
            throw CommandFailure.usage("%s: only files and S3 objects can be written".formatted(target));
        }
        for (String name : WHOLE) {
            if (Files.isRegularFile(target.resolve(name))) {
                throw taken(target);
            }
        }
        try {
            local = Files.createTempDirectory("gds4j-upload-");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        ExitHooks.add(hook);
    }

    private static CommandFailure taken(Path path) {
        return CommandFailure.badInput(
                path.toString(), "%s: holds a checkpoint already, or part of one; delete it or name another folder"
                        .formatted(path));
    }

    Path local() {
        return local;
    }

    /** Refuses a folder that holds one of these files, as far as the credentials allow to see it. */
    void checkFree(List<String> names) {
        try (Stream<Path> objects = Files.list(target)) {
            objects.filter(object -> names.contains(String.valueOf(object.getFileName()))).findFirst()
                    .ifPresent(object -> {
                        throw taken(object);
                    });
        } catch (IOException | CuFileException e) {
            // There is no such folder, or the credentials do not list it. The upload replaces nothing.
        }
    }

    void upload() throws IOException {
        List<Path> sent = new ArrayList<>();
        boolean complete = false;
        try {
            for (Path file : files()) {
                Path object = target.resolve(file.getFileName().toString());
                try {
                    S3Files.uploadNew(file, object);
                } catch (CuFileException e) {
                    throw e.errno().orElse(0) == Errno.EEXIST ? taken(object) : e;
                }
                sent.add(object);
            }
            complete = true;
        } catch (CuFileException e) {
            remains = e.detail().contains(" stay at the server") ? e.detail() : "";
            throw e;
        } finally {
            if (!complete) {
                remove(sent.reversed());
            }
        }
    }

    /** Removes the objects of a failed upload: they are this one's, and in the way of the next. */
    private void remove(List<Path> objects) {
        boolean interrupted = Thread.interrupted();
        try {
            objects.forEach(S3Files::delete);
        } catch (CuFileException e) {
            output.warn("files of the failed upload stay: " + e.detail());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(local)) {
            return files.sorted(Comparator.comparing((Path file) -> file.toString().endsWith(INDEX))
                    .thenComparing(Comparator.naturalOrder())).toList();
        }
    }

    /** Ends the work because the process ends. */
    private void leave() {
        owner.interrupt();
        try {
            closed.await(EXIT_MILLIS, TimeUnit.MILLISECONDS);
            deleteLocal();
        } catch (IOException | InterruptedException e) {
            // The process ends; what stays has a name that tells whose it is.
        }
        if (!remains.isEmpty()) {
            output.warn(remains);
        }
    }

    private void deleteLocal() throws IOException {
        if (Files.exists(local)) {
            for (Path file : files()) {
                Files.deleteIfExists(file);
            }
            Files.deleteIfExists(local);
        }
    }

    @Override
    public void close() {
        try {
            deleteLocal();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            closed.countDown();
            ExitHooks.remove(hook); // last: a signal may end the process while the files are being deleted
        }
    }
}
