package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.LoaderState;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.RecordOrder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;

/**
 * Trains, saves its sum and the state of the loader from time to time, and dies without a word. The next run continues from the saved
 * state, with batches of another size. In the end the state is that of a training that never died: each record counts once.
 */
final class ResumedTraining {
    private static final int EPOCHS = 3;
    private static final int SAVED_EVERY = 3;
    private static final String LESSON =
            "One line, saved beside the weights, resumes a shuffled data set exactly where they were saved.";

    /** What a training saves: a sum in place of weights, and the loader's state that belongs to it; none at first. */
    private record Saved(long sum, Optional<LoaderState> state) {
        static Saved read(Path path) throws IOException {
            List<String> lines = Files.readAllLines(path);
            return new Saved(Long.parseLong(lines.getFirst()),
                    lines.stream().skip(1).findFirst().map(LoaderState::parse));
        }

        /** Replaces the file at once: a kill leaves the old or the new state. */
        void write(Path path) throws IOException {
            Path next = path.resolveSibling(path.getFileName() + ".next");
            Files.writeString(next, sum + "\n" + state.map(LoaderState::json).orElse(""));
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
        new Saved(0, Optional.empty()).write(state);
        long start = System.nanoTime();
        int rounds = 1;
        boolean ended = false;
        // Each life ends after a few more steps, some of which were not saved.
        for (int life = 1; !ended; life++) {
            try (TrainingStep step = arguments.openTrainingStep(driver);
                    RecordLoader loader = loader(Saved.read(state), life)) {
                train(step, loader, 5 * life);
                rounds = step.rounds();
                ended = !loader.hasNext();
                arguments.say("life %d: %d records are left", life, loader.recordsLeft());
            }
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        boolean verified = Saved.read(state).sum() == file.sum() * EPOCHS * rounds;
        return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
    }

    private RecordLoader loader(Saved from, int life) {
        RecordLoader.Builder builder = RecordLoader.builder(driver, file.source(), Math.max(1, file.batch() - life))
                .order(RecordOrder.shuffled(7))
                .epochs(EPOCHS)
                .target(arguments.kind(driver), arguments.gpu());
        from.state().ifPresent(builder::resume);
        return builder.open();
    }

    /** Trains until the end, or until it dies after some steps. */
    private void train(TrainingStep step, RecordLoader loader, int steps) throws IOException, InterruptedException {
        long sum = Saved.read(state).sum();
        for (int done = 1; loader.hasNext() && done <= steps; done++) {
            try (RecordBatch batch = loader.next()) {
                bytes += batch.memory().length();
                step.work(batch.memory());
                if (done % SAVED_EVERY == 0 || !loader.hasNext()) {
                    new Saved(sum + step.sum(), Optional.of(batch.state())).write(state);
                }
            }
        }
    }
}
