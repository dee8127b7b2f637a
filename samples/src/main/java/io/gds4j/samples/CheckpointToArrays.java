package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.jcuda.JCudaInterop;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadReport;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.JCudaDriver;

/**
 * Loads a checkpoint into arrays of other libraries without a copy: into foreign memory with a header before the numbers, the
 * layout of TornadoVM, and on a GPU into arrays of {@code cuMemAlloc} for kernels of JCuda.
 */
final class CheckpointToArrays {
    private static final int LAYERS = 4;
    private static final int HEADER = 24;
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final String LESSON =
            "A plan accepts a destination for each tensor, so the loader fills arrays of other libraries in place.";

    private final SampleArguments arguments;
    private final CuFileDriver driver;
    private final Path path;
    private final int width;
    private long bytes;
    private double seconds;

    private CheckpointToArrays(SampleArguments arguments, CuFileDriver driver) {
        this.arguments = arguments;
        this.driver = driver;
        this.path = arguments.folder().resolve("model.safetensors");
        this.width = Math.max(1, arguments.size() / (LAYERS * 64 * Float.BYTES));
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(CheckpointToArrays::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        try (CuFileDriver driver = arguments.openDriver()) {
            CheckpointToArrays program = new CheckpointToArrays(arguments, driver);
            program.write();
            boolean verified = program.intoForeignMemory();
            if (arguments.kind(driver).isCuda()) {
                verified &= program.intoJCudaArrays();
            } else {
                arguments.say("arrays of JCuda need a GPU: left out");
            }
            return new SampleResult(program.bytes, program.seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    /** Every element of layer n is n + 1. */
    private void write() {
        Map<String, float[]> layers = new HashMap<>();
        for (int layer = 0; layer < LAYERS; layer++) {
            float[] numbers = new float[64 * width];
            Arrays.fill(numbers, layer + 1);
            layers.put("layers." + layer + ".weight", numbers);
        }
        Checkpoint.save(path, layers);
    }

    private static float valueOf(String name) {
        return Integer.parseInt(name.split("\\.")[1]) + 1;
    }

    private boolean intoForeignMemory() {
        Map<String, MemorySegment> arrays = new HashMap<>();
        try (Arena arena = Arena.ofShared()) {
            load("arrays in foreign memory", tensor -> {
                MemorySegment array = arena.allocate(HEADER + tensor.length(), Long.BYTES);
                arrays.put(tensor.name(), array);
                return MemoryRange.ofSegment(array.asSlice(HEADER));
            });
            return arrays.entrySet().stream().allMatch(array -> {
                float[] numbers = array.getValue().asSlice(HEADER).toArray(FLOAT);
                return isFilled(numbers, valueOf(array.getKey()));
            });
        }
    }

    private boolean intoJCudaArrays() {
        Map<TensorInfo, CUdeviceptr> arrays = new HashMap<>();
        try (GpuContext _ = GpuContext.enter(arguments.gpu())) {
            try {
                load("arrays of JCuda", tensor -> {
                    CUdeviceptr array = new CUdeviceptr();
                    GpuContext.check("cuMemAlloc", JCudaDriver.cuMemAlloc(array, tensor.length()));
                    arrays.put(tensor, array);
                    return JCudaInterop.memory(array, tensor.length());
                });
                return arrays.entrySet().stream().allMatch(array -> {
                    long length = array.getKey().length();
                    float[] numbers = new float[(int) (length / Float.BYTES)];
                    GpuContext.check(
                            "cuMemcpyDtoH", JCudaDriver.cuMemcpyDtoH(Pointer.to(numbers), array.getValue(), length));
                    return isFilled(numbers, valueOf(array.getKey().name()));
                });
            } finally {
                arrays.values().forEach(JCudaDriver::cuMemFree);
            }
        }
    }

    private void load(String what, Function<TensorInfo, MemoryRange> destinations) {
        LoadPlan plan = Checkpoint.open(path).plan().destinations(destinations);
        try (LoadedTensors tensors = plan.load(driver)) { // close frees nothing: the arrays belong to this program
            LoadReport report = tensors.report();
            bytes += report.bytes();
            seconds += report.seconds();
            arguments.say("%d %s, %.2f GB/s", report.tensors(), what, report.bytesPerSecond() / 1e9);
        }
    }

    private static boolean isFilled(float[] numbers, float value) {
        for (float number : numbers) {
            if (number != value) {
                return false;
            }
        }
        return numbers.length > 0;
    }
}
