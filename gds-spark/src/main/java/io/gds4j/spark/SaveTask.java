package io.gds4j.spark;

import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.loader.save.SaveReport;
import io.gds4j.loader.save.ShardedSave;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.Row;

/** Writes the shard of a rank to a file of this attempt. */
final class SaveTask extends JobTask {
    private static final long serialVersionUID = 1L;

    private final String temporary;
    private final SaveOptions options;
    private final ShardSource source;

    SaveTask(int world, String temporary, SaveOptions options, ShardSource source) {
        super(world);
        this.temporary = temporary;
        this.options = options;
        this.source = source;
    }

    @Override
    List<Row> run(RankContext rank) throws Exception {
        Path folder = Path.of(temporary);
        if (!Files.isDirectory(folder)) {
            throw new Refusal(
                    "%s does not see %s, which the driver has created; save to storage that all of them mount at the same"
                            .formatted(rank.executor(), folder) + " path");
        }
        long start = System.nanoTime();
        try {
            SavePlan.Builder shard = SavePlan.builder().options(options);
            source.addTo(shard, rank);
            Path part = ShardedSave.part(folder, rank.rank(), TaskContext.get().taskAttemptId());
            SaveReport report = shard.toFile(part).save(rank.executor().driver());
            double seconds = (System.nanoTime() - start) / 1e9;
            return List.of(row(rank, part.toString(), report.bytes(), seconds, ioPath(report.ioPaths()),
                    report.tensors(), report.syncSeconds(), TaskContext.get().attemptNumber()));
        } finally {
            rank.close();
        }
    }
}
