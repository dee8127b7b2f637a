package io.gds4j.loader.internal.search;

import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointFormat;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.internal.Workers;
import io.gds4j.loader.internal.file.Links;
import io.gds4j.loader.internal.file.OpenedFile;
import io.gds4j.source.FileVersion;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Reads the headers of files. Many files are read by several threads; which of them fails first makes no difference to the caller. */
final class Headers {
    /** Below this number of files, threads cost more than they save. */
    private static final int MANY = 64;
    /** A header may take half of the heap, and as many are read at a time. */
    private static final int MOST_THREADS = 8;

    /**
     * A file as its header describes it.
     *
     * @param version version of the file that was opened; a format may name another file
     */
    record Header(CheckpointFile file, FileVersion version) {
    }

    private final CheckpointFormat format;
    private final List<Path> paths;
    private final AtomicReferenceArray<@Nullable Header> headers;
    private final AtomicReferenceArray<@Nullable Throwable> failures;
    /** Number of files before the first one that failed. */
    private final AtomicInteger good;

    private Headers(CheckpointFormat format, List<Path> paths) {
        this.format = format;
        this.paths = paths;
        this.headers = new AtomicReferenceArray<>(paths.size());
        this.failures = new AtomicReferenceArray<>(paths.size());
        this.good = new AtomicInteger(paths.size());
    }

    /**
     * Reads headers in order.
     *
     * @throws io.gds4j.loader.format.CheckpointException that of the first file that fails
     */
    static List<Header> of(CheckpointFormat format, List<Path> paths) {
        int threads = Math.min(MOST_THREADS, Workers.cores());
        if (paths.size() < MANY || threads == 1) {
            return paths.stream().map(path -> read(format, path)).toList();
        }
        return new Headers(format, paths).readAll(threads);
    }

    private List<Header> readAll(int threads) {
        Links.Rules rules = OpenedFile.rules();
        new Workers("gds-header-", threads, paths.size(), () -> number -> rules.apply(() -> readOne(number)))
                .run("Checkpoint.open");
        int failed = good.get();
        if (failed < paths.size()) {
            Throwable failure = failures.get(failed);
            if (failure instanceof Error error) {
                throw error;
            }
            throw (RuntimeException) failure;
        }
        return IntStream.range(0, paths.size()).mapToObj(headers::get).toList();
    }

    /** Reads no file behind one that failed; those before it are read, because one of them may fail, too. */
    private void readOne(int number) {
        if (number > good.get()) {
            return;
        }
        try {
            headers.set(number, read(format, paths.get(number)));
        } catch (RuntimeException | Error e) {
            failures.set(number, e);
            good.accumulateAndGet(number, Math::min);
        }
    }

    private static Header read(CheckpointFormat format, Path path) {
        try (FormatInput in = FormatInput.open(path)) {
            NoCheckpoint.check(in, format.recognize(in));
            CheckpointFile file = format.read(in);
            return new Header(file, file.path().equals(path) ? in.version() : file.version());
        }
    }
}
