package io.gds4j.loader;

import com.sun.management.ThreadMXBean;
import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.save.SavePlan;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.Stream;

/** Opens, lists, loads, slices and converts hostile folders in a small heap; ends with status 1 at the first broken promise. */
final class HostileFilesChild {
    private static final long MAX_NANOS = 10_000_000_000L;
    private static final long FIXED_ALLOCATION = 32L << 20;
    private static final long ALLOCATION_PER_BYTE = 500;
    /** Larger tensors of a hostile file are announced and not moved here. */
    private static final long MAX_BYTES = 1 << 20;

    /** A part of the work on a folder. */
    private interface Step {
        void run() throws IOException;
    }

    private final Path root;
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private int refused;
    private int opened;
    private int saved;

    private HostileFilesChild(Path root) {
        this.root = root;
    }

    /** @param arguments work folder, canary folder, pipe, number of folders, seed */
    public static void main(String[] arguments) throws IOException {
        long seed = Long.parseLong(arguments[4]);
        HostileFilesChild child = new HostileFilesChild(Path.of(arguments[0]));
        HostileFolders folders = new HostileFolders(Path.of(arguments[1]), Path.of(arguments[2]),
                RandomGeneratorFactory.of("Xoshiro256PlusPlus").create(seed));
        int count = Integer.parseInt(arguments[3]);
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            long descriptors = -1;
            for (int i = 0; i < count; i++) {
                child.folder(folders, driver, i);
                if (i == count / 10) {
                    descriptors = descriptors(); // pools and logs have opened theirs
                }
            }
            long now = descriptors();
            if (now > descriptors + 2) {
                throw new AssertionError("%d descriptors became %d".formatted(descriptors, now));
            }
        }
        System.out.printf("%d folders, %d refusals, %d opened, %d saved%n", count, child.refused, child.opened,
                child.saved);
    }

    private static long descriptors() throws IOException {
        try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
            return open.count();
        }
    }

    private void folder(HostileFolders folders, CuFileDriver driver, int number) throws IOException {
        Path folder = Files.createDirectory(root.resolve("case" + number));
        Path out = root.resolve("out" + number);
        Path path = folders.make(folder);
        long bytes = bytes(folder);
        try {
            bounded(number, path, bytes, () -> checkpoint(path, folder, out, driver));
            bounded(number, path, bytes, () -> ParallelPlan.read(folder.resolve("plan.json")));
            bounded(number, path, bytes, () -> AttentionHeads.of(folder, Metadata.of(Map.of())));
        } finally {
            delete(folder);
            delete(out);
        }
    }

    private void checkpoint(Path path, Path folder, Path out, CuFileDriver driver) throws IOException {
        Checkpoint checkpoint = Checkpoint.open(path);
        opened++;
        for (CheckpointFile file : checkpoint.files()) {
            if (!file.path().equals(path) && !file.path().toRealPath().startsWith(folder.toRealPath())) {
                throw new AssertionError(file.path() + " is outside");
            }
        }
        inert(checkpoint.warnings());
        checkpoint.typedMetadata().keys().forEach(key -> checkpoint.typedMetadata().get(key));
        LoadPlan plan = checkpoint.plan();
        plan.include(".*q_proj.*");
        if (plan.destinationBytes() > MAX_BYTES || checkpoint.tensors().isEmpty()) {
            return;
        }
        plan.load(driver).close();
        SavePlan.builder().checkpoint(checkpoint).toFolder(out).save(driver);
        saved++;
        if (Checkpoint.open(out).tensors().size() != checkpoint.tensors().size()) {
            throw new AssertionError("a tensor of %s is missing in the copy".formatted(folder));
        }
        AttentionHeads.of(out, checkpoint.typedMetadata());
        plan.rank(0, 2, ParallelPlan.read(folder.resolve("plan.json")));
    }

    private void bounded(int number, Path path, long bytes, Step step) throws IOException {
        long allocated = threads.getCurrentThreadAllocatedBytes();
        long start = System.nanoTime();
        try {
            step.run();
        } catch (CuFileException e) {
            refused++;
            inert(List.of(String.valueOf(e.getMessage())));
        } catch (Throwable e) {
            throw new AssertionError("folder %d, %s".formatted(number, path), e);
        }
        long nanos = System.nanoTime() - start;
        allocated = threads.getCurrentThreadAllocatedBytes() - allocated;
        if (nanos > MAX_NANOS || allocated > FIXED_ALLOCATION + ALLOCATION_PER_BYTE * bytes) {
            throw new AssertionError("folder %d, %s of %d bytes: %d ns, %d bytes allocated".formatted(
                    number, path, bytes, nanos, allocated));
        }
    }

    private static void inert(List<String> texts) {
        for (String text : texts) {
            boolean hidden = text.codePoints().anyMatch(
                    c -> Character.isISOControl(c) || Character.getType(c) == Character.FORMAT || c == 0xfffe);
            if (hidden || text.length() > 2000 || text.contains("PRECIOUS")) {
                throw new AssertionError("a message is not inert: " + text);
            }
        }
    }

    private static long bytes(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> Files.isRegularFile(file)).mapToLong(file -> file.toFile().length()).sum();
        }
    }

    static void delete(Path folder) throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
