package io.gds4j.loader.internal.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.Checkpoint;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How many reads of a load are in flight if the program does not say. */
class RequestsInFlightTest {
    private static final long MIB = 1 << 20;

    @TempDir
    Path folder;

    /** Tensors that cannot be read together, because no address aligns two of them. */
    private Layout layout(int tensors, long bytes, LoadOptions options) throws IOException {
        try (RandomAccessFile data = new RandomAccessFile(folder.resolve("data").toFile(), "rw")) {
            data.setLength(tensors * (bytes + 64));
        }
        String list = LongStream.range(0, tensors)
                .mapToObj(
                        i -> "{\"name\":\"t%d\",\"file\":\"data\",\"offset\":%d,\"bytes\":%d,\"dtype\":\"U8\",\"shape\":[%d]}"
                                .formatted(i, i * (bytes + 64), bytes, bytes))
                .collect(Collectors.joining(","));
        Path file = Files.writeString(
                folder.resolve("list.json"), "{\"schema\":\"gds4j.extents/1\",\"extents\":[" + list + "]}");
        return LayoutPlanner.plan(Checkpoint.open(file).files(), options);
    }

    @ParameterizedTest
    @CsvSource({
            "40, 32, 32, 16", "40, 32, 8, 8", "40, 32, 2, 4", // short reads
            "4, 4096, 32, 4", "1, 8192, 32, 4", // long ones
            "60, 64, 32, 8"})
    void shortReadsAreMany(int tensors, long mebibytes, int processors, int expected) throws IOException {
        Layout layout = layout(tensors, mebibytes * MIB, LoadOptions.DEFAULTS);
        assertThat(LoadOptions.DEFAULTS.io().inFlight(layout, processors)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({"1, 32, 4", "2, 32, 12", "4, 32, 12", "2, 8, 8", "2, 2, 4"})
    void loadsToSeveralGpusHaveMany(int gpus, int processors, int expected) throws IOException {
        Layout one = layout(4, 4096 * MIB, LoadOptions.DEFAULTS);
        List<Layout.BlockSpec> blocks = IntStream.range(0, gpus)
                .mapToObj(gpu -> new Layout.BlockSpec(gpu, MIB, 256, MemoryKind.CUDA_DEVICE, gpu, null)).toList();
        Layout layout =
                new Layout(one.files(), blocks, one.tensors(), one.slices(), one.works(), one.aliases(), one.names());
        assertThat(LoadOptions.DEFAULTS.io().inFlight(layout, processors)).isEqualTo(expected);
    }

    @Test
    void stagingBudgetLimitsThem() throws IOException {
        Layout layout = layout(400, MIB / 2, LoadOptions.DEFAULTS);
        assertThat(layout.gatherBytes()).isBetween(MIB, LoadOptions.DEFAULTS.io().gatherBytes());
        int inFlight = LoadOptions.DEFAULTS.io().inFlight(layout, 32);
        assertThat(inFlight * 2 * layout.gatherBytes()).isLessThanOrEqualTo(LoadOptions.DEFAULTS.io().stagingBudget());
        assertThat(inFlight).isGreaterThanOrEqualTo(4);
    }

    @Test
    void programDecides() throws IOException {
        LoadOptions options = LoadOptions.DEFAULTS.with(new LoadOptions.Io(64 * MIB, 0, 3, false));
        assertThat(options.io().inFlight(layout(40, MIB, options), 32)).isEqualTo(3);
    }
}
