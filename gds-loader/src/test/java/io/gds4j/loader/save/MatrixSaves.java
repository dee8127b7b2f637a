package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.faults.Stage;
import io.gds4j.loader.format.DType;
import io.gds4j.memory.MemoryKind;
import java.nio.file.Path;
import java.util.Optional;

/** The operation "save" of the fault matrix, which makes a save's own system calls fail, too. */
public final class MatrixSaves {
    private static final int OLD = 1;
    private static final int NEW = 2;

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

    private static Tensors tensors(Stage stage, long seed, MemoryKind kind) {
        return new Tensors(stage.driver(), seed, kind)
                .add("embed", DType.BF16, 64, 1024)
                .add("norm", DType.F32, 100)
                .add("bias", DType.U8, 5);
    }
}
