package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("slow")
class IoCommandTest {
    private static final int SIZE = 1 << 20;

    @TempDir
    private Path folder;
    private Path file;

    @BeforeEach
    void name() {
        file = folder.resolve("data");
    }

    /** Runs on host memory, without warm-up. */
    private static GdsRun io(String... words) {
        List<String> line = new ArrayList<>(List.of("io", "-d", "host", "--warm-up", "0"));
        line.addAll(List.of(words));
        return gds(line.toArray(String[]::new));
    }

    private GdsRun onFile(String line) {
        List<String> words = new ArrayList<>(List.of("-f", file.toString()));
        words.addAll(List.of(line.split(" ")));
        return io(words.toArray(String[]::new));
    }

    private void writePattern() {
        assertThat(onFile("-s 1M -I 1 -i 256K -V").status()).isZero();
    }

    @Test
    void seriesContinuesAfterAFailedLine() throws IOException {
        writePattern();
        Path lines = Files.writeString(folder.resolve("lines"), "-i 64K\n\n -i 2M \n-w 2 -i 128K");

        GdsRun run = onFile("--json --series " + lines);

        List<JsonNode> objects = new ArrayList<>();
        for (String object : run.out().lines().toList()) {
            objects.add(new ObjectMapper().readTree(object));
        }
        assertThat(objects).hasSize(3);
        assertThat(objects.get(0).get("ioSize").asLong()).isEqualTo(65536);
        assertThat(objects.get(1).get("error")).isNotNull();
        assertThat(objects.get(2).get("threads").asInt()).isEqualTo(2);
        assertThat(run.status()).isEqualTo(onFile("-i 2M").status()).isNotZero();
        assertThat(onFile("--series=" + folder.resolve("nothing")).err()).contains("nothing: no such file");
    }

    @Test
    void jsonHasEveryFieldOfTheContract() {
        writePattern();

        JsonNode json = onFile("-i 64K -w 2 --json").json();

        assertThat(json.get("schema").asText()).isEqualTo("gds4j.io/1");
        assertThat(json.get("ioType").asText()).isEqualTo("READ");
        assertThat(json.get("xferType").asText()).isEqualTo("GPUD");
        assertThat(json.get("threads").asInt()).isEqualTo(2);
        assertThat(json.get("ioSize").asLong()).isEqualTo(65536);
        assertThat(json.get("bytes").asLong()).isEqualTo(SIZE);
        assertThat(json.get("ops").asLong()).isEqualTo(16);
        double seconds = json.get("seconds").asDouble();
        assertThat(seconds).isPositive();
        assertThat(json.get("bytesPerSecond").asDouble()).isCloseTo(SIZE / seconds, within(1));
        JsonNode latency = json.get("latencyMicros");
        assertThat(latency.get("avg").asDouble()).isPositive();
        assertThat(latency.get("p50").asDouble())
                .isLessThanOrEqualTo(latency.get("p99").asDouble())
                .isLessThanOrEqualTo(latency.get("max").asDouble());
        assertThat(json.get("cpuSeconds").isNumber()).isTrue();
        assertThat(json.get("allocatedBytesPerOp").isNumber()).isTrue();
        assertThat(json.get("target").asText()).isEqualTo("host");
        assertThat(json.get("results")).hasSize(1);
        assertThat(json.get("results").get(0).get("ioPaths")).isEqualTo(json.get("ioPaths"));
        assertThat(json.get("ioPaths").elements()).toIterable().isNotEmpty();
    }

    @Test
    void eachRequestSizeHasItsBytesByPath() {
        writePattern();

        JsonNode results = onFile("-i 64K:256K:*4 --json").json().get("results");

        assertThat(results).hasSize(2).allSatisfy(result -> {
            long bytes = 0;
            for (JsonNode moved : result.get("ioPaths")) {
                bytes += moved.asLong();
            }
            assertThat(bytes).isEqualTo(SIZE);
        });
    }

    private static Offset<Double> within(double difference) {
        return Offset.offset(difference);
    }

    @ParameterizedTest
    @CsvSource({
            "0, 0, GPUD", "0, 1, GPUD", "0, 2, GPUD", "0, 3, GPUD", "1, 0, CPUONLY", "1, 3, CPUONLY", "2, 0, CPU_GPU",
            "2, 1, CPU_GPU", "3, 2, CPU_ASYNC_GPU", "3, 1, CPU_ASYNC_GPU", "4, 0, CPU_CACHED_GPU",
            "4, 1, CPU_CACHED_GPU"})
    void everyTransferTypeVerifies(int transfer, int operation, String name) {
        writePattern();

        GdsRun run = onFile("-s 1M -i 48K -w 3 -V -x %d -I %d --json".formatted(transfer, operation));

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.json().get("verified").asBoolean()).isTrue();
        assertThat(run.json().get("xferType").asText()).isEqualTo(name);
        assertThat(run.json().get("ops").asLong()).isEqualTo(22);
        assertThat(onFile("-i 1M -V --json").status()).as("the file still holds the pattern").isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"-i 64K", "-i 64K -x 1", "-i 1M -x 2", "-i 64K -O 1 -w 4", "-i 100K -m 3"})
    void wrongByteIsFound(String options) throws IOException {
        writePattern();
        int place = 777_777;
        try (RandomAccessFile planted = new RandomAccessFile(file.toFile(), "rw")) {
            planted.seek(place);
            int right = planted.read();
            planted.seek(place);
            planted.write(right ^ 1);
        }

        GdsRun run = onFile(options + " -V --json");

        assertThat(run.status()).isEqualTo(5);
        assertThat(run.errorLine()).contains("byte " + place).contains(file.toString());
        assertThat(run.json().get("error").get("exitStatus").asInt()).isEqualTo(5);
    }

    @Test
    void patternOfAnotherSeedDiffers() {
        writePattern();

        assertThat(onFile("-V -i 64K -k 2").status()).isEqualTo(5);
        assertThat(onFile("-V -i 64K -k 1").status()).isZero();
    }

    @Test
    void sameSeedWritesTheSameFile() throws IOException {
        String line = "-s 1M -I 3 -i 10K -R -F -U -k ";
        byte[] first = written(line + 7);

        assertThat(written(line + 7)).isEqualTo(first);
        assertThat(written(line + 8)).isNotEqualTo(first);
    }

    private byte[] written(String line) throws IOException {
        Files.write(file, new byte[SIZE]);
        GdsRun run = onFile(line);
        assertThat(run.status()).as(run.err()).isZero();
        return Files.readAllBytes(file);
    }

    @Test
    void unalignedRandomReadsVerify() {
        writePattern();

        GdsRun run = onFile("-I 2 -U -i 5000 -V -w 2 --json");

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.json().get("ops").asLong()).isEqualTo(Math.ceilDiv(SIZE, 5000));
    }

    @Test
    void everySizeOfASeriesHasAResult() {
        writePattern();

        JsonNode json = onFile("-i 4K:64K:*4 --json").json();

        assertThat(json.get("results")).extracting(result -> result.get("ioSize").asLong())
                .containsExactly(4096L, 16384L, 65536L);
        assertThat(json.get("results")).allSatisfy(result -> assertThat(result.get("bytes").asLong()).isEqualTo(SIZE));
        assertThat(json.get("ioSize").isNull()).isTrue();
        assertThat(json.get("bytes").asLong()).isEqualTo(3L * SIZE);
        assertThat(onFile("-i 1K:4K:1K --json").json().get("results")).hasSize(4);
    }

    @Test
    void sharedFileReportsFairness() {
        writePattern();

        assertThat(onFile("-i 64K -w 4 --json").json().get("fairness").asDouble()).isBetween(0.0, 1.0);
        assertThat(onFile("-i 64K --json").json().get("fairness").isNull()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"--policy auto", "--policy direct", "--policy buffered -O 1", "--mixed", "--mixed --drop -O 1",
                    "--cold --drop", "-x 6 -B 8 --io-uring --policy direct"})
    void cacheStatesAndPoliciesReadTheSameBytes(String options) {
        writePattern();

        GdsRun run = onFile("-i 64K -V --json " + options);

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.json().get("ioPaths").propertyStream().mapToLong(path -> path.getValue().asLong()).sum())
                .isEqualTo(SIZE);
        String ring = run.json().get("ioUring").asText();
        assertThat(ring).matches(options.contains("io-uring") ? "on|refused: .*" : "off");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"-i 64K --fragments 7", "-i 4K:1M:*4 --fragments 64",
                    "-i 64K -w 2 -I 1 -s 256K --fragments 2 -O 1"})
    void requestsOfFragmentsMoveTheSameBytes(String options) {
        writePattern();

        GdsRun run = onFile("-V --json --overwrite " + options);

        assertThat(run.status()).as(run.err()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"-i 4K --results", "-i 4K -x 6 -B 16 --results -O 1", "-i 64K -I 1 -s 256K --results -O 1"})
    void requestsMayReport(String options) {
        writePattern();

        GdsRun run = onFile("-V --json --overwrite " + options);

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.json().get("bytes").asLong()).isPositive();
    }

    @Test
    void onlyRequestsOfTheApiReport() {
        assertThat(onFile("-x 1 --results").errorLine()).contains("--results requires -x 0 or 6");
        assertThat(onFile("--fragments 4 --results").errorLine()).contains("excludes --fragments");
    }

    @Test
    void fragmentsNeedTheApi() {
        assertThat(onFile("-x 6 --fragments 4").errorLine()).contains("--fragments requires -x 0");
        assertThat(onFile("--fragments 0").errorLine()).contains("allowed is 1 to 4096");
    }

    @Test
    void warmUpDoesNotCountAsServed() {
        writePattern();

        JsonNode json =
                gds("io", "-d", "host", "-f", file.toString(), "-i", "64K", "--warm-up", "0.05", "--json").json();

        assertThat(json.get("ioPaths").propertyStream().mapToLong(path -> path.getValue().asLong()).sum())
                .isEqualTo(SIZE);
        assertThat(json.get("opsPerSecond").asDouble())
                .isCloseTo(json.get("ops").asLong() / json.get("seconds").asDouble(), Offset.offset(1e-3));
        assertThat(json.has("runs")).isFalse();
    }

    @Test
    void repetitionsAreCombinedWithTheirSpread() {
        writePattern();

        JsonNode json = onFile("-i 64K:128K:*2 --repeat 3 --json").json();

        assertThat(json.get("results")).hasSize(2).allSatisfy(result -> {
            assertThat(result.get("bytes").asLong()).isEqualTo(3L * SIZE);
            assertThat(result.get("runs")).hasSize(3).allSatisfy(run -> assertThat(run.asLong()).isPositive());
            assertThat(result.get("spread").asDouble()).isNotNegative();
        });
        assertThat(json.get("ioPaths").propertyStream().mapToLong(path -> path.getValue().asLong()).sum())
                .isEqualTo(6L * SIZE);
    }

    @Test
    void textShowsOperationsPerSecondAndPercentiles() {
        writePattern();

        assertThat(onFile("-i 64K").out()).contains("IOPS", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs")
                .doesNotContain("spread");
        assertThat(onFile("-i 64K --repeat 2").out()).contains("spread").containsPattern("\\d\\.\\d %");
        assertThat(onFile("-i 64K --repeat 0").status()).isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--policy fast", "--cold --mixed", "--hot --mixed", "--cold --hot"})
    void contradictoryCacheOptionsAreWrongUsage(String options) {
        writePattern();

        assertThat(onFile("-i 64K " + options).status()).isEqualTo(2);
    }

    @Test
    void folderHoldsOneFilePerThread() {
        GdsRun run = io("-D", folder.toString(), "-w", "3", "-s", "256K", "-i", "64K", "-I", "1", "-V", "--json");

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.json().get("bytes").asLong()).isEqualTo(3 * 256 * 1024);
        assertThat(folder).isDirectoryContaining(path -> path.endsWith("gdsio.0"))
                .isDirectoryContaining(path -> path.endsWith("gdsio.2"));
        assertThat(folder.resolve("gdsio.1")).hasSize(256 * 1024);
    }

    @Test
    void runLastsAsLongAsRequested() {
        writePattern();
        long operations = 0;
        // A slow machine may complete only one pass in this time.
        for (double asked = 0.05; asked < 30 && operations < 2; asked *= 2) {
            JsonNode json = onFile("-i 1M -T " + asked + " --json").json();
            assertThat(json.get("seconds").asDouble()).isGreaterThanOrEqualTo(asked);
            operations = json.get("ops").asLong();
        }
        assertThat(operations).isGreaterThan(1);
    }

    @Test
    void mixReadsAndWrites() throws IOException {
        Files.write(file, new byte[SIZE]);

        GdsRun run = onFile("-I 2 -M 50 -i 4K -R -s 1M --json");

        assertThat(run.status()).as(run.err()).isZero();
        byte[] after = Files.readAllBytes(file);
        int changed = 0;
        for (int block = 0; block < SIZE; block += 4096) {
            changed += after[block] != 0 || after[block + 1] != 0 ? 1 : 0;
        }
        assertThat(changed).isBetween(1, 200);
    }

    /** 250 whole blocks and a shorter one, on threads with unequal shares. */
    @Test
    void randomPassTouchesEachBlockOnce() throws IOException {
        int size = 1001 << 10;
        Files.write(file, new byte[size]);

        GdsRun run = onFile("-I 3 --each-once -i 4K -w 4 -R -s 1001K --json");

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.json().get("ops").asLong()).isEqualTo(251);
        assertThat(run.json().get("bytes").asLong()).isEqualTo(size);
        byte[] after = Files.readAllBytes(file);
        assertThat(after).hasSize(size);
        for (int block = 0; block < size; block += 4096) {
            assertThat(after[block] != 0 || after[block + 1] != 0 || after[block + 2] != 0).as("block at %d", block)
                    .isTrue();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"-I 0 --each-once", "-I 2 -U --each-once"})
    void eachOnceNeedsAlignedRandomRequests(String options) {
        writePattern();

        assertThat(onFile("-i 64K " + options).err()).contains("--each-once requires -I 2 or 3");
    }

    @Test
    void gdsioFormatPrintsTheLineOfGdsio() {
        writePattern();

        GdsRun run = onFile("-i 64K -w 2 --gdsio-format");

        assertThat(run.out()).matches(
                "IoType: READ XferType: GPUD Threads: 2 DataSetSize: 1024/1024\\(KiB\\) IOSize: 64\\(KiB\\)"
                        + " Throughput: \\d+\\.\\d{6} GiB/sec, Avg_Latency: \\d+\\.\\d{6} usecs ops: 16"
                        + " total_time \\d+\\.\\d{6} secs\n");
    }

    @Test
    void jobsRunTogetherAndAreShownSeparately() throws IOException {
        writePattern();
        Path jobs = Files.writeString(folder.resolve("rw.gdsio"), """
                [global]
                name=sample
                xfer_type=0
                bs=64K      # each
                filename=%s
                random_seed=1
                [job1]
                rw=read
                num_threads=2
                do_verify=1
                [job2]
                rw=randread
                num_threads=1
                skip_bufregister=1
                """.formatted(file));

        JsonNode json = io(jobs.toString(), "-J", "--json").json();

        assertThat(json.get("threads").asInt()).isEqualTo(3);
        assertThat(json.get("bytes").asLong()).isEqualTo(2L * SIZE);
        assertThat(json.get("jobs")).extracting(job -> job.get("job").asText()).containsExactly("job1", "job2");
        assertThat(json.get("jobs").get(1).get("ioType").asText()).isEqualTo("RANDREAD");
        assertThat(io(jobs.toString(), "-J", "--gdsio-format").out().lines()).hasSize(3);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    [job1]\\nrw=frobnicate   | jobs:2: rw=frobnicate
                    bs=1M                   | jobs:1: 'bs=1M' precedes
                    [job1]\\nnonsense=1      | jobs:2: unknown key 'nonsense'
                    [job1]\\njust a word     | jobs:2: 'just a word'
                    [job1]\\nbs=much         | [job1]: Invalid value
                    [job1]\\nbs=1M           | [job1]: no file given
                    [global]                | has no job
                    """)
    void wrongJobFileIsStatusThreeAndNamesTheLine(String text, String expected) throws IOException {
        Path jobs = Files.writeString(folder.resolve("jobs"), text.replace("\\n", "\n"));

        GdsRun run = gds("io", jobs.toString());

        assertThat(run.status()).as(run.err()).isEqualTo(3);
        assertThat(run.errorLine()).contains(expected);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    -x 9               | -x 9: allowed is 0 to 7
                    -I 4               | -I 4: allowed is 0 to 3
                    -w 0               | -w 0: allowed is 1 to 1024
                    -i 0               | an I/O size must be 1 byte or more
                    -i 1M:4K:1K        | the largest size is less than
                    -i 4K:1G:4K        | more than 256 sizes
                    -i 1:2             | MIN:MAX:STEP
                    -T 0               | -T 0.0: allowed is more than 0
                    -D x               | -f and -D exclude each other
                    -I 1               | no size to write given
                    -U                 | -U requires -I 2 or 3
                    -V -R              | -V writes its own pattern
                    --cold --hot       | exclude each other
                    -m 0               | -m 0 is GPU memory
                    -x 1 -m 3          | -m 3 requires
                    -i 2M              | larger than the 1048576 bytes
                    -w 8 -i 512K       | -w 8: threads share 2 requests
                    --backend nvidia   | is not a backend
                    """)
    void wrongOptionsAreOneLineAndStatusTwo(String options, String expected) throws IOException {
        Files.write(file, new byte[SIZE]);

        GdsRun run = onFile(options);

        assertThat(run.status()).as(run.err()).isEqualTo(2);
        assertThat(run.errorLine()).startsWith("gds: ").contains(expected);
    }

    @Test
    void missingDataNamesTheCommandThatWritesIt() throws IOException {
        assertThat(onFile("-i 4K").status()).isEqualTo(3);
        assertThat(onFile("-i 4K").errorLine()).contains("no such file").contains("-I 1");
        Files.write(file, new byte[5000]);
        assertThat(onFile("-i 4K -s 8K").status()).isEqualTo(3);
        assertThat(onFile("-i 4K -s 8K").errorLine()).contains("has 5000 bytes, but the job reads 8192");
        assertThat(file).as("unchanged").hasSize(5000);
    }

    @Test
    void streamsNeedAGpu() throws IOException {
        Files.write(file, new byte[SIZE]);

        GdsRun run = onFile("-x 5");

        assertThat(run.status()).isEqualTo(4);
        assertThat(run.errorLine()).contains("needs a GPU");
    }

    @Test
    void batchesVerifyOrAreNotImplemented() {
        writePattern();

        GdsRun run = onFile("-x 6 -B 8 -i 16K -V --json");

        if (run.status() == 0) {
            assertThat(run.json().get("bytes").asLong()).isEqualTo(SIZE);
        } else {
            assertThat(run.status()).isEqualTo(4);
            assertThat(run.json().get("error").get("code").asInt()).isEqualTo(5008);
        }
    }

    @Test
    void everyCacheAndMemoryStateVerifies() {
        writePattern();

        assertThat(onFile("-i 64K --cold -V").status()).isZero();
        assertThat(onFile("-i 64K --hot -O 1 -V").status()).isZero();
        assertThat(onFile("-i 64K --hot -O 1 -V --fresh").status()).isZero();
    }
}
