package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.RecordOrder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * Trains, saves its state and the position of the loader from time to time, and dies without a word. The next run continues from the
 * saved position. In the end the state is that of a training that never died: each record counts once.
 */
public final class ResumedTraining {
    private static final int EPOCHS = 3;
    private static final int SAVED_EVERY = 3;
    private static final String LESSON =
            "One long, saved together with the state, resumes a shuffled data set exactly where the state was saved.";

    /** What a training saves: its state, here a sum, and the position that belongs to it. */
    private record Saved(long sum, long position) {
        static Saved read(Path path) throws IOException {
            ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(path));
            return new Saved(bytes.getLong(), bytes.getLong());
        }

        /** Replaces the file at once: a kill leaves the old or the new state. */
        void write(Path path) throws IOException {
            Path next = path.resolveSibling(path.getFileName() + ".next");
            Files.write(next, ByteBuffer.allocate(2 * Long.BYTES).putLong(sum).putLong(position).array());
            Files.move(next, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        }
    }

    private final SampleArguments arguments;
    private final CuFileDriver driver;
    private final RecordFile file;
    private final Path state;
    private long bytes;

    private ResumedTraining(SampleArguments arguments, CuFileDriver driver, RecordFile file) {
        this.arguments = arguments;
        this.driver = driver;
        this.file = file;
        this.state = arguments.folder().resolve("state");
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(ResumedTraining::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException, InterruptedException {
        RecordFile file = RecordFile.write(arguments);
        try (CuFileDriver driver = arguments.openDriver()) {
            return new ResumedTraining(arguments, driver, file).survive();
        }
    }

    private SampleResult survive() throws IOException, InterruptedException {
        new Saved(0, 0).write(state);
        long end = EPOCHS * file.source().records();
        long start = System.nanoTime();
        int lives = 0;
        int rounds = 1;
        // Each life ends after a few more steps, some of which were not saved.
        for (int steps = SAVED_EVERY + 2; Saved.read(state).position() < end; steps += 5) {
            Saved from = Saved.read(state);
            lives++;
            rounds = train(from, steps);
            arguments.say("life %d: resumed at %d of %d, saved %d", lives, from.position(), end,
                    Saved.read(state).position());
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        boolean verified = Saved.read(state).sum() == file.sum() * EPOCHS * rounds;
        return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
    }

    /** Trains from a saved state until the end, or until it dies after some steps; returns how often a step adds each word. */
    private int train(Saved from, int steps) throws IOException, InterruptedException {
        try (TrainingStep step = TrainingStep.open(arguments, driver);
                RecordLoader loader = RecordLoader.builder(driver, file.source(), file.batch())
                        .order(RecordOrder.shuffled(7))
                        .epochs(EPOCHS)
                        .target(arguments.kind(driver), arguments.gpu())
                        .resumeAt(from.position())
                        .open()) {
            for (int done = 1; loader.hasNext() && done <= steps; done++) {
                try (RecordBatch batch = loader.next()) {
                    bytes += batch.memory().length();
                    step.work(batch.memory());
                    long position = batch.nextPosition();
                    if (done % SAVED_EVERY == 0 || position == loader.end()) {
                        new Saved(from.sum() + step.sum(), position).write(state);
                    }
                }
            }
            return step.rounds();
        }
    }
}
