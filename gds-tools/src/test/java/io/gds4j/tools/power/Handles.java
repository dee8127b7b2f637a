package io.gds4j.tools.power;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.loader.TensorPattern;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Writes at the end of a file, each of which is durable before the next begins: by {@code force}, or because the file is open with
 * DSYNC or SYNC.
 */
final class Handles implements Operation {
    private static final int WHOLE_BLOCKS = 8192;
    private static final int PARTS = 5000;

    private final CuFileDriver driver;
    private final String name;
    private final List<OpenOption> options;
    private final boolean forces;

    private Handles(CuFileDriver driver, String name, boolean forces, OpenOption... options) {
        this.driver = driver;
        this.name = name;
        this.forces = forces;
        this.options = List.of(options);
    }

    static List<Operation> all(CuFileDriver driver) {
        return List.of(
                new Handles(driver, "force", true),
                new Handles(driver, "DSYNC", false, StandardOpenOption.DSYNC),
                new Handles(driver, "SYNC", false, StandardOpenOption.SYNC));
    }

    @Override
    public String name() {
        return name;
    }

    private Path file(Path root) {
        return root.resolve(name + ".bin");
    }

    private static int length(int round) {
        return round % 3 == 0 ? PARTS : WHOLE_BLOCKS;
    }

    private static long end(int round) {
        long end = 0;
        for (int i = 1; i <= round; i++) {
            end += length(i);
        }
        return end;
    }

    @Override
    public void run(Path root, int round, Phases phases) throws Exception {
        List<OpenOption> all = new ArrayList<>(options);
        all.addAll(List.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE));
        if (round % 2 == 0) {
            all.add(CuFileOpenOption.DIRECT);
        }
        try (CuFileHandle file = driver.openFile(file(root), all.toArray(OpenOption[]::new));
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, length(round))) {
            new TensorPattern(round).fill(name, 0, memory.segment());
            file.write(memory, length(round), end(round - 1), 0);
            if (forces) {
                file.force(round % 4 < 2);
            }
        }
        if (round == 1) {
            // the name of a new file is the program's affair
            try (FileChannel folder = FileChannel.open(root, StandardOpenOption.READ)) {
                folder.force(true);
            }
        }
    }

    @Override
    public void check(Path root, int round, String phase) throws Exception {
        int done = phase.equals(DONE) ? round : round - 1;
        if (done == 0) {
            return;
        }
        long size = Files.size(file(root));
        assertThat(size).as("size of %s after %s rounds", file(root), done).isGreaterThanOrEqualTo(end(done));
        try (CuFileHandle file = driver.openFile(file(root));
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, WHOLE_BLOCKS)) {
            for (int i = Math.max(1, done - 2); i <= done; i++) {
                file.readFully(memory.range().slice(0, length(i)), end(i - 1));
                assertThat(new TensorPattern(i).mismatch(name, 0, memory.segment().asSlice(0, length(i))))
                        .as("first wrong byte of round %s of %s", i, name).isEqualTo(-1);
            }
        }
    }
}
