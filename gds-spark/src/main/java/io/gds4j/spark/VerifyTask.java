package io.gds4j.spark;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.loader.save.TensorChecksums;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.IoPath;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;

/** Reads extents of a checkpoint and returns their checksums. */
final class VerifyTask extends JobTask {
    private static final long serialVersionUID = 1L;
    private static final long BUFFER = 8L << 20;

    /**
     * A tensor, or a part of one.
     *
     * @param file index in the stamp
     * @param offset offset of the first byte in the file
     */
    record Extent(String tensor, int file, long offset, long length) implements Serializable {
    }

    private final CheckpointStamp stamp;
    private final ArrayList<ArrayList<Extent>> extents = new ArrayList<>();

    /** @param extents those of each rank, in the order of the files */
    VerifyTask(CheckpointStamp stamp, List<List<Extent>> extents) {
        super(extents.size());
        this.stamp = stamp;
        extents.forEach(ofRank -> this.extents.add(new ArrayList<>(ofRank)));
    }

    @Override
    List<Row> run(RankContext rank) throws Exception {
        stamp.check(rank.executor());
        CuFileDriver driver = rank.executor().driver();
        List<Row> rows = new ArrayList<>();
        try (MemoryAllocation buffer = driver.allocator().allocate(MemoryKind.HOST, BUFFER)) {
            int opened = -1;
            CuFileHandle handle = null;
            for (Extent extent : extents.get(rank.rank())) {
                if (handle == null || opened != extent.file()) {
                    opened = extent.file();
                    handle = rank.closing(driver.openFile(Path.of(path(extent)), CuFileOpenOption.DIRECT));
                }
                rows.add(read(rank, extent, handle, buffer));
            }
        } finally {
            rank.close();
        }
        stamp.check(rank.executor());
        return rows;
    }

    private Row read(RankContext rank, Extent extent, CuFileHandle handle, MemoryAllocation buffer) {
        CuFileDriver driver = rank.executor().driver();
        Map<IoPath, Long> before = driver.bytesByPath();
        long start = System.nanoTime();
        int crc = TensorChecksums.of(handle, extent.offset(), extent.length(), buffer);
        double seconds = (System.nanoTime() - start) / 1e9;
        return row(rank, path(extent), extent.length(), seconds, ioPath(moved(before, driver.bytesByPath())),
                extent.tensor(), extent.offset(), "%08x".formatted(crc));
    }

    private String path(Extent extent) {
        return stamp.files().get(extent.file()).path();
    }
}
