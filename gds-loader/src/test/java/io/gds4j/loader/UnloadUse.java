package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.RangeRead;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;

/** What an application does with gds4j. Public, as {@link UnloadChild} calls it in other class loaders. */
public enum UnloadUse {
    OPEN {
        @Override
        void use(CuFileDriver driver, Path folder, MemoryRange memory) {
            driver.bytesByPath();
        }
    },
    READ {
        @Override
        void use(CuFileDriver driver, Path folder, MemoryRange memory) throws Exception {
            try (CuFileHandle handle = open(driver, folder)) {
                handle.read(memory, 0);
                handle.readScattered(0, 10, List.of(new ScatterCopy(0, 10, memory, 0)));
                driver.readRanges(List.of(RangeRead.of(handle, memory.slice(0, 10), 0),
                        RangeRead.of(handle, memory.slice(10, 10), 5000)));
                handle.readAsync(memory, SIZE, 0, 0).get();
                handle.write(memory, 0);
                driver.registerBuffer(memory).close();
            }
        }
    },
    BATCH {
        @Override
        void use(CuFileDriver driver, Path folder, MemoryRange memory) throws Exception {
            try (CuFileHandle handle = open(driver, folder); CuFileBatch batch = driver.batch(4)) {
                batch.transferAll(List.of(
                        Request.read(handle, memory, 4096, 0, 0), Request.read(handle, memory, 4096, 8192, 4096)));
            }
        }
    },
    STREAM {
        @Override
        void use(CuFileDriver driver, Path folder, MemoryRange memory) throws Exception {
            try (HostStream host = HostStream.create();
                    CuFileHandle handle = open(driver, folder);
                    CuFileStream stream = driver.stream(host.address(), Set.of())) {
                stream.read(handle, memory, CuFileStream.Cells.of(SIZE, 0, 0));
                host.synchronize();
            }
        }
    },
    LOAD {
        @Override
        void use(CuFileDriver driver, Path folder, MemoryRange memory) throws Exception {
            Path file = folder.resolve("model.safetensors");
            new SafetensorsWriter(file).tensor("a", DType.U8, 5000).tensor("b", DType.F32, 300)
                    .write(new TensorPattern(1));
            Checkpoint.open(file).plan().load(driver).close();
            Checkpoint.open(file).plan().loadAsync(driver).get().close();
        }
    },
    SAVE {
        @Override
        void use(CuFileDriver driver, Path folder, MemoryRange memory) throws Exception {
            SavePlan.builder().tensor("a", DType.U8, memory, SIZE).toFolder(folder.resolve("saved")).save(driver);
        }
    },
    GPU_STREAM {
        @Override
        void use(CuFileDriver driver, Path folder, MemoryRange memory) throws Exception {
            READ.use(driver, folder, memory);
            long[] context = new long[1];
            long[] raw = new long[1];
            GPU.devicePrimaryCtxRetain(context, 0);
            GPU.ctxPushCurrent(context[0]);
            GPU.asProgram(() -> assertThat(GPU.streamCreate(raw, Cuda.STREAM_NON_BLOCKING)).isZero());
            try (CuFileHandle handle = open(driver, folder); CuFileStream stream = driver.stream(raw[0], Set.of())) {
                stream.read(handle, memory, CuFileStream.Cells.of(SIZE, 0, 0));
                GPU.streamSynchronize(raw[0]);
            }
            GPU.streamDestroy(raw[0]);
            GPU.ctxPopCurrent(context);
            GPU.devicePrimaryCtxRelease(0);
            try (Arena arena = Arena.ofConfined()) {
                driver.allocator().copyToHost(memory, arena.allocate(SIZE));
                driver.allocator().copyFromHost(arena.allocate(SIZE), memory);
            }
        }
    };

    private static final int SIZE = 64 << 10;
    private static final FakeCuda GPU = new FakeCuda();

    abstract void use(CuFileDriver driver, Path folder, MemoryRange memory) throws Exception;

    private static CuFileHandle open(CuFileDriver driver, Path folder) throws Exception {
        Path file = Files.write(folder.resolve("file"), new byte[SIZE]);
        return driver.openFile(file, StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT);
    }

    /** Opens a driver, uses it and closes it. */
    public static void run(String folder, String name) throws Exception {
        UnloadUse use = valueOf(name);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().build();
        boolean gpu = use == GPU_STREAM;
        try (CuFileDriver driver = gpu
                ? CuFileDriver.open(new CompatBackend(config, FfmPosix.instance(), GPU.available()))
                : CuFileDriver.open(config, "compat");
                MemoryAllocation memory =
                        driver.allocator().allocate(gpu ? MemoryKind.CUDA_DEVICE : MemoryKind.HOST, SIZE)) {
            use.use(driver, Path.of(folder), memory.range());
        }
    }
}
