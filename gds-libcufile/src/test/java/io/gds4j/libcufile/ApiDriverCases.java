package io.gds4j.libcufile;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStatistics;
import io.gds4j.config.BoolParameter;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.StringParameter;
import io.gds4j.ffi.cufile.RawLibrary;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.StatisticsLevel3;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Collectors;

/** Cases of the driver, parameters and statistics, by the public API. */
final class ApiDriverCases {
    private final ApiAnswers answers;

    ApiDriverCases(ApiAnswers answers) {
        this.answers = answers;
    }

    /** Asks a closed driver in place of one that was never opened, which Java programs cannot have. */
    void openAndClosed() {
        CuFileDriver closed = answers.open();
        MemoryAllocation memory = closed.allocator().allocate(MemoryKind.CUDA_DEVICE, RawLibrary.BYTES);
        MemoryRange range = memory.range();
        answers.asks("version", closed::version);
        CuFileHandle handle = closed.openFile(answers.file());
        CuFileBuffer buffer = closed.registerBuffer(range);
        closed.close();
        answers.does("getVersion before open", closed::version);
        answers.asks("read before open", () -> handle.read(range, 4096, 0, 0));
        answers.does("close before open", closed::close);
        answers.does("bufDeregister before open", buffer::close);
        answers.asks("getParameterSizeT(io_batchsize) before open",
                () -> closed.parameter(SizeParameter.PROPERTIES_IO_BATCHSIZE));
        answers.asks("batchSetUp before open", () -> closed.batch(8));
        answers.does("setParameterSizeT(max_io_threads=2)",
                () -> CuFileConfig.builder().set(CuFileKeys.MAX_IO_THREADS, 2L).build());
        answers.does("setParameterSizeT(per_buffer_cache=7)",
                () -> CuFileConfig.builder().set(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB, 7L).build());
        answers.does("setPollMode before open", () -> closed.setPollMode(true, 4));
        openDriver();
        memory.close();
    }

    private void openDriver() {
        CuFileDriver driver = answers.open();
        answers.row("open", "ok");
        answers.asks("handleRegister(null,null)", () -> driver.openFile((Path) null));
        CuFileDriver again = driver.share();
        answers.row("open again", "ok");
        answers.does("setParameter while open",
                () -> CuFileDriver.open(answers.backend(
                        CuFileConfig.builder().set(CuFileKeys.MAX_IO_THREADS, 2L).build())).close());
        answers.does("getProperties", driver::properties);
        // This comes before limits are set, because the library shows some of them in its parameters.
        parameters(driver);
        answers.does("setMaxDirectIOSize(1024)", () -> driver.setMaxDirectIoSize(1024));
        answers.does("setMaxDirectIOSize(7)", () -> driver.setMaxDirectIoSize(7));
        answers.does("setMaxDirectIOSize(0)", () -> driver.setMaxDirectIoSize(0));
        answers.does("setMaxCacheSize(1<<20)", () -> driver.setMaxCacheSize(1 << 20));
        answers.does("setMaxPinned(7)", () -> driver.setMaxPinnedMemSize(7));
        answers.does("setPollMode(true,3)", () -> driver.setPollMode(true, 3));
        answers.does("close", again::close);
        answers.does("close 2", driver::close);
        answers.does("close 3", driver::close);
    }

    private void parameters(CuFileDriver driver) {
        for (SizeParameter parameter : SizeParameter.values()) {
            answers.asks("sizeT param " + parameter.index(), () -> {
                ParameterRange range = driver.parameterRange(parameter);
                return "minmax 0 current %d min %d max %d".formatted(driver.parameter(parameter), range.min(),
                        range.max());
            });
        }
        for (BoolParameter parameter : BoolParameter.values()) {
            answers.asks("bool param " + parameter.index(),
                    () -> "err 0 value " + (driver.parameter(parameter) ? 1 : 0));
        }
        for (StringParameter parameter : StringParameter.values()) {
            answers.asks("string param " + parameter.index(), () -> "err 0 '" + driver.parameter(parameter) + "'");
        }
        answers.asks("BAR(0)", () -> "err 0 size " + driver.barSizeInKb(0));
        answers.asks("BAR(9)", () -> driver.barSizeInKb(9));
    }

    void statistics() {
        CuFileDriver driver = answers.open();
        answers.row("open", "ok");
        CuFileStatistics statistics = driver.statistics();
        answers.does("setStatsLevel 3", () -> statistics.setLevel(3));
        answers.does("setStatsLevel 9", () -> statistics.setLevel(9));
        answers.does("statsStart", statistics::start);
        try (CuFileHandle handle =
                driver.openFile(answers.file(), StandardOpenOption.READ, StandardOpenOption.WRITE);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, RawLibrary.BYTES)) {
            for (int i = 0; i < 10; i++) {
                handle.read(memory.range(), 65536, 0, 0);
            }
            handle.read(memory.range(), 1000, 3, 0);
            handle.write(memory.range(), 4096, 0, 0);
            answers.does("getL3", statistics::level3);
            StatisticsLevel3 all = statistics.level3();
            GpuStatistics gpu = all.gpus().getFirst();
            answers.row("counts",
                    "reads ok %d err %d bytes %d writes ok %d hdl %d gpus %d posix_reads %d unaligned %d total %d"
                            .formatted(
                                    all.detailed().basic().readOps().ok(),
                                    all.detailed().basic().readOps().err(),
                                    all.detailed().basic().readBytes(),
                                    all.detailed().basic().writeOps().ok(),
                                    all.detailed().basic().handleRegisterOps().ok(),
                                    all.gpus().size(),
                                    gpu.posixReads(),
                                    gpu.unalignedReads(),
                                    gpu.totalReads()));
            answers.row("read histogram", all.detailed()
                    .readSizeKbHistogram()
                    .stream()
                    .map(String::valueOf)
                    .collect(Collectors.joining(" ")));
        }
        answers.does("getL1", statistics::level1);
        answers.does("reset", statistics::reset);
        answers.does("stop", statistics::stop);
        answers.does("close", driver::close);
    }
}
