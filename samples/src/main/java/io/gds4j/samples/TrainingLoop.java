package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.RecordOrder;
import java.io.IOException;

/**
 * Trains on shuffled batches of a data set while the loader reads ahead. The work of a step grows from nothing to several times the
 * reading; the time of a step stays close to the larger of the two. The printed table is the data of a chart.
 */
final class TrainingLoop {
    private static final int EPOCHS = 2;
    private static final int[] WORK = {0, 1, 2, 4, 8};
    private static final double MILLIS = 1e3;
    private static final String LESSON =
            "A loader that reads ahead makes a step as long as the larger of reading and work, not their sum.";

    private final SampleArguments arguments;
    private final CuFileDriver driver;
    private final RecordFile file;
    private long bytes;

    private TrainingLoop(SampleArguments arguments, CuFileDriver driver, RecordFile file) {
        this.arguments = arguments;
        this.driver = driver;
        this.file = file;
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(TrainingLoop::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException, InterruptedException {
        RecordFile file = RecordFile.write(arguments);
        try (CuFileDriver driver = arguments.openDriver(); TrainingStep step = arguments.openTrainingStep(driver)) {
            return new TrainingLoop(arguments, driver, file).compare(step);
        }
    }

    private SampleResult compare(TrainingStep step) throws InterruptedException {
        arguments.say("%d records of %d KiB in random order, batches of %d",
                file.source().records(), file.source().maxLength() >> 10, file.batch());
        train(step, 1); // warms up
        bytes = 0;
        boolean verified = true;
        double reading = 0;
        double seconds = 0;
        arguments.say("work  read ms  work ms  step ms  step / larger");
        for (int work : WORK) {
            step.reset();
            double measured = train(step, work);
            seconds += measured;
            reading = work == 0 ? measured : reading;
            verified &= step.sum() == file.sum() * EPOCHS * work * step.rounds();
            double larger = Math.max(reading, step.seconds());
            arguments.say("%4d  %7.3f  %7.3f  %7.3f  %13.2f", work, perStep(reading), perStep(step.seconds()),
                    perStep(measured), measured / larger);
        }
        return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
    }

    private double perStep(double seconds) {
        double steps = Math.ceil((double) file.source().records() / file.batch()) * EPOCHS;
        return seconds / steps * MILLIS;
    }

    /** Trains for some epochs, with the work of a step done {@code work} times; returns the seconds. */
    private double train(TrainingStep step, int work) throws InterruptedException {
        try (RecordLoader loader = RecordLoader.builder(driver, file.source(), file.batch())
                .order(RecordOrder.shuffled(7))
                .epochs(EPOCHS)
                .target(arguments.kind(driver), arguments.gpu())
                .memory(8L * file.batch() * file.source().maxLength())
                .open()) {
            long start = System.nanoTime();
            while (loader.hasNext()) {
                try (RecordBatch batch = loader.next()) {
                    bytes += batch.memory().length();
                    for (int i = 0; i < work; i++) {
                        step.work(batch.memory());
                    }
                }
            }
            return (System.nanoTime() - start) / 1e9;
        }
    }
}
