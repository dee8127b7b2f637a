package io.gds4j.spark;

import io.gds4j.loader.LoadReport;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.sql.Row;
import org.jspecify.annotations.Nullable;

/** Loads the slices of a rank into its executor's registry, and waits for the other ranks. */
final class LoadTask extends JobTask {
    private static final long serialVersionUID = 1L;

    private final String path;
    private final CheckpointStamp stamp;
    private final ModelPlan[] plans;
    private final @Nullable RankWork work;
    private final int attempt;

    LoadTask(String path, CheckpointStamp stamp, ModelPlan[] plans, Optional<RankWork> work, int attempt) {
        super(plans.length);
        this.path = path;
        this.stamp = stamp;
        this.plans = plans.clone();
        this.work = work.orElse(null);
        this.attempt = attempt;
    }

    @Override
    List<Row> run(RankContext rank) throws Exception {
        try {
            long start = System.nanoTime();
            Optional<String> refusal = Optional.empty();
            Optional<Model> model = Optional.empty();
            try {
                model = Optional.of(load(rank));
            } catch (Exception e) {
                // the other ranks wait for all: a refusal must reach them
                refusal = Optional.of(refusal(e).orElseThrow(() -> e));
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            if (work != null) {
                String[] all = BarrierTaskContext.get().allGather(refusal.orElse(""));
                if (Arrays.stream(all).allMatch(String::isEmpty)) {
                    work.run(model.orElseThrow().tensors(), rank);
                }
            }
            if (refusal.isPresent()) {
                throw new Refusal(refusal.get());
            }
            return List.of(row(rank, model.orElseThrow(), seconds));
        } finally {
            rank.close();
        }
    }

    private Model load(RankContext rank) {
        stamp.check(rank.executor());
        Model model = rank.closing(rank.executor().models().acquire(path, plans[rank.rank()]));
        stamp.check(rank.executor());
        return model;
    }

    private Row row(RankContext rank, Model model, double seconds) {
        LoadReport report = model.tensors().report();
        return row(rank, path, report.bytes(), seconds, model.isShared() ? "" : ioPath(report.ioPaths()),
                report.tensors(), model.isShared() ? 0L : model.storageBytes(), attempt);
    }
}
