package io.gds4j.benchmarks;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.CheckpointVerifier;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;

/**
 * Loads, verifies and converts a checkpoint into host memory, each in turn with one thread of {@link FileChannel} that reads the same bytes into
 * memory of the same kind, compares them, or copies the file. For {@code benchmarks/scripts/busy.sh}. Arguments: folder, bytes, turns.
 * Each line is {@code NAME seconds secondsOfFileChannel}.
 */
final class BusyFigures {
    private static final int PIECE = 4 << 20;

    /** Work whose time is taken. */
    @FunctionalInterface
    private interface Work {
        void run() throws IOException;
    }

    private final CuFileDriver driver;
    private final Path folder;
    private final Path file;
    private final ByteBuffer piece = ByteBuffer.allocateDirect(PIECE);

    private BusyFigures(CuFileDriver driver, Path folder) {
        this.driver = driver;
        this.folder = folder;
        this.file = folder.resolve("model.safetensors");
    }

    public static void main(String[] args) throws IOException {
        try (CuFileDriver driver = CuFileDriver.open()) {
            BusyFigures figures = new BusyFigures(driver, Path.of(args[0]));
            figures.make(Long.parseLong(args[1]));
            for (int turn = 0; turn < Integer.parseInt(args[2]); turn++) {
                figures.load();
                figures.verify();
                figures.convert();
            }
        }
    }

    private void make(long bytes) {
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, bytes)) {
            driver.allocator().fill(memory.range(), (byte) 7);
            SavePlan.Builder builder = SavePlan.builder();
            for (long at = 0; at < bytes; at += PIECE) {
                builder.tensor("t" + at, DType.U8, memory.range().slice(at, PIECE), PIECE);
            }
            builder.toFile(file).save(driver);
        }
    }

    private void load() throws IOException {
        turn("load", () -> Checkpoint.open(file).plan().to(MemoryKind.HOST).load(driver).close(), () -> {
            try (FileChannel channel = FileChannel.open(file);
                    MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, channel.size())) {
                readAll(channel, memory.range().segment().orElseThrow());
            }
        });
    }

    private void verify() throws IOException {
        try (LoadedTensors tensors = Checkpoint.open(file).plan().to(MemoryKind.HOST).load(driver);
                FileChannel channel = FileChannel.open(file);
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, channel.size())) {
            MemorySegment all = memory.range().segment().orElseThrow();
            readAll(channel, all);
            turn("verify", () -> check(CheckpointVerifier.verify(tensors).verified()), () -> {
                for (long at = 0; at < channel.size(); at += PIECE) {
                    MemorySegment part = slice(all, at);
                    read(channel, at, piece.clear().limit((int) part.byteSize()));
                    check(MemorySegment.ofBuffer(piece.flip()).mismatch(part) < 0);
                }
            });
        }
    }

    private void convert() throws IOException {
        Path ours = folder.resolve("ours");
        Path theirs = folder.resolve("theirs");
        turn("convert", () -> SavePlan.builder()
                .options(SaveOptions.DEFAULTS)
                .checkpoint(Checkpoint.open(file))
                .toFolder(ours)
                .save(driver), () -> {
                    try (FileChannel from = FileChannel.open(file);
                            FileChannel to =
                                    FileChannel.open(theirs, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
                        for (long at = 0; at < from.size(); at += PIECE) {
                            read(from, at, piece.clear().limit((int) Math.min(PIECE, from.size() - at)));
                            to.write(piece.flip(), at);
                        }
                        to.force(true);
                    }
                });
        Files.delete(ours.resolve("model.safetensors"));
        Files.delete(theirs);
    }

    private static void readAll(FileChannel channel, MemorySegment memory) throws IOException {
        for (long at = 0; at < memory.byteSize(); at += PIECE) {
            read(channel, at, slice(memory, at).asByteBuffer());
        }
    }

    private static MemorySegment slice(MemorySegment memory, long at) {
        return memory.asSlice(at, Math.min(PIECE, memory.byteSize() - at));
    }

    private static void read(FileChannel channel, long at, ByteBuffer into) throws IOException {
        while (into.hasRemaining()) {
            check(channel.read(into, at + into.position()) >= 0);
        }
    }

    private static void check(boolean right) throws IOException {
        if (!right) {
            throw new IOException("the file has other bytes");
        }
    }

    private static void turn(String name, Work ours, Work theirs) throws IOException {
        double seconds = seconds(ours);
        System.out.printf(Locale.ROOT, "%s %.6f %.6f%n", name, seconds, seconds(theirs));
    }

    private static double seconds(Work work) throws IOException {
        long start = System.nanoTime();
        work.run();
        return (System.nanoTime() - start) / 1e9;
    }
}
