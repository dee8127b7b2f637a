package io.gds4j.tools.load;

import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Destination of tensors.
 *
 * @param device ordinal of a GPU, or {@link MemoryRange#NO_DEVICE} for host memory
 */
public record Target(int device) {
    /** Page-aligned host memory. */
    public static final Target HOST = new Target(MemoryRange.NO_DEVICE);

    private static final Pattern GPU = Pattern.compile("gpu:(\\d{1,4})");

    /**
     * Parses {@code gpu:N} or {@code host}.
     *
     * @throws IllegalArgumentException with a message for the user
     */
    public static Target parse(String text) {
        if (text.equals("host")) {
            return HOST;
        }
        Matcher gpu = GPU.matcher(text);
        if (!gpu.matches()) {
            throw new IllegalArgumentException(
                    "'" + text + "' is not a target: allowed are host and gpu:N, such as gpu:0");
        }
        return new Target(Integer.parseInt(gpu.group(1)));
    }

    /** Returns the memory of a GPU. */
    public static Target gpu(int device) {
        return new Target(device);
    }

    /** True for GPU memory. */
    public boolean isGpu() {
        return device != MemoryRange.NO_DEVICE;
    }

    /** Kind of memory to allocate. */
    public MemoryKind kind() {
        return isGpu() ? MemoryKind.CUDA_DEVICE : MemoryKind.HOST;
    }

    /** {@code gpu:N} or {@code host}. */
    @Override
    public String toString() {
        return isGpu() ? "gpu:" + device : "host";
    }
}
