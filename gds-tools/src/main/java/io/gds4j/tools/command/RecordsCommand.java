package io.gds4j.tools.command;

import io.gds4j.dataset.ErrorPolicy;
import io.gds4j.dataset.RecordOrder;
import io.gds4j.dataset.Remainder;
import io.gds4j.dataset.Share;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.records.RecordsList;
import io.gds4j.tools.records.RecordsRun;
import io.gds4j.tools.report.Report;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.file.FileVisitOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Options and help of {@code gds records}. */
@Command(
        name = "records",
        description = "Read the records of a data set in batches, sequentially or shuffled, and report the speed.",
        sortOptions = false,
        footer = {
                "  gds records train.bin --record 150528 --batch 256 --shuffle --seed 42",
                "  gds records a.npy b.npy --batch 1024          rows of arrays, one data set",
                "  gds records data.bin --batch 64               Megatron, with data.idx",
                "  gds records train.bin --record 4K --batch 1024 --rank 1 --world 8",
                "",
                "Several files are one data set. Each record comes once in an epoch; the last",
                "batch may be short. The record sum adds the first 8 bytes of each record as",
                "little-endian numbers, modulo 2^64. The order is the SHA-256 of the record",
                "numbers as they came, 8 bytes little-endian each. 1 GB is 10^9 bytes."})
final class RecordsCommand implements Callable<Integer> {
    private static final int MAX_RECORDS = 1 << 24;
    private static final int MAX_READERS = 256;

    private final Terminal terminal;

    @Parameters(arity = "1..*", paramLabel = "PATH",
            description = "Files of records, or their https, http, s3 or hf URLs. Without --record, the names tell the format: .npy, .tar of WebDataset, .tfrecord, index.json of MDS, .arrow, .feather, .bin with a Megatron .idx,"
                    + " .fvecs, .ivecs, .bvecs, .fbin, .ibin, .u8bin or .i8bin.")
    private List<String> paths = new ArrayList<>();

    @Option(names = "--record", paramLabel = "BYTES", converter = Converters.Size.class,
            description = "Bytes of a record; all records have this size.")
    private @Nullable Long record;

    @Option(names = "--header", paramLabel = "BYTES", converter = Converters.Size.class, defaultValue = "0",
            description = "Bytes in front of the first record of each file. Default: 0.")
    private long header;

    @Option(names = "--column", paramLabel = "NAME",
            description = "Column of .arrow and .feather files whose rows are the records; needed if there are several.")
    private @Nullable String column;

    @Option(names = "--unpack", paramLabel = "DIR",
            description = "Folder where shards of MDS that are compressed by zstd are unpacked; they stay there for later runs.")
    private @Nullable Path unpack;

    @Option(names = "--list",
            description = "Tell what the records are and where the first --batch of them lie, and read none.")
    private boolean list;

    @Option(names = "--digest",
            description = "Also report the SHA-256 of the bytes of all records, in the order in which they came.")
    private boolean digest;

    @Mixin
    private final LinksOption links = new LinksOption();

    @Option(names = "--batch", paramLabel = "N", defaultValue = "256",
            description = "Records of a batch. Default: 256.")
    private int batch = 1;

    @Option(names = "--shuffle",
            description = "Read in random order, another in each epoch.")
    private boolean shuffle;

    @Option(names = "--seed", paramLabel = "S",
            description = "With --shuffle: the same seed gives the same order. Default: 0.")
    private @Nullable Long seed;

    @Option(names = "--block", paramLabel = "N",
            description = "With --shuffle: keep N consecutive records together, which disks like.")
    private @Nullable Long block;

    @Option(names = "--window", paramLabel = "N",
            description = "With --block: mix the records of N neighbouring blocks. Default: 1.")
    private @Nullable Long window;

    @Option(names = "--epochs", paramLabel = "N", defaultValue = "1",
            description = "How often all records are read. Default: 1.")
    private long epochs = 1;

    @Option(names = "--rank", paramLabel = "R", defaultValue = "0",
            description = "Read part R of the --world parts of each epoch, from 0. Default: 0.")
    private int rank;

    @Option(names = "--world", paramLabel = "W", defaultValue = "1",
            description = "Number of parts, which differ by one record at most. Default: 1.")
    private int world = 1;

    @Option(names = "--remainder", paramLabel = "keep|drop|pad",
            completionCandidates = Candidates.Remainders.class,
            defaultValue = "keep",
            description = "Records that do not fill whole batches on all ranks: keep, drop, or pad with others. Default: keep.")
    private Remainder remainder = Remainder.KEEP;

    @Option(names = "--skip-bad",
            description = "Leave out records that cannot be read, and count them; otherwise the first ends the run.")
    private boolean skip;

    @Option(names = "--verify",
            description = "Also compare records with the checksums that TFRecord and MDS files have, before the first batch those of whole shards.")
    private boolean verify;

    @Option(names = "--resume", paramLabel = "FILE", split = ",",
            description = "Continue behind a run, also with another --world: the result of any of its ranks by --json,"
                    + " or of each of them if they read different numbers of batches.")
    private List<Path> resumed = new ArrayList<>();

    @Option(names = "-T", paramLabel = "SECONDS",
            description = "Stop after this time and the warm-up. Default: no limit.")
    private @Nullable Double seconds;

    @Option(names = "--warm-up", paramLabel = "SECONDS", defaultValue = "0",
            description = "Leave the first seconds out of the rates. Default: 0.")
    private double warmUp;

    @Option(names = "--memory", paramLabel = "BYTES", converter = Converters.Size.class,
            description = "Most memory of all batches, delivered and read ahead. Default: 256M, or two batches.")
    private @Nullable Long memory;

    @Option(names = "--readers", paramLabel = "N",
            description = "Threads that read. Default: one for each processor, 2 to 16.")
    private @Nullable Integer readers;

    @Option(
            names = {"-t", "--target"},
            paramLabel = "gpu:N|host",

            completionCandidates = Candidates.Targets.class,
            description = "Destination of the records. Default: gpu:0 if there is a GPU, else host.")
    private @Nullable Target target;

    @Mixin
    private final BackendOption backend = new BackendOption();

    @Mixin
    private final CountedOutputOptions output = new CountedOutputOptions();

    @Mixin
    private final ReportOption report = new ReportOption();

    RecordsCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws IOException {
        check("--record", record == null ? 1 : record, 1, Long.MAX_VALUE);
        check("--batch", batch, 1, MAX_RECORDS);
        check("--epochs", epochs, 1, Long.MAX_VALUE);
        check("--world", world, 1, Integer.MAX_VALUE);
        check("--rank", rank, 0, world - 1L);
        check("--memory", memory == null ? 1 : memory, 1, Long.MAX_VALUE);
        check("--readers", readers == null ? 1 : readers, 1, MAX_READERS);
        CommandFailure.usageIf(seed != null && !shuffle, "--seed is allowed with --shuffle only");
        CommandFailure.usageIf(column != null && record != null, "--column is not allowed with --record");
        CommandFailure.usageIf(unpack != null && (column != null || record != null),
                "--unpack is allowed for index.json of MDS only");
        CommandFailure.usageIf(header > 0 && record == null, "--header is allowed with --record only");
        CommandFailure.usageIf(block != null && !shuffle || window != null && block == null,
                "--block is allowed with --shuffle only, --window with --block only");
        check("--block", block == null ? 1 : block, 1, Long.MAX_VALUE);
        check("--window", window == null ? 1 : window, 1, Long.MAX_VALUE);
        CommandFailure.usageIf(!(warmUp >= 0) || seconds != null && !(seconds > 0),
                "-T %s, --warm-up %s: allowed are positive seconds", seconds, warmUp);
        List<Path> files = paths.stream().map(path -> CheckpointPath.of(path, terminal.environment())).toList();
        return Report.of(
                report.of("records", files), output.of(terminal, "records"),
                to -> run(files, to).code());
    }

    private ExitStatus run(List<Path> files, Output to) throws IOException {
        RecordSource source = source(files);
        return list
                ? new RecordsList(files.getFirst().toString(), source, batch, to).print()
                : run(files.getFirst().toString(), source, to).run();
    }

    private RecordSource source(List<Path> files) {
        if (column != null) {
            return RecordFiles.arrow(files, column);
        }
        FileVisitOption[] follow = links.value().toArray(FileVisitOption[]::new);
        Path folder = unpack;
        if (folder != null) {
            return RecordFiles.join(files.stream().map(index -> RecordFiles.mds(index, folder, follow)).toList());
        }
        return record == null ? RecordFiles.open(files, follow) : RecordFiles.afterHeader(files, header, record);
    }

    private RecordsRun run(String name, RecordSource source, Output to) {
        return new RecordsRun(
                name, source, batch, order(), epochs, new Share(rank, world), remainder,
                skip ? ErrorPolicy.SKIP : ErrorPolicy.STOP, verify, resumed, warmUp,
                seconds == null ? Double.POSITIVE_INFINITY : seconds, memory, readers, target, backend.value(),
                digest, to);
    }

    private RecordOrder order() {
        if (!shuffle) {
            return RecordOrder.sequential();
        }
        long key = seed == null ? 0 : seed;
        return block == null
                ? RecordOrder.shuffled(key)
                : RecordOrder.shuffledBlocks(key, block, window == null ? 1 : window);
    }

    private static void check(String option, long value, long least, long most) {
        CommandFailure.usageIf(value < least || value > most,
                "%s is %s, allowed: %s", option, value,
                most == Long.MAX_VALUE ? least + " or more" : least + " to " + most);
    }
}
