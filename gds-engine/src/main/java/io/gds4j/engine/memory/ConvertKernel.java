package io.gds4j.engine.memory;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * The kernel that converts elements in GPU memory, for each context of a driver: {@code convert.ptx}, compiled from {@code convert.cu} by
 * {@code dev/kernels.py}. Thread-safe.
 */
final class ConvertKernel {
    static final String LAUNCH = "cuLaunchKernel";
    private static final String FILE = "convert.ptx";
    private static final String NAME = "gds4j_convert";
    private static final int THREADS = 256;
    /** No GPU runs as many blocks at a time. A thread goes on to further elements until none is left. */
    private static final long MAX_BLOCKS = 1 << 14;

    private static final PerContext<Long> FUNCTIONS = new PerContext<>(ConvertKernel::load);

    private ConvertKernel() {
    }

    /**
     * Returns the kernel's function in a context. The first call for a context loads it and launches it once, at a time when no stream
     * waits: both may wait for all streams.
     *
     * @throws io.gds4j.error.CuFileException if the driver refuses
     */
    static long in(CudaContexts contexts, long context) {
        return FUNCTIONS.of(contexts, context);
    }

    /**
     * Puts it into a stream of the current context.
     *
     * @param what {@link ElementConversion#argument}
     * @return a {@code CUresult}
     */
    static int launch(Cuda cuda, long function, long from, long to, long what, long elements, long stream) {
        int blocks = (int) Math.clamp(Math.ceilDiv(elements, THREADS), 1, MAX_BLOCKS);
        return cuda.launchKernel(function, blocks, THREADS, from, to, what, stream);
    }

    private static long load(CudaContexts contexts, long context) {
        Cuda cuda = contexts.cuda();
        long[] out = new long[1];
        CudaErrors.check(cuda, "cuModuleLoadData", contexts.in(context, () -> cuda.moduleLoad(out, text())));
        long module = out[0];
        CudaErrors.check(cuda, "cuModuleGetFunction",
                contexts.in(context, () -> cuda.moduleGetFunction(out, module, NAME)));
        long function = out[0];
        CudaErrors.check(cuda, "cuStreamCreate",
                contexts.in(context, () -> cuda.streamCreate(out, Cuda.STREAM_NON_BLOCKING)));
        long stream = out[0];
        try {
            CudaErrors.check(cuda, LAUNCH, contexts.in(context, () -> launch(cuda, function, 0, 0, 0, 0, stream)));
            CudaErrors.check(cuda, "cuStreamSynchronize", contexts.in(context, () -> cuda.streamSynchronize(stream)));
        } finally {
            contexts.in(context, () -> cuda.streamDestroy(stream));
        }
        return function;
    }

    private static String text() {
        try (InputStream file = Objects.requireNonNull(ConvertKernel.class.getResourceAsStream(FILE), FILE)) {
            return new String(file.readAllBytes(), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
