package io.gds4j.tools.guest;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatchException;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.ChecksumVerifier;
import io.gds4j.loader.save.SaveListener;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.loader.save.ShardedSave;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/**
 * The calls of gds4j that use a disk, each on files of its own below one folder. {@link #run} returns normally only for a success;
 * {@link #check} then looks at what the disk holds, after the file system was mounted anew.
 */
enum DiskWork {
    READ {
        @Override
        void prepare(CuFileDriver driver, Path folder) throws IOException {
            Files.write(folder.resolve("read"), OLD);
        }

        @Override
        void run(CuFileDriver driver, Path folder) {
            for (OpenOption[] options : new OpenOption[][]{{}, {CuFileOpenOption.DIRECT}}) {
                try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE);
                        CuFileHandle handle = driver.openFile(folder.resolve("read"), options)) {
                    long count;
                    try {
                        count = handle.read(memory.range(), SIZE - 777, 777, 0);
                        assertThat(count).isEqualTo(SIZE - 777);
                    } catch (CuFileException e) {
                        expect(memory, (int) e.bytesTransferred(), 777, OLD);
                        throw e;
                    }
                    expect(memory, (int) count, 777, OLD);
                }
            }
        }
    },

    WRITE {
        @Override
        void prepare(CuFileDriver driver, Path folder) throws IOException {
            Files.write(folder.resolve("write"), OLD);
        }

        @Override
        void run(CuFileDriver driver, Path folder) {
            try (MemoryAllocation memory = filled(driver, NEW);
                    CuFileHandle direct =
                            driver.openFile(folder.resolve("write"), StandardOpenOption.WRITE, CuFileOpenOption.DIRECT);
                    CuFileHandle buffered = driver.openFile(folder.resolve("write"), StandardOpenOption.WRITE)) {
                direct.write(memory.range(), SIZE / 2, 0, 0);
                direct.force(false);
                buffered.write(memory.range(), SIZE / 4, SIZE / 2, SIZE / 2);
                buffered.force(true);
            }
        }

        @Override
        void check(CuFileDriver driver, Path folder, boolean succeeded) throws IOException {
            assertWritten(folder.resolve("write"), succeeded);
        }
    },

    SYNCHRONOUS_WRITE {
        @Override
        void prepare(CuFileDriver driver, Path folder) throws IOException {
            Files.write(folder.resolve("dsync"), OLD);
        }

        @Override
        void run(CuFileDriver driver, Path folder) {
            try (MemoryAllocation memory = filled(driver, NEW);
                    CuFileHandle handle = driver.openFile(
                            folder.resolve("dsync"), StandardOpenOption.WRITE, StandardOpenOption.DSYNC);
                    CuFileHandle direct = driver.openFile(
                            folder.resolve("dsync"), StandardOpenOption.WRITE, StandardOpenOption.SYNC,
                            CuFileOpenOption.DIRECT)) {
                handle.write(memory.range(), SIZE / 2 - 100, 0, 0);
                direct.write(memory.range(), SIZE / 4, SIZE / 2, SIZE / 2);
                handle.write(memory.range(), 100, SIZE / 2 - 100, SIZE / 2 - 100);
            }
        }

        @Override
        void check(CuFileDriver driver, Path folder, boolean succeeded) throws IOException {
            assertWritten(folder.resolve("dsync"), succeeded);
        }
    },

    APPEND {
        private volatile long forced;

        @Override
        void run(CuFileDriver driver, Path folder) {
            forced = 0;
            try (MemoryAllocation memory = filled(driver, NEW);
                    CuFileHandle handle = driver.openFile(
                            folder.resolve("append"), StandardOpenOption.WRITE, StandardOpenOption.CREATE)) {
                for (int at = 0; at < SIZE; at += APPENDED) {
                    handle.write(memory.range(), APPENDED, at, at);
                    handle.force(false);
                    forced = at + APPENDED;
                }
            }
        }

        @Override
        void check(CuFileDriver driver, Path folder, boolean succeeded) throws IOException {
            // the name is durable only with the folder, which the program forces: here the file system keeps order
            byte[] found = Files.exists(folder.resolve("append"))
                    ? Files.readAllBytes(folder.resolve("append"))
                    : new byte[0];
            assertThat((long) found.length).isGreaterThanOrEqualTo(forced);
            assertThat(Arrays.equals(found, 0, (int) forced, NEW, 0, (int) forced)).as("forced bytes").isTrue();
        }
    },

    BATCH {
        @Override
        void prepare(CuFileDriver driver, Path folder) throws IOException {
            Files.write(folder.resolve("batch"), OLD);
        }

        @Override
        void run(CuFileDriver driver, Path folder) throws IOException {
            Path file = folder.resolve("batch");
            try (MemoryAllocation in = driver.allocator().allocate(MemoryKind.HOST, SIZE);
                    MemoryAllocation out = filled(driver, NEW);
                    CuFileHandle handle = driver.openFile(
                            file, StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT);
                    CuFileBatch batch = driver.batch(8)) {
                List<CuFileBatch.Request> requests = new ArrayList<>();
                int half = SIZE / 2;
                for (int at = 0; at < half; at += half / 8) {
                    requests.add(CuFileBatch.Request.read(handle, in.range(), half / 8, at, at));
                    requests.add(CuFileBatch.Request.write(handle, out.range(), half / 8, half + at, half + at));
                }
                List<CuFileBatch.Completion> failed = new ArrayList<>();
                try {
                    batch.transferAll(requests);
                } catch (CuFileBatchException e) {
                    failed.addAll(e.failures());
                }
                List<CuFileBatch.Request> without = failed.stream().map(CuFileBatch.Completion::request).toList();
                byte[] found = in.segment().toArray(ValueLayout.JAVA_BYTE);
                for (CuFileBatch.Request request : requests) {
                    int at = (int) request.bufferOffset();
                    if (!request.write() && !without.contains(request)) {
                        assertThat(Arrays.equals(found, at, at + half / 8, OLD, at, at + half / 8))
                                .as("bytes of a completed read at %s", at).isTrue();
                    }
                }
                for (CuFileBatch.Completion completion : failed) {
                    throw completion.failure().orElseThrow();
                }
                handle.force(false);
            }
        }

        @Override
        void check(CuFileDriver driver, Path folder, boolean succeeded) throws IOException {
            byte[] found = Files.readAllBytes(folder.resolve("batch"));
            assertThat(Arrays.equals(found, 0, SIZE / 2, OLD, 0, SIZE / 2)).as("bytes beside the writes").isTrue();
            if (succeeded) {
                assertThat(Arrays.equals(found, SIZE / 2, SIZE, NEW, SIZE / 2, SIZE)).as("written bytes").isTrue();
            }
        }
    },

    SAVE {
        @Override
        void prepare(CuFileDriver driver, Path folder) {
            save(driver, folder.resolve("saved"), OLD_SEED);
        }

        @Override
        void run(CuFileDriver driver, Path folder) {
            save(driver, folder.resolve("saved"), NEW_SEED);
        }

        @Override
        void check(CuFileDriver driver, Path folder, boolean succeeded) throws IOException {
            assertOldOrNew(driver, folder.resolve("saved"), succeeded);
            save(driver, folder.resolve("saved"), LATER_SEED);
            assertThat(seedOf(driver, folder.resolve("saved"))).isEqualTo(LATER_SEED);
            assertNothingHidden(folder.resolve("saved"));
        }
    },

    SAVE_FILE {
        @Override
        void prepare(CuFileDriver driver, Path folder) throws IOException {
            save(driver, Files.createDirectory(folder.resolve("file")).resolve("x.safetensors"), OLD_SEED);
        }

        @Override
        void run(CuFileDriver driver, Path folder) {
            save(driver, folder.resolve("file/x.safetensors"), NEW_SEED);
        }

        @Override
        void check(CuFileDriver driver, Path folder, boolean succeeded) throws IOException {
            assertOldOrNew(driver, folder.resolve("file/x.safetensors"), succeeded);
            save(driver, folder.resolve("file/x.safetensors"), LATER_SEED);
            assertNothingHidden(folder.resolve("file"));
        }
    },

    SHARDED_SAVE {
        @Override
        void prepare(CuFileDriver driver, Path folder) throws IOException {
            Files.createDirectory(folder.resolve("sharded"));
        }

        @Override
        void run(CuFileDriver driver, Path folder) {
            saveShards(driver, folder.resolve("sharded/step"), NEW_SEED);
        }

        @Override
        void check(CuFileDriver driver, Path folder, boolean succeeded) throws IOException {
            Path step = folder.resolve("sharded/step");
            if (succeeded || Files.exists(step)) {
                assertThat(seedOf(driver, step)).isEqualTo(NEW_SEED);
            } else {
                saveShards(driver, step, LATER_SEED);
                assertThat(seedOf(driver, step)).isEqualTo(LATER_SEED);
                assertNothingHidden(step);
                try (Stream<Path> left = Files.list(folder.resolve("sharded"))) {
                    assertThat(left).containsExactly(step);
                }
            }
        }
    },

    CONVERT {
        @Override
        void prepare(CuFileDriver driver, Path folder) {
            save(driver, folder.resolve("source"), NEW_SEED);
            save(driver, folder.resolve("converted"), OLD_SEED);
        }

        @Override
        void run(CuFileDriver driver, Path folder) {
            SavePlan.builder()
                    .checkpoint(Checkpoint.open(folder.resolve("source")))
                    .options(OPTIONS.withMaxShardBytes(Long.MAX_VALUE))
                    .toFolder(folder.resolve("converted"))
                    .save(driver);
        }

        @Override
        void check(CuFileDriver driver, Path folder, boolean succeeded) throws IOException {
            assertOldOrNew(driver, folder.resolve("converted"), succeeded);
            assertThat(seedOf(driver, folder.resolve("source"))).isEqualTo(NEW_SEED);
            run(driver, folder);
            assertThat(seedOf(driver, folder.resolve("converted"))).isEqualTo(NEW_SEED);
            assertNothingHidden(folder.resolve("converted"));
        }
    },

    LOAD_AND_VERIFY {
        @Override
        void prepare(CuFileDriver driver, Path folder) {
            save(driver, folder.resolve("loaded"), OLD_SEED);
        }

        @Override
        void run(CuFileDriver driver, Path folder) {
            assertThat(seedOf(driver, folder.resolve("loaded"))).isEqualTo(OLD_SEED);
            assertThat(ChecksumVerifier.verify(driver, folder.resolve("loaded")).verified()).isTrue();
        }
    },

    CACHE {
        @Override
        void prepare(CuFileDriver driver, Path folder) throws IOException {
            Files.createDirectory(folder.resolve("cache"));
            RemoteObject.read("/kept", folder.resolve("cache"));
        }

        @Override
        void run(CuFileDriver driver, Path folder) throws IOException {
            RemoteObject.read("/kept", folder.resolve("cache"));
            RemoteObject.read("/new", folder.resolve("cache"));
            // the cache promises nothing about the disk: what it wrote is written here
            Guest.tries("sync", "-f", folder.toString());
        }

        @Override
        void check(CuFileDriver driver, Path folder, boolean succeeded) throws IOException {
            assertThat(succeeded).as("a read whose cache fails").isTrue();
            RemoteObject.read("/kept", folder.resolve("cache"));
            RemoteObject.read("/new", folder.resolve("cache"));
        }
    };

    static final int SIZE = 512 << 10;
    private static final int APPENDED = 64 << 10;
    static final byte[] OLD = bytes(1);
    static final byte[] NEW = bytes(2);
    private static final long OLD_SEED = 11;
    private static final long NEW_SEED = 12;
    private static final long LATER_SEED = 13;
    private static final long SHARD = 100_000;
    private static final SaveOptions OPTIONS = SaveOptions.DEFAULTS.withMaxShardBytes(SHARD).withChecksums(true);
    private static final List<String> NAMES = List.of("embed", "norm", "head");
    private static final long[][] SHAPES = {{64, 512}, {100}, {16, 1024}};

    /** Lays out the files that are old. */
    void prepare(CuFileDriver driver, Path folder) throws IOException {
    }

    /** Does the work; what it reads is compared. */
    abstract void run(CuFileDriver driver, Path folder) throws IOException;

    /** Compares what the disk holds, and does the work again without faults. */
    void check(CuFileDriver driver, Path folder, boolean succeeded) throws IOException {
        run(driver, folder);
    }

    private static byte[] bytes(long seed) {
        byte[] bytes = new byte[SIZE];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private static MemoryAllocation filled(CuFileDriver driver, byte[] content) {
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, content.length);
        memory.segment().copyFrom(MemorySegment.ofArray(content));
        return memory;
    }

    private static void expect(MemoryAllocation memory, int count, int from, byte[] content) {
        byte[] found = memory.segment().asSlice(0, count).toArray(ValueLayout.JAVA_BYTE);
        assertThat(Arrays.equals(found, 0, count, content, from, from + count)).as("%s bytes reported", count).isTrue();
    }

    /** Adds the tensors of a checkpoint. */
    private static SavePlan.Builder plan(CuFileDriver driver, List<MemoryAllocation> memories, long seed) {
        SavePlan.Builder plan = SavePlan.builder().options(OPTIONS);
        for (int i = 0; i < NAMES.size(); i++) {
            long size = Float.BYTES * Arrays.stream(SHAPES[i]).reduce(1, (a, b) -> a * b);
            MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, size);
            memories.add(memory);
            new TensorPattern(seed).fill(NAMES.get(i), 0, memory.segment());
            plan.tensor(NAMES.get(i), DType.F32, memory.range(), SHAPES[i]);
        }
        return plan;
    }

    static void save(CuFileDriver driver, Path target, long seed) {
        saveWhile(driver, target, seed, () -> {
        });
    }

    /** Saves, and does something once all bytes are written and before they replace the old ones. */
    static void saveWhile(CuFileDriver driver, Path target, long seed, Runnable meanwhile) {
        List<MemoryAllocation> memories = new ArrayList<>();
        try {
            SavePlan.Builder plan = plan(driver, memories, seed);
            boolean file = target.toString().endsWith(".safetensors");
            (file ? plan.options(OPTIONS.withMaxShardBytes(Long.MAX_VALUE)).toFile(target) : plan.toFolder(target))
                    .save(driver, new SaveListener() {
                        @Override
                        public void released() {
                            meanwhile.run();
                        }
                    });
        } finally {
            memories.forEach(MemoryAllocation::close);
        }
    }

    private static void saveShards(CuFileDriver driver, Path target, long seed) {
        List<MemoryAllocation> memories = new ArrayList<>();
        try (ShardedSave save = ShardedSave.begin(target, seed)) {
            for (int rank = 0; rank < NAMES.size(); rank++) {
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
                memories.add(memory);
                new TensorPattern(seed).fill(NAMES.get(rank), 0, memory.segment());
                SavePlan.builder()
                        .options(SaveOptions.DEFAULTS)
                        .tensor(NAMES.get(rank), DType.F32, memory.range(), 1024)
                        .toFile(save.part(rank))
                        .save(driver);
            }
            save.commit(NAMES.size(), Duration.ZERO);
        } finally {
            memories.forEach(MemoryAllocation::close);
        }
    }

    /** Returns the seed of all bytes of a checkpoint, or -1. */
    static long seedOf(CuFileDriver driver, Path path) {
        try (LoadedTensors loaded = Checkpoint.open(path).plan().load(driver)) {
            assertThat(loaded.tensors()).hasSize(NAMES.size());
            for (long seed : List.of(OLD_SEED, NEW_SEED, LATER_SEED)) {
                if (loaded.tensors().stream().allMatch(tensor -> new TensorPattern(seed)
                        .mismatch(tensor.info().name(), 0, tensor.segment()) < 0)) {
                    return seed;
                }
            }
        }
        return -1;
    }

    /** The first three quarters of a file were written durably; the rest was not touched. */
    private static void assertWritten(Path file, boolean succeeded) throws IOException {
        byte[] found = Files.readAllBytes(file);
        int end = SIZE / 4 * 3;
        assertThat(found).hasSize(SIZE);
        assertThat(Arrays.equals(found, end, SIZE, OLD, end, SIZE)).as("bytes beside the write").isTrue();
        if (succeeded) {
            assertThat(Arrays.equals(found, 0, end, NEW, 0, end)).as("durable bytes").isTrue();
        }
    }

    private static void assertOldOrNew(CuFileDriver driver, Path path, boolean succeeded) {
        long seed = seedOf(driver, path);
        assertThat(seed).as("checkpoint after a %s", succeeded ? "success" : "failure")
                .isIn(succeeded ? List.of(NEW_SEED) : List.of(OLD_SEED, NEW_SEED));
        assertThat(ChecksumVerifier.verify(driver, path).different()).isEmpty();
    }

    private static void assertNothingHidden(Path folder) throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            assertThat(entries.map(entry -> entry.getFileName().toString())).noneMatch(name -> name.startsWith("."));
        }
    }
}
