package io.gds4j.tools.load;

import io.gds4j.loader.ParallelReport;
import io.gds4j.loader.RankReport;
import io.gds4j.tools.load.LoadArguments.ParallelMode;
import io.gds4j.tools.terminal.Fields;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Result of a load to several targets, in the forms that the command prints.
 *
 * @param load what a load to one target reports, too
 * @param targets the targets in the order of their ranks
 * @param mode how they share the tensors
 * @param report bytes from storage and of each rank
 * @param inspection digests of the slices
 */
record ParallelResult(
        LoadResult load,
        List<Targets> targets,
        ParallelMode mode,
        ParallelReport report,
        ParallelInspection inspection) {

    /** Returns the fields of load's JSON object, without {@code schema}. */
    Map<String, @Nullable Object> toJson() {
        Map<String, @Nullable Object> fields = load.toJson();
        fields.put("target", String.join(",", targets.stream().map(target -> target.target().toString()).toList()));
        fields.put("parallel", mode.toString());
        fields.put("storageBytes", report.storageBytes());
        fields.put("targets", report.ranks().stream().map(this::described).toList());
        List<ParallelInspection.Digested> slices = inspection.slices();
        if (slices != null) {
            fields.put("tensorList", slices.stream().map(ParallelResult::digested).toList());
        }
        return fields;
    }

    private Map<String, @Nullable Object> described(RankReport rank) {
        return Fields.of("target", targets.get(rank.rank()).target().toString())
                .and("rank", rank.rank())
                .and("tensors", rank.tensors())
                .and("bytes", rank.bytes()).map();
    }

    private static Map<String, @Nullable Object> digested(ParallelInspection.Digested slice) {
        Map<String, @Nullable Object> fields = LoadResult.describe(slice.slice());
        fields.put("rank", slice.rank());
        fields.put("sha256", slice.sha256());
        return fields;
    }

    /** Returns the lines of the text output. */
    List<String> rows() {
        List<String> rows = new ArrayList<>(load.rows());
        rows.add("");
        rows.add(Text.row("parallel", mode.toString()));
        rows.add(Text.row("storage", Units.bytes(report.storageBytes()) + " read, each byte once"));
        rows.add(Text.row("delivered", Units.rate(report.deliveredBytesPerSecond())));
        for (RankReport rank : report.ranks()) {
            rows.add(Text.row(
                    "rank " + rank.rank(),
                    "%s to %s, %s".formatted(
                            Units.count(rank.tensors(), "tensor"),
                            targets.get(rank.rank()).target(),
                            Units.bytes(rank.bytes()))));
        }
        return rows;
    }
}
