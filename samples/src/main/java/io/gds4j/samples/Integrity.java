package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.jcuda.JCudaInterop;
import io.gds4j.jcuda.JCudaNatives;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.JCudaDriver;
import jcuda.runtime.JCuda;

/**
 * Copies a file through memory and compares the SHA-256 of both files. The memory comes from gds4j's allocator, from the CUDA
 * runtime API (topic 3), from the CUDA driver API (topic 4), and from an arena.
 */
final class Integrity {
    private static final String LESSON =
            "The origin of memory does not matter: gds4j's allocator, cudaMalloc, cuMemAlloc or an arena.";

    private final SampleArguments arguments;
    private final Path source;
    private long bytes;
    private double seconds;
    private boolean verified = true;

    private Integrity(SampleArguments arguments, Path source) {
        this.arguments = arguments;
        this.source = source;
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Integrity::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException {
        int size = Math.min(arguments.size(), 31 << 20);
        Path source = Files.write(arguments.folder().resolve("source"), SampleArguments.randomBytes(size));
        Integrity copies = new Integrity(arguments, source);
        try (CuFileDriver driver = arguments.openDriver()) {
            try (MemoryAllocation memory = arguments.allocate(driver, size)) {
                copies.copy(driver, "allocator of gds4j", memory.range());
            }
            try (Arena arena = Arena.ofShared()) {
                copies.copy(driver, "arena", MemoryRange.ofSegment(arena.allocate(size, 4096)));
            }
            if (arguments.kind(driver).isCuda()) {
                copies.throughJCuda(driver, size);
            } else {
                arguments.say("cudaMalloc and cuMemAlloc need a GPU: left out");
            }
            return new SampleResult(
                    copies.bytes, copies.seconds, copies.verified, driver.bytesByPath(), LESSON);
        }
    }

    private void throughJCuda(CuFileDriver driver, int size) throws IOException {
        try (GpuContext _ = GpuContext.enter(arguments.gpu())) {
            CUdeviceptr pointer = new CUdeviceptr();
            GpuContext.check("cuMemAlloc", JCudaDriver.cuMemAlloc(pointer, size));
            copy(driver, "cuMemAlloc", JCudaInterop.memory(pointer, size));
            GpuContext.check("cuMemFree", JCudaDriver.cuMemFree(pointer));

            JCudaNatives.loadRuntime();
            CUdeviceptr fromRuntime = new CUdeviceptr(); // pointers of the runtime are pointers of the driver
            GpuContext.check("cudaMalloc", JCuda.cudaMalloc(fromRuntime, size));
            copy(driver, "cudaMalloc", JCudaInterop.memory(fromRuntime, size));
            GpuContext.check("cudaFree", JCuda.cudaFree(fromRuntime));
        }
    }

    private void copy(CuFileDriver driver, String owner, MemoryRange memory) throws IOException {
        Path target = arguments.folder().resolve("copy");
        long start = System.nanoTime();
        try (CuFileHandle from = driver.openFile(source, CuFileOpenOption.DIRECT);
                CuFileHandle to = driver.openFile(target, CREATE_NEW, WRITE, CuFileOpenOption.DIRECT)) {
            bytes += from.read(memory, 0);
            bytes += to.write(memory, 0);
        }
        seconds += (System.nanoTime() - start) / 1e9;
        String digest = sha256(target);
        boolean equal = digest.equals(sha256(source));
        arguments.say("%s: SHA-256 %s..., %s", owner, digest.substring(0, 16), equal ? "equal" : "NOT EQUAL");
        verified &= equal;
        Files.delete(target);
    }

    private static String sha256(Path file) throws IOException {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }
}
