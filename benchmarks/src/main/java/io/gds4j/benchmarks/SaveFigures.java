package io.gds4j.benchmarks;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.Consistency;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.loader.save.SaveReport;
import io.gds4j.loader.save.SnapshotMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * Saves tensors of a Llama's sizes; for {@code benchmarks/scripts/save.sh}. Arguments: gpu or host, bytes. Each line on standard
 * input is {@code FILE DIRECT CONSISTENCY CHECKSUMS WRITES}, each answer {@code seconds blockedSeconds syncSeconds}.
 */
final class SaveFigures {
    private static final long ROWS = 14336;
    private static final long COLUMNS = 4096;
    private static final long MATRIX = ROWS * COLUMNS * 2;

    private SaveFigures() {
    }

    /** Saves until standard input ends. */
    public static void main(String[] args) throws IOException {
        MemoryKind kind = args[0].equals("gpu") ? MemoryKind.CUDA_DEVICE : MemoryKind.HOST;
        long bytes = Long.parseLong(args[1]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Map<SaveOptions, SnapshotMemory> memories = new HashMap<>();
        try (CuFileDriver driver = CuFileDriver.open();
                MemoryAllocation memory = driver.allocator().allocate(kind, bytes)) {
            driver.allocator().fill(memory.range(), (byte) 7);
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                SaveOptions options = SaveOptions.DEFAULTS
                        .withDirect(Boolean.parseBoolean(words[1]))
                        .withConsistency(Consistency.valueOf(words[2]))
                        .withChecksums(Boolean.parseBoolean(words[3]))
                        .withWritesInFlight(Integer.parseInt(words[4]));
                SavePlan plan = plan(memory, options, Path.of(words[0]));
                if (options.consistency() != Consistency.STOP) {
                    plan = plan.withSnapshotMemory(
                            memories.computeIfAbsent(options,
                                    key -> SnapshotMemory.allocate(driver, planOf(memory, key))));
                }
                Files.deleteIfExists(plan.target());
                SaveReport report = plan.saveAsync(driver).join();
                System.out.printf(
                        Locale.ROOT, "%.6f %.6f %.6f%n", report.seconds(), report.blockedSeconds(),
                        report.syncSeconds());
            }
            memories.values().forEach(SnapshotMemory::close);
        }
    }

    private static SavePlan planOf(MemoryAllocation memory, SaveOptions options) {
        return plan(memory, options, Path.of("any.safetensors"));
    }

    private static SavePlan plan(MemoryAllocation memory, SaveOptions options, Path file) {
        SavePlan.Builder builder = SavePlan.builder().options(options);
        long at = 0;
        for (int layer = 0; memory.length() - at >= MATRIX + COLUMNS * 2; layer++) {
            builder.tensor("layers.%d.weight".formatted(layer), DType.BF16, memory.range().slice(at, MATRIX), ROWS,
                    COLUMNS);
            at += MATRIX;
            builder.tensor("layers.%d.norm".formatted(layer), DType.BF16, memory.range().slice(at, COLUMNS * 2),
                    COLUMNS);
            at += COLUMNS * 2;
        }
        builder.tensor("rest", DType.U8, memory.range().slice(at, memory.length() - at), memory.length() - at);
        return builder.toFile(file);
    }
}
