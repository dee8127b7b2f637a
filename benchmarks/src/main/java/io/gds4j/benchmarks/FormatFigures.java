package io.gds4j.benchmarks;

import io.gds4j.CuFileDriver;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.loader.Budget;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadReport;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorInTurn;
import io.gds4j.loader.TensorsInTurn;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * Loads the same tensors from several files in turns, and prints each one's speed beside the first one's. The goal is a ratio of
 * 0.97 or more. Arguments: {@code compare}, {@code host} or the number of a GPU, turns, and checkpoints. With {@code write}, a
 * folder and gigabytes it writes {@code same.safetensors} and {@code same.gguf} there; dev/formats_gpu.py writes the other
 * formats.
 *
 * <p>
 * A checkpoint may have options: {@code PATH,inflight=12,request=33554432}; {@code cold=1} drops the file from the page
 * cache before each load, {@code into=1} loads into memory that is allocated once, and {@code budget=BYTES} loads in turn. Each turn begins with another file, so that
 * no file always follows the same one. Two turns before the first count nothing, and each file is opened often enough that the JVM
 * has compiled its parser. The ratio is the median of the turns' ratios.
 */
final class FormatFigures {
    private static final int F16 = 1;
    private static final long ROW = 4096;
    /** 32 MiB, as an F16 matrix of 4096 rows. */
    private static final long TENSOR_BYTES = ROW * ROW * 2;
    private static final int CHUNK = 1 << 24;
    private static final int WARM_UP_TURNS = 2;
    private static final int WARM_UP_OPENINGS = 300;

    private FormatFigures() {
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments[0].equals("write")) {
            int tensors = Math.toIntExact((long) (Double.parseDouble(arguments[2]) * 1e9) / TENSOR_BYTES);
            Path folder = Path.of(arguments[1]);
            write(folder.resolve("same.safetensors"), safetensors(tensors), tensors);
            write(folder.resolve("same.gguf"), gguf(tensors), tensors);
        } else {
            int gpu = arguments[1].equals("host") ? -1 : Integer.parseInt(arguments[1]);
            compare(gpu, Integer.parseInt(arguments[2]), Arrays.stream(arguments).skip(3).map(Case::of).toList());
        }
    }

    /** A checkpoint and the options of its plan; 0 for the default. */
    private record Case(Path path, int inFlight, long request, boolean cold, boolean into, long budget) {
        static Case of(String argument) {
            String[] words = argument.split(",");
            int inFlight = 0;
            long request = 0;
            boolean cold = false;
            boolean into = false;
            long budget = 0;
            for (int i = 1; i < words.length; i++) {
                long value = Long.parseLong(words[i].substring(words[i].indexOf('=') + 1));
                inFlight = words[i].startsWith("inflight=") ? (int) value : inFlight;
                request = words[i].startsWith("request=") ? value : request;
                cold |= words[i].startsWith("cold=");
                into |= words[i].startsWith("into=");
                budget = words[i].startsWith("budget=") ? value : budget;
            }
            return new Case(Path.of(words[0]), inFlight, request, cold, into, budget);
        }

        Checkpoint open() {
            Checkpoint checkpoint = Checkpoint.open(path);
            Posix posix = FfmPosix.instance();
            for (CheckpointFile file : cold ? checkpoint.files() : List.<CheckpointFile>of()) {
                int fd = posix.open(file.path().toString(), PosixConstants.O_RDONLY, 0);
                posix.fadvise(fd, 0, 0, PosixConstants.POSIX_FADV_DONTNEED);
                posix.close(fd);
            }
            return checkpoint;
        }

        /** Returns memory for all loads; empty if each load allocates its own. */
        Optional<MemoryAllocation> allocate(CuFileDriver driver, int gpu) {
            MemoryKind kind = gpu < 0 ? MemoryKind.HOST : MemoryKind.CUDA_DEVICE;
            return into ? Optional.of(driver.allocator().allocate(kind, plan(gpu).destinationBytes(), gpu))
                    : Optional.empty();
        }

        private LoadPlan plan(int gpu) {
            LoadPlan plan = open().plan();
            return gpu < 0 ? plan : plan.to(MemoryKind.CUDA_DEVICE, gpu);
        }

        LoadReport load(CuFileDriver driver, int gpu, Optional<MemoryAllocation> memory) {
            LoadPlan plan = memory.map(kept -> open().plan().into(kept.range())).orElseGet(() -> plan(gpu));
            plan = inFlight == 0 ? plan : plan.requestsInFlight(inFlight);
            plan = request == 0 ? plan : plan.requestSize(request);
            if (budget > 0) {
                try (TensorsInTurn tensors = plan.inTurn(driver, Budget.bytes(budget))) {
                    tensors.forEach(TensorInTurn::close);
                    return tensors.report().orElseThrow();
                }
            }
            try (LoadedTensors tensors = plan.load(driver)) {
                return tensors.report();
            }
        }

        @Override
        public String toString() {
            return path.getFileName() + (inFlight == 0 ? "" : ",inflight=" + inFlight)
                    + (request == 0 ? "" : ",request=" + request) + (cold ? ",cold" : "") + (into ? ",into" : "")
                    + (budget == 0 ? "" : ",budget=" + budget);
        }
    }

    private static void compare(int gpu, int turns, List<Case> cases) {
        List<List<LoadReport>> reports = cases.stream().<List<LoadReport>>map(known -> new ArrayList<>()).toList();
        for (Case known : cases) {
            for (int i = 0; i < WARM_UP_OPENINGS; i++) {
                Checkpoint.open(known.path());
            }
        }
        List<Optional<MemoryAllocation>> memory = new ArrayList<>();
        try (CuFileDriver driver = CuFileDriver.open()) {
            cases.forEach(known -> memory.add(known.allocate(driver, gpu)));
            for (int turn = -WARM_UP_TURNS; turn < turns; turn++) {
                for (int i = 0; i < cases.size(); i++) {
                    int number = Math.floorMod(i + turn, cases.size());
                    LoadReport report = cases.get(number).load(driver, gpu, memory.get(number));
                    if (turn >= 0) {
                        reports.get(number).add(report);
                    }
                }
            }
            memory.forEach(kept -> kept.ifPresent(MemoryAllocation::close));
        }
        System.out.printf(Locale.ROOT, "target %s, %d turns%n%n", gpu < 0 ? "host" : "gpu:" + gpu, turns);
        System.out.println(
                "| file | bytes | tensors | requests | GB/s | ratio | best ratio | ms | of it headers | memory |");
        System.out.println("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        for (int i = 0; i < cases.size(); i++) {
            List<LoadReport> ours = reports.get(i);
            List<LoadReport> first = reports.getFirst();
            double ratio = median(IntStream.range(0, turns)
                    .mapToDouble(turn -> ours.get(turn).bytesPerSecond() / first.get(turn).bytesPerSecond()));
            System.out.printf(Locale.ROOT, "| %s | %d | %d | %d | %.2f | %.3f | %.3f | %.1f | %.1f | %.1f |%n",
                    cases.get(i), ours.getFirst().bytes(), ours.getFirst().tensors(), ours.getFirst().requests(),
                    median(ours, LoadReport::bytesPerSecond) / 1e9, ratio,
                    best(ours) / best(first), 1e3 * median(ours, LoadReport::seconds),
                    1e3 * median(ours, LoadReport::headerSeconds), 1e3 * median(ours, LoadReport::memorySeconds));
        }
        System.out.println();
    }

    private static double best(List<LoadReport> reports) {
        return reports.stream().mapToDouble(LoadReport::bytesPerSecond).max().orElse(0);
    }

    private static double median(List<LoadReport> reports, ToDoubleFunction<LoadReport> field) {
        return median(reports.stream().mapToDouble(field));
    }

    private static double median(DoubleStream values) {
        double[] sorted = values.sorted().toArray();
        return sorted[sorted.length / 2];
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
