package io.gds4j.benchmarks;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Loads the same tensors from safetensors and from GGUF, in turns, and prints the speeds and their ratio. The goal is a ratio of
 * 0.97 or more. Arguments: a folder for the files, gigabytes of tensors, {@code host} or a number of a GPU, and the number of
 * turns. Every file is read once before the first turn.
 *
 * <p>
 * With {@code compare}, {@code host} or a number, turns, and paths of checkpoints it loads these instead, and prints each
 * one's ratio to the first.
 */
final class FormatFigures {
    private static final int F16 = 1;
    private static final long ROW = 4096;
    /** 32 MiB, as an F16 matrix of 4096 rows. */
    private static final long TENSOR_BYTES = ROW * ROW * 2;
    private static final int CHUNK = 1 << 24;

    private FormatFigures() {
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments[0].equals("compare")) {
            compare(arguments);
            return;
        }
        Path folder = Path.of(arguments[0]);
        int tensors = Math.toIntExact((long) (Double.parseDouble(arguments[1]) * 1e9) / TENSOR_BYTES);
        boolean host = arguments[2].equals("host");
        int turns = Integer.parseInt(arguments[3]);
        List<Path> files = List.of(folder.resolve("figures.safetensors"), folder.resolve("figures.gguf"));
        try {
            write(files.get(0), safetensors(tensors), tensors);
            write(files.get(1), gguf(tensors), tensors);
            List<List<Double>> speeds = List.of(new ArrayList<>(), new ArrayList<>());
            try (CuFileDriver driver = CuFileDriver.open()) {
                for (int turn = -1; turn < turns; turn++) {
                    for (int i = 0; i < files.size(); i++) {
                        double speed = load(driver, files.get(i), host ? -1 : Integer.parseInt(arguments[2]));
                        if (turn >= 0) {
                            speeds.get(i).add(speed);
                        }
                    }
                }
            }
            double safetensors = median(speeds.get(0));
            double gguf = median(speeds.get(1));
            System.out.printf(Locale.ROOT,
                    "target=%s bytes=%d turns=%d safetensors=%.2f gguf=%.2f GB/s ratio=%.3f best-ratio=%.3f%n",
                    arguments[2], tensors * TENSOR_BYTES, turns, safetensors, gguf, gguf / safetensors,
                    Collections.max(speeds.get(1)) / Collections.max(speeds.get(0)));
        } finally {
            for (Path file : files) {
                Files.deleteIfExists(file);
            }
        }
    }

    private static void compare(String... arguments) {
        int gpu = arguments[1].equals("host") ? -1 : Integer.parseInt(arguments[1]);
        int turns = Integer.parseInt(arguments[2]);
        List<Path> paths = Arrays.stream(arguments).skip(3).map(Path::of).toList();
        List<List<Double>> speeds = paths.stream().<List<Double>>map(path -> new ArrayList<>()).toList();
        try (CuFileDriver driver = CuFileDriver.open()) {
            for (int turn = -1; turn < turns; turn++) {
                for (int i = 0; i < paths.size(); i++) {
                    double speed = load(driver, paths.get(i), gpu);
                    if (turn >= 0) {
                        speeds.get(i).add(speed);
                    }
                }
            }
        }
        for (int i = 0; i < paths.size(); i++) {
            Checkpoint checkpoint = Checkpoint.open(paths.get(i));
            System.out.printf(Locale.ROOT,
                    "%s target=%s bytes=%d tensors=%d turns=%d %.2f GB/s ratio=%.3f best-ratio=%.3f%n",
                    checkpoint.format().id(), arguments[1], checkpoint.bytes(), checkpoint.tensors().size(), turns,
                    median(speeds.get(i)), median(speeds.get(i)) / median(speeds.getFirst()),
                    Collections.max(speeds.get(i)) / Collections.max(speeds.getFirst()));
        }
    }

    private static double load(CuFileDriver driver, Path file, int gpu) {
        LoadPlan plan = Checkpoint.open(file).plan();
        LoadPlan placed = gpu < 0 ? plan : plan.to(MemoryKind.CUDA_DEVICE, gpu);
        try (LoadedTensors tensors = placed.load(driver)) {
            return tensors.report().bytesPerSecond() / 1e9;
        }
    }

    private static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        return sorted.get(sorted.size() / 2);
    }

    private static String name(int tensor) {
        return "blk." + tensor + ".ffn_up.weight";
    }

    private static byte[] safetensors(int tensors) {
        StringBuilder json = new StringBuilder("{");
        for (int i = 0; i < tensors; i++) {
            json.append("%s\"%s\":{\"dtype\":\"F16\",\"shape\":[%d,%d],\"data_offsets\":[%d,%d]}".formatted(
                    i == 0 ? "" : ",", name(i), ROW, ROW, i * TENSOR_BYTES, (i + 1) * TENSOR_BYTES));
        }
        json.append('}');
        // as the reference writer does
        while (json.length() % 8 != 0) {
            json.append(' ');
        }
        return ByteBuffer.allocate(8 + json.length()).order(ByteOrder.LITTLE_ENDIAN).putLong(json.length())
                .put(json.toString().getBytes(StandardCharsets.US_ASCII)).array();
    }

    private static byte[] gguf(int tensors) {
        ByteBuffer out = ByteBuffer.allocate(1 << 20).order(ByteOrder.LITTLE_ENDIAN);
        out.put("GGUF".getBytes(StandardCharsets.US_ASCII)).putInt(3).putLong(tensors).putLong(0);
        for (int i = 0; i < tensors; i++) {
            byte[] name = name(i).getBytes(StandardCharsets.US_ASCII);
            out.putLong(name.length).put(name).putInt(2).putLong(ROW).putLong(ROW).putInt(F16)
                    .putLong(i * TENSOR_BYTES);
        }
        byte[] header = new byte[out.position() + 31 & -32];
        out.flip().get(header, 0, out.limit());
        return header;
    }

    private static void write(Path file, byte[] header, int tensors) throws IOException {
        byte[] chunk = new byte[CHUNK];
        new SplittableRandom(1).nextBytes(chunk);
        try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
            out.write(header);
            for (long left = tensors * TENSOR_BYTES; left > 0; left -= CHUNK) {
                out.write(chunk, 0, (int) Math.min(left, CHUNK));
            }
        }
    }
}
