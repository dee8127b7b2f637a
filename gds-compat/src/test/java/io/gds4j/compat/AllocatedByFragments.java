package io.gds4j.compat;

import com.sun.management.ThreadMXBean;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Prints the bytes that each fragment of a request allocates: what requests of many fragments allocate more than requests of few, the least
 * of several rounds. Argument: a file of {@value #BYTES} bytes. What the fake GPU allocates in calls of its driver does not count.
 */
final class AllocatedByFragments {
    static final int BYTES = 256 << 10;
    private static final int FEW = 8;
    private static final int MANY = 256;
    private static final int REQUESTS = 200;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Bytes that this thread has allocated in calls of the fake driver. */
    private static final ThreadLocal<long[]> IN_FAKE = ThreadLocal.withInitial(() -> new long[1]);

    private AllocatedByFragments() {
    }

    private static CudaAvailability watched(FakeCuda cuda) {
        Cuda watched = (Cuda) Proxy.newProxyInstance(
                Cuda.class.getClassLoader(), new Class<?>[]{Cuda.class}, (proxy, method, arguments) -> {
                    long before = THREADS.getCurrentThreadAllocatedBytes();
                    try {
                        return method.invoke(cuda, arguments);
                    } finally {
                        IN_FAKE.get()[0] += THREADS.getCurrentThreadAllocatedBytes() - before;
                    }
                });
        return new CudaAvailability.Available(watched, 13000, 1);
    }

    /** Runs in a JVM of its own. */
    public static void main(String[] arguments) {
        FakeCuda cuda = new FakeCuda(1, 64 << 20);
        try (CuFileDriver driver = CuFileDriver.open(new CompatBackend(
                CuFileConfig.builder().withoutEnvironment().build(), FfmPosix.instance(), watched(cuda)));
                CuFileHandle handle = driver.openFile(
                        Path.of(arguments[0]), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            for (MemoryKind kind : List.of(MemoryKind.HOST, MemoryKind.CUDA_DEVICE)) {
                try (MemoryAllocation memory = driver.allocator().allocate(kind, BYTES, kind.isCuda() ? 0 : -1)) {
                    for (boolean write : List.of(false, true)) {
                        System.out.println(kind + (write ? " write " : " read ") + bytes(handle, memory, write));
                    }
                }
            }
        }
    }

    private static double bytes(CuFileHandle handle, MemoryAllocation memory, boolean write) {
        List<ScatterCopy> few = fragments(memory, FEW);
        List<ScatterCopy> many = fragments(memory, MANY);
        double best = Double.MAX_VALUE;
        for (int round = 0; round < SteadyStateTest.ROUNDS && best >= 1; round++) {
            long more = allocated(handle, many, write) - allocated(handle, few, write);
            best = Math.min(best, more / (double) REQUESTS / (MANY - FEW));
        }
        return best;
    }

    /** Fragments in random order, of the allocation itself, as most programs name it. */
    private static List<ScatterCopy> fragments(MemoryAllocation memory, int count) {
        int bytes = BYTES / count;
        List<Integer> places = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            places.add(i);
        }
        Collections.shuffle(places, new Random(count));
        List<ScatterCopy> fragments = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            fragments.add(new ScatterCopy((long) i * bytes, bytes, memory, (long) places.get(i) * bytes));
        }
        return fragments;
    }

    private static long allocated(CuFileHandle handle, List<ScatterCopy> fragments, boolean write) {
        long before = THREADS.getCurrentThreadAllocatedBytes() - IN_FAKE.get()[0];
        for (int i = 0; i < REQUESTS; i++) {
            if (write) {
                handle.writeScattered(0, BYTES, fragments);
            } else {
                handle.readScattered(0, BYTES, fragments);
            }
        }
        return THREADS.getCurrentThreadAllocatedBytes() - IN_FAKE.get()[0] - before;
    }
}
