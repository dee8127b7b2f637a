package io.gds4j.tools.command;

import io.gds4j.config.CuFileKeys;
import io.gds4j.tools.io.IoJob;
import io.gds4j.tools.io.IoJob.Operation;
import io.gds4j.tools.io.IoJob.Sizes;
import io.gds4j.tools.io.IoJob.TransferType;
import io.gds4j.tools.io.IoRun.Arguments;
import io.gds4j.tools.io.IoRun.CacheState;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.terminal.CommandFailure;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of {@code gds io}: gdsio's single-letter options, and options of gds4j with two dashes. */
final class IoOptions {
    private static final int MAX_THREADS = 1024;
    private static final int MAX_BATCH = 256;
    private static final int MAX_FRAGMENTS = 4096;
    private static final int MAX_REPETITIONS = 1000;

    @Option(names = "-f", paramLabel = "FILE",
            description = "The file; all threads share it.")
    private @Nullable Path file;

    @Option(names = "-D", paramLabel = "DIR",
            description = "A folder; each thread uses its own file in it: gdsio.0, gdsio.1, ...")
    private @Nullable Path directory;

    @Option(names = "-d", paramLabel = "GPU", converter = Converters.Device.class,
            description = "Number of the GPU, or host for host memory. Default: 0 if there is a GPU, else host.")
    private @Nullable Target device;

    @Option(names = "-n", paramLabel = "NODE", description = "NUMA node: accepted, but has no effect.")
    private @Nullable Integer numaNode;

    @Option(names = "-m", paramLabel = "KIND",
            description = "Memory: 0 cudaMalloc, 1 cuMem*, 2 cudaMallocHost, 3 malloc, 4 mmap. Default: 0; for host memory 4.")
    private @Nullable Integer memory;

    @Option(names = "-w", paramLabel = "N", description = "Number of threads. Default: 1.")
    private int threads = 1;

    @Option(names = "-s", paramLabel = "SIZE", converter = Converters.Size.class,
            description = "Bytes of each file to use, with K, M or G. Default: the whole file.")
    private @Nullable Long size;

    @Option(names = "-o", paramLabel = "OFFSET", converter = Converters.Size.class,
            description = "Offset of the first byte to use. Default: 0.")
    private long offset;

    @Option(names = "-i", paramLabel = "SIZE",
            description = "Size of a request: SIZE, or a series MIN:MAX:STEP or MIN:MAX:*FACTOR, measured in sequence."
                    + " Default: 1M.")
    private Sizes sizes = Sizes.parse("1M");

    @Option(names = "-p", paramLabel = "0|1", description = "NVLinks: accepted, but has no effect.")
    private @Nullable Integer nvlinks;

    @Option(names = "-b", description = "Do not register the memory.")
    private boolean skipRegistration;

    @Option(names = "-V", description = {
            "Verify: write a pattern that depends on seed and offset and read it back, or compare reads with it."})
    private boolean verify;

    @Option(names = "-x", paramLabel = "TYPE",
            description = "0 cuFile API, 1 storage to CPU (plain pread), 2 storage to CPU to GPU, 3 as 2 with"
                    + " asynchronous copies, 4 page cache to GPU, 5 CUDA stream, 6 batch, 7 batch of stream operations."
                    + " Default: 0.")
    private int transfer;

    @Option(names = "-B", paramLabel = "N", description = "Number of requests in a batch (-x 6, 7). Default: 32.")
    private int batch = 32;

    @Option(names = "-I", paramLabel = "TYPE",
            description = "0 read, 1 write (creates or overwrites the file!), 2 random read, 3 random write. Default: 0.")
    private int operation;

    @Option(names = "-T", paramLabel = "SECONDS", description = "Duration. Default: one pass over the file.")
    private @Nullable Double seconds;

    @Option(names = "-k", paramLabel = "SEED",
            description = "Seed of all random values and of the pattern of -V. Default: 1.")
    private long seed = 1;

    @Option(names = "-U", description = "Do not align random offsets.")
    private boolean unaligned;

    @Option(names = "-a", paramLabel = "SIZE", converter = Converters.Size.class,
            description = "Alignment of random offsets. Default: 4K.")
    private long alignment = 4096;

    @Option(names = "--each-once",
            description = "Random requests of a pass touch each block of the request size once. Default: they may touch a block"
                    + " twice, as those of gdsio.")
    private boolean eachOnce;

    @Option(names = "-R", description = "Write random bytes.")
    private boolean randomFill;

    @Option(names = "-F", description = "Generate new random bytes before each write (with -R).")
    private boolean refill;

    @Option(names = "-M", paramLabel = "PERCENT", description = "Mix reads and writes: the percentage of reads.")
    private @Nullable Integer readPercent;

    @Option(names = "-O", paramLabel = "0|1", description = "1 opens files without O_DIRECT. Default: 0.")
    private int withoutDirect;

    @Option(names = "-J", description = "Show each job of a job file separately.")
    private boolean perJob;

    @Mixin
    private final BackendOption backend = new BackendOption();

    @Mixin
    private final DirectStorageOption directStorage = new DirectStorageOption();

    @Option(names = "--cold", description = "Drop the file from the page cache before the measurement.")
    private boolean cold;

    @Option(names = "--hot", description = "Read the file into the page cache before the measurement.")
    private boolean hot;

    @Option(names = "--mixed",
            description = "Read the file into the page cache and drop its second half before the measurement.")
    private boolean mixed;

    @Option(names = "--fresh",
            description = "Release the pages of host memory before the measurement, so that it includes their first touch, as in"
                    + " a program that reads once. Default: reuse touched memory.")
    private boolean fresh;

    @Option(names = "--warm-up", paramLabel = "SECONDS",
            description = "Duration of the warm-up, which does not count. 0 also measures the first request. Default: 0.3.")
    private double warmUp = 0.3;

    @Option(names = "--repeat", paramLabel = "N",
            description = "Repeat each measurement N times, and show the mean and the spread. Default: 1.")
    private int repeat = 1;

    @Option(names = "--policy", paramLabel = "NAME",
            description = "How backend compat reads: auto (cached data from the page cache, the rest from disk), direct"
                    + " or buffered. Default: GDS4J_IO_POLICY, else auto.")
    private @Nullable String policy;

    @Option(names = "--drop", description = "Open files with the hint that reads do not change the page cache.")
    private boolean drop;

    @Option(names = "--fragments", paramLabel = "N",
            description = "Parts of memory for each request of -x 0, moved by one scattered call. Default: 1, a plain call.")
    private int fragments = 1;

    @Option(names = "--results",
            description = "Have each request of -x 0 and 6 report what it did, to measure what that costs.")
    private boolean report;

    @Option(names = "--io-uring", description = "Prefer io_uring for batches (-x 6) that bypass the page cache.")
    private boolean ioUring;

    @Option(names = "--gdsio-format", description = "Print results as gdsio does, one line each.")
    private boolean gdsioFormat;

    /** Notes about given options that have no effect. */
    List<String> notes() {
        List<String> notes = new ArrayList<>();
        if (numaNode != null) {
            notes.add("-n has no effect: numactl --cpunodebind=%s binds the whole process".formatted(numaNode));
        }
        if (nvlinks != null && nvlinks != 0) {
            notes.add("-p has no effect: the CUDA driver chooses the path of copies");
        }
        return notes;
    }

    /** Arguments of the whole run. Options that apply to a run come from the first section of a job file. */
    Arguments arguments(List<IoJob> jobs, boolean overwrite) {
        CommandFailure.usageIf(seconds != null && !(seconds > 0 && seconds <= 86_400),
                "-T %s: allowed is more than 0, up to 86400 seconds", seconds);
        CommandFailure.usageIf(!(warmUp >= 0 && warmUp <= 3600), "--warm-up %s: allowed is 0 to 3600 seconds", warmUp);
        within("--repeat", repeat, 1, MAX_REPETITIONS);
        CommandFailure.usageIf((cold ? 1 : 0) + (hot ? 1 : 0) + (mixed ? 1 : 0) > 1,
                "--cold, --hot and --mixed exclude each other");
        CommandFailure.usageIf(policy != null && !CuFileKeys.IO_POLICY.accepts(policy),
                "--policy %s: allowed is %s", policy, CuFileKeys.IO_POLICY.allowed());
        CacheState cache = cold
                ? CacheState.COLD
                : hot ? CacheState.HOT : mixed ? CacheState.MIXED : CacheState.AS_IS;
        return new Arguments(jobs, backend.value(), directStorage.value(), seconds, warmUp, cache, fresh, verify,
                seed,
                perJob, gdsioFormat,
                policy, ioUring, repeat, overwrite);
    }

    /** Arguments of one job; refuses values and combinations that are not allowed. */
    IoJob job(String name) {
        if (file == null == (directory == null)) {
            throw CommandFailure.usage(
                    file == null ? "no file given: use -f FILE, -D DIR or a job file"
                            : "-f and -D exclude each other");
        }
        within("-x", transfer, 0, TransferType.values().length - 1);
        within("-I", operation, 0, Operation.values().length - 1);
        within("-w", threads, 1, MAX_THREADS);
        within("-B", batch, 1, MAX_BATCH);
        within("-O", withoutDirect, 0, 1);
        if (memory != null) {
            within("-m", memory, 0, 4);
        }
        if (readPercent != null) {
            within("-M", readPercent, 0, 100);
        }
        CommandFailure.usageIf(alignment < 1, "-a 0: allowed is 1 or more");
        CommandFailure.usageIf(size != null && size < 1, "-s 0: allowed is 1 or more");
        TransferType type = TransferType.values()[transfer];
        CommandFailure.usageIf(memory != null && memory >= 2 && !type.usesApi(),
                "-m %s requires -x 0, 5, 6 or 7", memory);
        within("--fragments", fragments, 1, MAX_FRAGMENTS);
        CommandFailure.usageIf(fragments > 1 && type != TransferType.GPU_DIRECT, "--fragments requires -x 0");
        CommandFailure.usageIf(
                report && (fragments > 1 || type != TransferType.GPU_DIRECT && type != TransferType.GPU_BATCH),
                "--results requires -x 0 or 6, and excludes --fragments");
        Operation what = Operation.values()[operation];
        CommandFailure.usageIf(unaligned && !what.random(),
                "-U requires -I 2 or 3; use -o 3 for unaligned sequential requests");
        CommandFailure.usageIf(eachOnce && (unaligned || !what.random()),
                "--each-once requires -I 2 or 3, and excludes -U");
        CommandFailure.usageIf(refill && !randomFill, "-F requires -R");
        CommandFailure.usageIf(verify && (randomFill || readPercent != null),
                "-V writes its own pattern and excludes -R and -M");
        CommandFailure.usageIf(what.writes() && size == null && (readPercent == null || readPercent == 0),
                "no size to write given: use -s SIZE");
        boolean perThread = directory != null;
        Path path = directory != null ? directory : file;
        return new IoJob(
                name, path == null ? Path.of("") : path, perThread, device, memory, threads, size, offset, sizes, type,
                what, batch, !skipRegistration, unaligned, alignment, eachOnce, randomFill, refill, readPercent,
                withoutDirect == 0, drop, fragments, report);
    }

    private static void within(String option, int value, int least, int most) {
        CommandFailure.usageIf(value < least || value > most, "%s %s: allowed is %s to %s", option, value, least, most);
    }
}
