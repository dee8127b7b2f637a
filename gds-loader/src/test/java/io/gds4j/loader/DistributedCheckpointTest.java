package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checkpoints of torch.distributed.checkpoint: slices in safetensors files, and the classic form, which is refused. */
class DistributedCheckpointTest {
    @TempDir
    Path folder;

    /** Writes the file of a rank with a slice of the float tensor w. */
    private void shard(int rank, String shape, int elements, String info) {
        String json =
                "{\"__metadata__\":{\"DCP_VERSION\":\"1.0\"%s},\"w\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[0,%d]}%s}"
                        .formatted(
                                info == null ? "" : ",\"DCP_SHARDING_INFO\":\"" + info.replace("\"", "\\\"") + "\"",
                                shape,
                                4 * elements,
                                rank == 1
                                        ? ",\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[%d,%d]}"
                                                .formatted(4 * elements, 4 * elements + 2)
                                        : "");
        HeaderText.write(
                folder.resolve("shard-%05d-model-00001-of-00001.safetensors".formatted(rank)),
                HeaderText.file(json, 4 * elements + (rank == 1 ? 2 : 0)));
    }

    private static String at(String offsets) {
        return "{\"w\": {\"saved_offsets\": %s}, \"b\": {\"saved_offsets\": [0]}}".formatted(offsets);
    }

    private CheckpointException failure() {
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(folder));
        assertThat(e).isNotNull();
        assertThat(e.getMessage()).doesNotContain("\n");
        return e;
    }

    @Test
    void slicesHaveTheirRangeInTheirNames() {
        shard(1, "[2,4]", 8, at("[0,0]"));
        shard(2, "[1,4]", 4, at("[2,0]"));
        Checkpoint checkpoint = Checkpoint.open(folder);
        assertThat(checkpoint.tensors()).containsOnlyKeys("w[0:2,0:4]", "w[2:3,0:4]", "b");
        assertThat(checkpoint.metadata()).containsEntry("w.global_shape", "[3, 4]")
                .doesNotContainKey("b.global_shape");
        assertThat(checkpoint.tensors().get("w[2:3,0:4]").shape()).isEqualTo(List.of(1L, 4L));
    }

    @Test
    void ranksShareTheWholeTensor() {
        shard(1, "[2,4]", 8, at("[0,0]"));
        shard(2, "[4,4]", 16, at("[2,0]"));
        ParallelPlan plan = ParallelPlan.of("w", List.of(
                new ParallelRule("w", Split.dimension(0)), new ParallelRule("b", Split.replicate())));
        ParallelLoadPlan load =
                Checkpoint.open(folder).plan().across(Collections.nCopies(3, LoadDestination.host()), plan);
        assertThat(load.ranks()).allSatisfy(rank -> assertThat(load.slices(rank))
                .filteredOn(slice -> slice.tensor().name().startsWith("w"))
                .extracting(slice -> slice.tensor().name() + slice.shape() + " from byte "
                        + (slice.copies().getFirst().fileOffset() - slice.tensor().fileOffset()))
                .containsExactly(List.of(
                        "w[0:2,0:4][2, 4] from byte 0", "w[2:6,0:4][2, 4] from byte 0",
                        "w[2:6,0:4][2, 4] from byte 32").get(rank)));
    }

    @Test
    void fileOfOneRankKeepsItsNames() {
        shard(1, "[1,4]", 4, at("[0,0]"));
        assertThat(Checkpoint.open(folder).tensors()).containsOnlyKeys("w", "b");
        assertThat(Checkpoint.open(folder).warnings()).isEmpty();
        Path file = folder.resolve("shard-00001-model-00001-of-00001.safetensors");
        assertThat(Checkpoint.open(file).tensors()).containsOnlyKeys("w", "b");
        assertThat(Checkpoint.open(file).warnings()).singleElement().asString().contains("only the file of one rank");
    }

    @Test
    void laterSliceAloneIsRefused() {
        shard(2, "[1,4]", 4, "{\"w\": {\"saved_offsets\": [2,0]}}");
        assertThat(failure().rule().variant()).isEqualTo("DistributedShards");
        assertThat(failure().getMessage()).contains("'w'", "its global shape [3, 4] needs 48", "a shard is missing");
        Path file = folder.resolve("shard-00002-model-00001-of-00001.safetensors");
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(file));
        assertThat(e.getMessage()).contains("a shard is missing");
    }

    @Test
    void missingRankIsNamed() {
        shard(2, "[1,4]", 4, "{\"w\": {\"saved_offsets\": [0,0]}}");
        assertThat(failure().rule().variant()).isEqualTo("DistributedShards");
        assertThat(failure().getMessage()).contains("the file of rank 0 is missing");
    }

    /** PyTorch writes no file for ranks whose slices are copies: here the second rank of each pair of a mesh of 2 by 2. */
    @Test
    void ranksWithoutAFileAreNamedIfEverySliceIsCovered() {
        shard(1, "[2,4]", 8, at("[0,0]"));
        shard(3, "[2,4]", 8, "{\"w\": {\"saved_offsets\": [2,0]}}");
        Checkpoint checkpoint = Checkpoint.open(folder);
        assertThat(checkpoint.tensors()).containsOnlyKeys("w[0:2,0:4]", "w[2:4,0:4]", "b");
        assertThat(checkpoint.metadata()).containsEntry("w.global_shape", "[4, 4]");
        assertThat(checkpoint.warnings()).singleElement().asString().contains("there is no file of rank 1: ");
    }

    @Test
    void sliceThatNoFileHasIsNamedWithTheRanksThatHaveNone() {
        shard(1, "[2,2]", 4, at("[0,0]"));
        shard(3, "[2,2]", 4, "{\"w\": {\"saved_offsets\": [2,0]}}");
        shard(6, "[2,2]", 4, "{\"w\": {\"saved_offsets\": [2,2]}}");
        assertThat(failure().getMessage()).contains("no file has [0:2,2:4], nor is there one of ranks 1, 3, 4");
    }

    /** PyTorch gives empty slices the place behind the last row, so they tell of rows that were lost. */
    @Test
    void sliceBeforeAnEmptyOneIsNamedIfNoFileHasIt() {
        shard(1, "[1,4]", 4, at("[0,0]"));
        shard(3, "[0,4]", 0, "{\"w\": {\"saved_offsets\": [2,0]}}");
        assertThat(failure().getMessage()).contains("no file has [1:2,0:4], nor is there one of rank 1");
        shard(2, "[1,4]", 4, "{\"w\": {\"saved_offsets\": [1,0]}}");
        assertThat(Checkpoint.open(folder).tensors()).containsOnlyKeys("w[0:1,0:4]", "w[1:2,0:4]", "b");
    }

    @Test
    void emptySlicesLeaveTheTensorWhole() {
        shard(1, "[1,4]", 4, at("[0,0]"));
        shard(2, "[0,4]", 0, "{\"w\": {\"saved_offsets\": [1,0]}}");
        shard(3, "[0,4]", 0, "{\"w\": {\"saved_offsets\": [1,0]}}");
        Checkpoint checkpoint = Checkpoint.open(folder);
        assertThat(checkpoint.tensors()).containsOnlyKeys("w", "b");
        assertThat(checkpoint.metadata()).doesNotContainKey("w.global_shape");
        shard(2, "[2,4]", 8, "{\"w\": {\"saved_offsets\": [1,0]}}");
        assertThat(Checkpoint.open(folder).tensors()).containsOnlyKeys("w[0:1,0:4]", "w[1:3,0:4]", "b");
    }

    @Test
    void tensorWithoutElementsIsKeptOnce() {
        shard(1, "[0,4]", 0, at("[0,0]"));
        shard(2, "[0,4]", 0, "{\"w\": {\"saved_offsets\": [0,0]}}");
        assertThat(Checkpoint.open(folder).tensors()).containsOnlyKeys("w", "b");
    }

    @Test
    void tensorWithoutElementsHasTheShapeThatItsSlicesSpan() {
        shard(1, "[0,1]", 0, at("[0,2]"));
        shard(2, "[0,2]", 0, "{\"w\": {\"saved_offsets\": [0,0]}}");
        assertThat(Checkpoint.open(folder).tensors().get("w").shape()).containsExactly(0L, 3L);
        shard(2, "[0,2]", 0, "{\"w\": {\"saved_offsets\": [1,0]}}");
        assertThat(failure().getMessage()).contains("no file has [0:1,0:3]");
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = ';', nullValues = "-", value = {
            "a gap; [1,4]; {\"w\": {\"saved_offsets\": [3,0]}}; its global shape [4, 4] needs 64",
            "an overlap; [2,4]; {\"w\": {\"saved_offsets\": [1,0]}}; its global shape [3, 4] needs 48",
            "the same place; [1,4]; {\"w\": {\"saved_offsets\": [0,0]}}; a slice at [0, 0] here and in shard-00001",
            "too few offsets; [1,4]; {\"w\": {\"saved_offsets\": [2]}}; for the 2 dimensions of tensor 'w'",
            "no offsets; [1,4]; {\"w\": {}}; has no saved_offsets",
            "no tensor; [1,4]; {}; for the 2 dimensions of tensor 'w'",
            "an offset of 2^63-1; [1,4]; {\"w\": {\"saved_offsets\": [9223372036854775807,0]}}; beyond 2^63-1",
            "an offset of 2^62; [1,4]; {\"w\": {\"saved_offsets\": [4611686018427387904,0]}}; more than 64 bits",
            "no JSON; [1,4]; {'w'}; a name in quotes expected",
            "no sharding info; [1,4]; -; this one has not",
            "another rank; [4]; {\"w\": {\"saved_offsets\": [0]}}; differ in type or number of dimensions"
    })
    void slicesThatDoNotFillTheTensorAreRefused(String what, String shape, String info, String message) {
        shard(1, "[2,4]", 8, at("[0,0]"));
        shard(2, shape, shape.startsWith("[2") ? 8 : 4, info);
        CheckpointException e = failure();
        assertThat(e.rule().variant()).isEqualTo("DistributedShards");
        assertThat(e.getMessage()).contains(message);
    }

    @Test
    void slicesMayFormAGrid() {
        shard(1, "[1,3]", 3, at("[0,0]"));
        shard(2, "[1,1]", 1, at("[0,3]"));
        shard(3, "[2,3]", 6, at("[1,0]"));
        shard(4, "[2,1]", 2, at("[1,3]"));
        assertThat(Checkpoint.open(folder).tensors())
                .containsOnlyKeys("w[0:1,0:3]", "w[0:1,3:4]", "w[1:3,0:3]", "w[1:3,3:4]", "b");
    }

    @Test
    void slicesThatOverlapAndLeaveAGapAreRefusedThoughTheirBytesAddUp() {
        shard(1, "[2]", 2, at("[0]"));
        shard(2, "[1]", 1, at("[1]"));
        shard(3, "[1]", 1, at("[3]"));
        assertThat(failure().getMessage()).contains("the slices of tensor 'w' overlap and leave a gap",
                "no file has [2:3]");
    }

    @Test
    void slicesInManyDimensionsAreRefused() {
        String shape = "[1,1,1,1,1,1,1,1,1]";
        shard(1, shape, 1, at("[0,0,0,0,0,0,0,0,0]"));
        for (int rank = 2; rank <= 512; rank++) {
            String offsets = Integer.toBinaryString(512 + rank - 1).substring(1).replaceAll("(.)(?=.)", "$1,");
            shard(rank, shape, 1, at("[" + offsets + "]"));
        }
        assertThat(failure().getMessage()).contains("tensor 'w' is cut in 9 dimensions; at most 8 are allowed");
    }
}
