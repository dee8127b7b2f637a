package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.faults.Stage;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryKind;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** The saves of the fault matrix, which makes their own system calls fail, too. */
public final class MatrixSaves {
    private static final int OLD = 1;
    private static final int NEW = 2;
    private static final int WRITERS = 2;

    private MatrixSaves() {
    }

    /** Saves a new checkpoint over an old one: whatever fails, the folder holds one of them whole. */
    public static void save(Stage stage, MemoryKind kind) throws Exception {
        FileCalls calls = new SystemFileCalls(stage::posix);
        Path folder = stage.folder().resolve("saved");
        try (Tensors before = tensors(stage, OLD, kind); Tensors after = tensors(stage, NEW, kind)) {
            before.plan().toFolder(folder).save(stage.driver());
            for (int round = 0; round < 2; round++) {
                Optional<SaveReport> saved = stage.attempt(
                        () -> after.plan().toFolder(folder).start(stage.driver(), SaveListener.NONE, calls).await());
                long seed = Tensors.seedOf(folder, OLD, NEW);
                assertThat(seed).as("whose tensors are there").isIn((long) OLD, (long) NEW);
                if (saved.isPresent()) {
                    after.check(folder);
                }
            }
            assertThat(folder.toFile().list()).as("files of the folder").hasSize(1);
        }
    }

    /** Two shards in a new folder, which appears whole or not at all. */
    public static void saveSharded(Stage stage, MemoryKind kind) throws Exception {
        FileCalls calls = new SystemFileCalls(stage::posix);
        Path parent = stage.folder().resolve("steps");
        try (Tensors tensors = tensors(stage, NEW, kind)) {
            for (int round = 0; round < 2; round++) {
                Path folder = parent.resolve("step-" + round);
                Optional<List<Path>> saved = stage.attempt(() -> {
                    try (ShardedSave save = ShardedSave.begin(folder, OptionalLong.of(1), calls)) {
                        for (int rank = 0; rank < WRITERS; rank++) {
                            int own = rank;
                            Path part = ShardedSave.join(folder, rank, 1, Duration.ZERO, calls);
                            tensors.plan(tensor -> tensor.length() % WRITERS == own).toFile(part)
                                    .start(stage.driver(), SaveListener.NONE, calls).await();
                        }
                        return save.commit(WRITERS, Duration.ZERO);
                    }
                });
                if (saved.isPresent() || Files.exists(folder)) {
                    tensors.check(folder);
                }
            }
            assertThat(parent.resolve("step-1")).exists();
        }
    }

    /** Checksums of all tensors: a failure is reported, and never a difference. */
    public static void verify(Stage stage, MemoryKind kind) throws Exception {
        FileCalls calls = new SystemFileCalls(stage::posix);
        Path folder = stage.folder().resolve("saved");
        try (Tensors tensors = tensors(stage, NEW, kind)) {
            tensors.plan().options(SaveOptions.DEFAULTS.withChecksums(true)).toFolder(folder).save(stage.driver());
            for (int round = 0; round < 2; round++) {
                Optional<ChecksumReport> report =
                        stage.attempt(() -> ChecksumVerifier.verify(stage.driver(), folder, calls));
                report.ifPresent(found -> {
                    assertThat(found.tensors()).isEqualTo(tensors.count());
                    assertThat(found.different()).isEmpty();
                });
            }
        }
    }

    private static Tensors tensors(Stage stage, long seed, MemoryKind kind) {
        return new Tensors(stage.driver(), seed, kind)
                .add("embed", DType.BF16, 64, 1024)
                .add("norm", DType.F32, 100)
                .add("bias", DType.U8, 5);
    }
}
