package io.gds4j.tools.load;

import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Destination of tensors.
 *
 * @param device ordinal of a GPU, {@link MemoryRange#NO_DEVICE} for host memory, or {@link #NAMED}
 * @param name PCI address or UUID of a GPU that {@link Targets#resolve} looks up; empty for host memory and ordinals
 */
public record Target(int device, String name) {
    /** Device of a target that is named by address or UUID. */
    public static final int NAMED = -2;
    /** Page-aligned host memory. */
    public static final Target HOST = new Target(MemoryRange.NO_DEVICE, "");

    private static final Pattern NAME = Pattern.compile(
            "gpu:((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]|GPU-[0-9a-f-]{2,36})", Pattern.CASE_INSENSITIVE);

    private static final Pattern GPU = Pattern.compile("gpu:(\\d{1,4})");

    /**
     * Parses {@code gpu:N}, {@code host}, {@code gpu:0000:3b:00.0} or {@code gpu:GPU-UUID}, where the beginning of a UUID is enough.
     *
     * @throws IllegalArgumentException with a message for the user
     */
    public static Target parse(String text) {
        if (text.equals("host")) {
            return HOST;
        }
        Matcher gpu = GPU.matcher(text);
        Matcher named = NAME.matcher(text);
        if (named.matches()) {
            return new Target(NAMED, named.group(1));
        }
        if (!gpu.matches()) {
            throw new IllegalArgumentException(
                    "'" + text
                            + "' is not a target: allowed are host and gpu:N, such as gpu:0, gpu:0000:3b:00.0 or gpu:GPU-5b1c");
        }
        return gpu(Integer.parseInt(gpu.group(1)));
    }

    /** Returns the memory of a GPU. */
    public static Target gpu(int device) {
        return new Target(device, "");
    }

    /** True for GPU memory. */
    public boolean isGpu() {
        return device != MemoryRange.NO_DEVICE;
    }

    /** Kind of memory to allocate. */
    public MemoryKind kind() {
        return isGpu() ? MemoryKind.CUDA_DEVICE : MemoryKind.HOST;
    }

    /** {@code gpu:N}, {@code gpu:NAME} or {@code host}. */
    @Override
    public String toString() {
        return isGpu() ? "gpu:" + (name.isEmpty() ? Integer.toString(device) : name) : "host";
    }
}
