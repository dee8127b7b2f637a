package io.gds4j.tools.command;

import io.gds4j.tools.sample.SampleRun;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Options and help of {@code gds sample}. */
@Command(
        name = "sample",
        description = "Run small example programs, each about one topic: I/O patterns, parts of the cuFile API, a"
                + " data loader. Their sources are in samples/.",
        footer = {
                "  gds sample --list                   list the samples",
                "  gds sample pattern-1                run one",
                "  gds sample pattern-2 --memory host --size 256M --io 1M",
                "  gds sample --all --size 8M          run all, quickly",
                "",
                "Exit status 5 means that a sample read wrong bytes."})
final class SampleCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final CountedOutputOptions output = new CountedOutputOptions();

    @Parameters(arity = "0..*", paramLabel = "NAME", description = "Samples to run.")
    private List<String> names = new ArrayList<>();

    @Option(names = "--list", description = "List the samples.")
    private boolean list;

    @Option(names = "--all", description = "Run all samples.")
    private boolean all;

    @Option(names = "--size", paramLabel = "BYTES", description = "Bytes to move, with K, M or G. Default: 64M.")
    private @Nullable String size;

    @Option(names = "--io", paramLabel = "BYTES", description = "Request size in bytes. Default: 4M.")
    private @Nullable String io;

    @Option(names = "--threads", paramLabel = "N",
            description = "Number of threads, for samples that use several. Default: 4.")
    private @Nullable String threads;

    @Option(names = "--memory", paramLabel = "KIND",
            description = "host, host_hugepage, host_pinned, cuda_device, cuda_managed, cuda_pool or cuda_vmm."
                    + " Default: cuda_device if there is a GPU, else host.")
    private @Nullable String memory;

    @Option(names = "--gpu", paramLabel = "N", description = "Number of the GPU. Default: 0.")
    private @Nullable String gpu;

    @Mixin
    private final BackendOption backend = new BackendOption();

    @Option(names = "--dir", paramLabel = "DIR",
            description = "Folder for the samples' files. Default: target/, or the current folder without one.")
    private @Nullable Path dir;

    SampleCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        return new SampleRun(names, list, all, options(), dir, output.of(terminal, "sample"))
                .run().code();
    }

    private List<String> options() {
        List<String> options = new ArrayList<>();
        add(options, "--size", size);
        add(options, "--io", io);
        add(options, "--threads", threads);
        add(options, "--memory", memory);
        add(options, "--gpu", gpu);
        add(options, "--backend", backend.value());
        return options;
    }

    private static void add(List<String> options, String name, @Nullable String value) {
        if (value != null) {
            options.add(name);
            options.add(value);
        }
    }
}
