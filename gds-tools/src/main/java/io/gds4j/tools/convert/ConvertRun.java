package io.gds4j.tools.convert;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.InertText;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.save.ChecksumReport;
import io.gds4j.loader.save.ChecksumVerifier;
import io.gds4j.loader.save.SaveListener;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.loader.save.SaveReport;
import io.gds4j.memory.MemoryRange;
import io.gds4j.remote.S3Files;
import io.gds4j.source.SourcePath;
import io.gds4j.tools.load.Growth;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.load.Opening;
import io.gds4j.tools.load.PathBytes;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.load.Targets;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Progress;
import io.gds4j.tools.terminal.ShutdownState;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * One run of {@code gds convert}.
 *
 * @param source path of the checkpoint
 * @param opening how it is opened
 * @param destination existing or new folder
 * @param backend auto, compat or libcufile
 * @param options layout of the new files
 * @param tied how tensors of the same bytes are written
 * @param output where the result goes
 */
public record ConvertRun(
        Path source, Opening opening, Path destination, String backend, SaveOptions options, TiedWeights tied,
        Output output) {

    /** How tensors of the same bytes of a file are written. */
    public enum TiedWeights {
        /** Once, with their further names in the metadata. */
        ONCE,
        /** Once for each name. */
        ALL_NAMES
    }

    private static final double NANOS = 1e9;
    /** Names of different tensors that are shown. */
    private static final int MAX_NAMES = 8;
    private static final String INDEX = "model.safetensors.index.json";

    /** Longest time to remove objects and parts of a store when the process ends. Files are always removed. */
    private static final Duration TO_TIDY_UP = Duration.ofMillis(900);
    private static final Duration UNLIMITED = Duration.ofMillis(Long.MAX_VALUE);

    /** Converts the checkpoint and prints the result. */
    public ExitStatus run() {
        if (isStore()) {
            if (!Set.of("s3", "az", "gs").contains(destination.toUri().getScheme())) {
                throw CommandFailure.usage(
                        "%s: only files and objects of S3, Google and Azure can be written".formatted(destination));
            }
        } else if (Files.exists(destination, LinkOption.NOFOLLOW_LINKS) && !Files.isDirectory(destination)) {
            // also a link that leads nowhere
            throw CommandFailure.badInput(destination.toString(), destination + ": not a folder");
        }
        return convert();
    }

    private boolean isStore() {
        return destination instanceof SourcePath;
    }

    private ExitStatus convert() {
        int gpu = options.stagingDevice();
        if (gpu != MemoryRange.NO_DEVICE) {
            Targets.resolve(Target.gpu(gpu));
        }
        long start = System.nanoTime();
        Checkpoint checkpoint = opening.open(source);
        SavePlan plan = plan(checkpoint);
        List<String> warnings = new ArrayList<>(checkpoint.warnings());
        if (!plan.furtherNames().isEmpty()) {
            warnings.add(
                    ("%s: other readers will not see %s, which have the bytes of other tensors and are written once; "
                            + "--all-names writes each").formatted(Text.name(destination), InertText.list(
                                    plan.furtherNames().stream().map(InertText::quote).toList())));
        }
        warnings.forEach(warning -> output.note(Text.oneLine(warning)));
        Growth.note(output, checkpoint, plan.bytes(), "storage");
        long planned = System.nanoTime();
        try (OpenedDriver opened = OpenedDriver.openForFiles(backend, output)) {
            SaveReport report = save(checkpoint, plan, opened.driver());
            Optional<ChecksumReport> verification = options.checksums()
                    ? Optional.of(verify(plan))
                    : Optional.empty();
            double seconds = (planned - start) / NANOS + report.seconds();
            print(checkpoint, report, seconds, verification, opened);
            return verification.isEmpty() || verification.get().verified() ? ExitStatus.DONE : ExitStatus.DIFFERENCE;
        }
    }

    /** Reads back what was written. Objects that differ, or cannot be read, are removed. */
    private ChecksumReport verify(SavePlan plan) {
        if (!isStore()) {
            return ChecksumVerifier.verify(verified(plan));
        }
        boolean good = false;
        try (ExitInterrupt _ = new ExitInterrupt(TO_TIDY_UP)) {
            try {
                ChecksumReport verification = ChecksumVerifier.verify(verified(plan));
                good = verification.verified();
                return verification;
            } finally {
                if (!good) {
                    if (plan.fileNames().size() > 1) {
                        delete(destination.resolve(INDEX));
                    }
                    plan.fileNames().forEach(name -> delete(destination.resolve(name)));
                }
            }
        }
    }

    /** Deletes an object; if that fails, says that it stays: why it goes is the result. */
    private void delete(Path object) {
        try {
            S3Files.delete(object);
        } catch (CuFileException e) {
            output.warn("%s stays, although it could not be verified: %s".formatted(object, e.getMessage()));
        }
    }

    /** Returns the checkpoint that was written: the folder may hold others. */
    private static Path verified(SavePlan plan) {
        return plan.fileNames().size() == 1 ? plan.target().resolve(plan.fileNames().getFirst()) : plan.target();
    }

    private SavePlan plan(Checkpoint checkpoint) {
        try {
            SavePlan.Builder builder = SavePlan.builder().options(options);
            return (tied == TiedWeights.ONCE
                    ? builder.checkpoint(checkpoint)
                    : builder.checkpointWithAllNames(checkpoint)).toFolder(destination);
        } catch (CuFileException e) {
            if (e.error() != CuFileError.INVALID_VALUE) {
                throw e;
            }
            // a name that safetensors does not allow
            throw CommandFailure.badInput(
                    source.toString(), "%s: %s".formatted(source, e.detail()));
        }
    }

    /** Saves; a signal that ends the process removes the unfinished files. */
    private SaveReport save(Checkpoint checkpoint, SavePlan plan, CuFileDriver driver) {
        try (Progress progress = output.start("converting", plan.bytes());
                ExitInterrupt _ = new ExitInterrupt(isStore() ? TO_TIDY_UP : UNLIMITED)) {
            try {
                return plan.save(driver, new SaveListener() {
                    @Override
                    public void progress(long bytesDone, long bytesTotal) {
                        progress.advanceTo(Math.min(bytesDone, plan.bytes()));
                    }
                });
            } catch (CuFileException e) {
                warnOfRemains(checkpoint, e);
                if (e.errno().orElse(0) == Errno.EEXIST && isStore()) {
                    Path object = e.path().orElse(destination);
                    throw CommandFailure.badInput(object.toString(), "%s: %s".formatted(object, e.detail()));
                }
                throw e;
            }
        }
    }

    /**
     * Warns of what a failed save could not remove, unless the failure itself is printed and says so. A store that could not take
     * back what it has wraps the failure that ended the save. That other reads of the source failed, too, or ended when the process did,
     * is no such thing.
     */
    private void warnOfRemains(Checkpoint checkpoint, CuFileException failure) {
        if (ShutdownState.begun() && failure.getCause() instanceof CuFileException) {
            output.warn(failure.detail());
        }
        Set<Path> sources = checkpoint.files().stream().map(CheckpointFile::path).collect(Collectors.toSet());
        for (Throwable each : failure.getSuppressed()) {
            if (each instanceof CuFileException known
                    && known.error() != CuFileError.DRIVER_CLOSING
                    && known.path().filter(sources::contains).isEmpty()) {
                output.warn(known.getMessage());
            }
        }
    }

    private void print(
            Checkpoint checkpoint,
            SaveReport report,
            double seconds,
            Optional<ChecksumReport> verification,
            OpenedDriver opened) {
        long rate = seconds > 0 ? Math.round(report.bytes() / seconds) : 0;
        RunStatistics.print(output, opened.driver(), object -> {
            object.put("path", source.toString());
            object.put("destination", destination.toString());
            object.put("format", checkpoint.format().id());
            object.put("files", report.files());
            object.put("tensors", checkpoint.tensors().size());
            object.put("bytes", report.bytes());
            object.put("seconds", seconds);
            object.put("driverOpenSeconds", opened.seconds());
            object.put("bytesPerSecond", rate);
            object.put("alignedTensors", report.alignedTensors());
            object.put("backend", opened.driver().backendName());
            object.put("ioPaths", PathBytes.of(report.ioPaths()));
            object.put("bytesAsked", report.bytesAsked());
            object.put("whyNotDirect", report.whyNotDirect().orElse(null));
            verification.ifPresent(known -> object.put("verified", known.verified()));
            object.put("warnings", checkpoint.warnings());
        }, () -> {
            List<String> lines = new ArrayList<>();
            lines.add(Text.row("checkpoint", Text.name(source)));
            lines.add(Text.row("", "%s, %s, %s".formatted(
                    checkpoint.format().id(),
                    Units.count(checkpoint.tensors().size(), "tensor"),
                    Units.bytes(report.bytes()))));
            lines.add(Text.row("written to", Text.name(destination)));
            lines.add(Text.row("", "%s, %s of %s at a multiple of %s".formatted(
                    Units.count(report.files(), "file"),
                    Units.count(report.alignedTensors(), "tensor"),
                    report.tensors(),
                    Math.max(SaveOptions.DEFAULTS.align(), options.align()))));
            lines.add(Text.row("served by", PathBytes.text(opened.driver().backendName(), report.ioPaths())));
            lines.addAll(PathBytes.whyNotDirect(report.whyNotDirect()));
            lines.add(Text.row("converted in", "%s   %s".formatted(Units.seconds(seconds), Units.rate(rate))));
            verification.ifPresent(known -> lines.add(Text.row("verified", known.different().isEmpty()
                    ? "%s read back, checksums equal".formatted(Units.bytes(known.bytes()))
                    : "different: " + known.different().stream()
                            .limit(MAX_NAMES)
                            .map(Text::name)
                            .collect(Collectors.joining(", ")))));
            return lines;
        });
    }

    /** Interrupts the thread that made it when a signal ends the process, and gives it time to tidy up. */
    private static final class ExitInterrupt implements AutoCloseable {
        private final Thread owner = Thread.currentThread();
        private final CountDownLatch closed = new CountDownLatch(1);
        private final Thread hook = new Thread(this::leave);
        private final Duration most;

        /** @param most longest time to tidy up */
        ExitInterrupt(Duration most) {
            this.most = most;
            try {
                Runtime.getRuntime().addShutdownHook(hook);
            } catch (IllegalStateException e) {
                // The process is ending already.
                owner.interrupt();
            }
        }

        private void leave() {
            owner.interrupt();
            try {
                closed.await(most.toMillis(), TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                // The process ends.
            }
        }

        @Override
        public void close() {
            ShutdownState.remove(hook);
            closed.countDown();
        }
    }
}
