package io.gds4j.benchmarks;

import com.sun.management.ThreadMXBean;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.DynamicLoader;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.cufile.FfmCuFileLibrary;
import io.gds4j.ffi.cufile.LibCuFile;
import io.gds4j.ffi.cufile.RawLibrary;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.libcufile.LibCuFileBackendProvider;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;

/**
 * The cases of {@code benchmarks/scripts/limits.c} that read through libcufile, by Java: the same cases, loops and output, so that
 * {@code benchmarks/scripts/libcufile.sh} can set them side by side, that program's loops in this process among them. More: {@code turns},
 * as many as the case has threads; {@code foreign}, on a thread without a CUDA context; {@code allocation}, bytes of the Java heap for each read, over a million of them; {@code sites}, the number of places that
 * allocate, each named on standard error.
 */
final class LibCuFileFigures {
    private static final String BESIDE = "--beside=";
    private static final int LATENCY_OPS = 8000;
    private static final int TURN_OPS = 500;
    /** Reads until the JIT compiler is done with them. */
    private static final int WARM_UP_OPS = 60_000;
    private static final int ALLOCATION_OPS = 1_000_000;

    private final CuFileHandle handle;
    private final MemoryAllocation memory;
    private final String file;

    private LibCuFileFigures(String file, CuFileHandle handle, MemoryAllocation memory) {
        this.file = file;
        this.handle = handle;
        this.memory = memory;
    }

    private record Job(String name, String kind, long bytes, int threads, long request) {
        static Job parse(String text) {
            String[] fields = text.split(":");
            return new Job(
                    fields[0], fields[1], Long.parseLong(fields[2]), Integer.parseInt(fields[3]),
                    Long.parseLong(fields[4]));
        }

        /** As the C program has them. */
        long memory() {
            return kind.equals("hot") ? bytes : request * threads;
        }

        /** Requests that the file holds. */
        long places() {
            return bytes / request;
        }
    }

    /** @param args {@code --beside=LIMITS.so} or nothing, file, then cases {@code name:kind:bytes:threads:request} */
    public static void main(String[] args) throws Throwable {
        List<String> words = new ArrayList<>(List.of(args));
        Optional<CProgram> beside = words.getFirst().startsWith(BESIDE)
                ? Optional.of(new CProgram(words.removeFirst().substring(BESIDE.length())))
                : Optional.empty();
        String file = words.removeFirst();
        List<Job> jobs = words.stream().map(Job::parse).toList();
        long bytes = jobs.stream().mapToLong(Job::memory).max().orElseThrow();
        try (CuFileDriver driver =
                CuFileDriver.open(new LibCuFileBackendProvider().create(CuFileConfig.defaults()));
                CuFileHandle handle = driver.openFile(Path.of(file));
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, bytes)) {
            LibCuFileFigures figures = new LibCuFileFigures(file, handle, memory);
            for (int i = 0; i < jobs.size(); i++) {
                Job job = jobs.get(i);
                if (job.kind().equals("turns")) {
                    onThread(() -> figures.turns(job, beside.orElseThrow()));
                    continue;
                }
                if (beside.isPresent() && i % 2 == 0) {
                    beside.get().run(file, words.get(i));
                }
                print(job.name(), figures.measure(job));
                if (beside.isPresent() && i % 2 == 1) {
                    beside.get().run(file, words.get(i));
                }
            }
        }
    }

    private double measure(Job job) throws InterruptedException {
        return switch (job.kind()) {
            case "latency" -> latency(job, LibCuFileFigures::makeCurrent);
            case "foreign" -> latency(job, () -> {
            });
            case "hot" -> throughput(job);
            case "allocation" -> allocation(job);
            case "sites" -> sites(job);
            default -> throw new IllegalArgumentException(job.kind());
        };
    }

    private static void print(String name, double value) {
        System.out.printf(Locale.ROOT, "%s %.3f%n", name, value);
        System.out.flush();
    }

    /** limits.c as a library. It uses the libcufile of this process, with a handle, memory and threads of its own. */
    private static final class CProgram {
        private final MethodHandle main;
        private final MethodHandle reads;

        CProgram(String library) {
            SymbolLookup symbols = SymbolLookup.libraryLookup(Path.of(library), Arena.global());
            main = Linker.nativeLinker()
                    .downcallHandle(
                            symbols.findOrThrow("limits_main"),
                            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS));
            reads = Linker.nativeLinker()
                    .downcallHandle(
                            symbols.findOrThrow("limits_reads"),
                            FunctionDescriptor.of(
                                    ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG,
                                    ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG,
                                    ValueLayout.JAVA_LONG));
        }

        /** Reads on this thread. */
        void reads(long handle, long address, Job job, long first, long count) {
            try {
                check((int) reads.invokeExact(handle, address, job.request(), job.places(), first, count), 0);
            } catch (Throwable t) {
                throw new IllegalStateException(t);
            }
        }

        /** Prints the case's value with a name that begins with "c-". */
        void run(String file, String job) throws Throwable {
            List<String> words = List.of("limits", "gpu", "cufile", file, "c-" + job);
            // The program keeps the file's name.
            MemorySegment arguments = Arena.global().allocate(ValueLayout.ADDRESS, words.size());
            for (int i = 0; i < words.size(); i++) {
                arguments.setAtIndex(ValueLayout.ADDRESS, i, Arena.global().allocateFrom(words.get(i)));
            }
            int status = (int) main.invokeExact(words.size(), arguments);
            if (status != 0) {
                throw new IllegalStateException("limits: status " + status);
            }
        }
    }

    /** What is measured: reads one after the other, from a place on. */
    private interface Reads {
        void run(long first, long count);
    }

    private Reads reads(Job job) {
        MemoryRange range = memory.range();
        long places = job.places();
        return (first, count) -> {
            for (long i = first; i < first + count; i++) {
                check(handle.read(range, job.request(), i % places * job.request(), 0), job.request());
            }
        };
    }

    /** The same by the binding alone. */
    private static Reads bareReads(Job job, CuFileLibrary library, long bare, long address) {
        long places = job.places();
        return (first, count) -> {
            for (long i = first; i < first + count; i++) {
                check(library.read(bare, address, job.request(), i % places * job.request(), 0), job.request());
            }
        };
    }

    private static void check(long moved, long size) {
        if (moved != size) {
            throw new IllegalStateException("%d instead of %d".formatted(moved, size));
        }
    }

    /**
     * C, the binding alone and Java in turns on this thread, a few milliseconds each, into the same memory: on other processors, and at
     * other times, all of them take a tenth more or less. Each turn goes on where the one before left off, through as much
     * of the file as the programs read: what was read a turn ago is still in the second cache.
     */
    private void turns(Job job, CProgram program) {
        if (!(LibCuFile.locate() instanceof LibCuFile.Found found)
                || !(LibCuFile.load(found) instanceof DynamicLoader.Loaded loaded)) {
            throw new IllegalStateException("no libcufile: " + LibCuFile.locate());
        }
        CuFileLibrary library = new FfmCuFileLibrary(loaded.symbols(), "measured");
        long bare = library.handleRegister(FfmPosix.instance().open(file, PosixConstants.O_RDWR, 0));
        long address = memory.range().address();
        Map<String, Reads> all = new LinkedHashMap<>();
        all.put("c-", (first, count) -> program.reads(bare, address, job, first, count));
        all.put("bare-", bareReads(job, library, bare, address));
        all.put("", reads(job));
        makeCurrent();
        all.values().forEach(reads -> reads.run(0, WARM_UP_OPS));
        List<String> order = new ArrayList<>(all.keySet());
        for (int i = 0; i < job.threads(); i++) {
            Collections.rotate(order, 1);
            for (int k = 0; k < order.size(); k++) {
                long first = (long) (i * order.size() + k) * TURN_OPS % LATENCY_OPS;
                print(order.get(k) + job.name(), micros(all.get(order.get(k)), first, TURN_OPS));
            }
        }
    }

    /** Microseconds of one read: on a thread of its own, as in C. */
    private double latency(Job job, Runnable prepare) throws InterruptedException {
        Reads reads = reads(job);
        double[] micros = new double[1];
        onThread(() -> {
            prepare.run();
            reads.run(0, WARM_UP_OPS);
            micros[0] = micros(reads, 0, LATENCY_OPS);
        });
        return micros[0];
    }

    private static double micros(Reads reads, long first, int count) {
        long began = System.nanoTime();
        reads.run(first, count);
        return (System.nanoTime() - began) / 1e3 / count;
    }

    private static void onThread(Runnable task) throws InterruptedException {
        Thread.ofPlatform().start(task).join();
    }

    /** As the C program's threads do before they begin. */
    private static void makeCurrent() {
        CudaContexts contexts = CudaDriver.detect().cudaContexts().orElseThrow();
        RawLibrary.succeed(contexts.cuda().ctxSetCurrent(contexts.primary(0)));
    }

    /** Bytes of the heap for a read of this thread. */
    private double allocation(Job job) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Reads reads = reads(job);
        reads.run(0, WARM_UP_OPS);
        long before = threads.getCurrentThreadAllocatedBytes();
        reads.run(0, ALLOCATION_OPS);
        return (threads.getCurrentThreadAllocatedBytes() - before) / (double) ALLOCATION_OPS;
    }

    private double sites(Job job) {
        Reads reads = reads(job);
        reads.run(0, WARM_UP_OPS);
        Map<String, Long> found = new TreeMap<>();
        try (Recording recording = new Recording()) {
            recording.enable("jdk.ObjectAllocationSample").with("throttle", "1000/s").withStackTrace();
            recording.start();
            reads.run(0, ALLOCATION_OPS);
            recording.stop();
            Path file = Files.createTempFile("sites", ".jfr");
            recording.dump(file);
            for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
                if (event.getStackTrace() == null) {
                    continue;
                }
                List<RecordedFrame> frames = event.getStackTrace().getFrames();
                found.merge(
                        event.getClass("objectClass").getName() + " at "
                                + frames.stream().limit(5).map(LibCuFileFigures::frame).toList(),
                        1L,
                        Long::sum);
            }
            Files.delete(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        found.forEach((site, count) -> System.err.println(count + " " + site));
        return found.size();
    }

    private static String frame(RecordedFrame frame) {
        return frame.getMethod().getType().getName().replaceFirst(".*\\.", "") + "." + frame.getMethod().getName() + ":"
                + frame.getLineNumber();
    }

    /** GB/s from the first thread's beginning to the last one's end; once before it counts. */
    private double throughput(Job job) throws InterruptedException {
        pass(job);
        return pass(job);
    }

    private double pass(Job job) throws InterruptedException {
        long[] begins = new long[job.threads()];
        long[] ends = new long[job.threads()];
        CyclicBarrier gate = new CyclicBarrier(job.threads());
        long count = job.bytes() / job.request();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < job.threads(); i++) {
            int id = i;
            threads.add(Thread.ofPlatform().start(() -> {
                makeCurrent();
                await(gate);
                begins[id] = System.nanoTime();
                for (long r = count * id / job.threads(); r < count * (id + 1) / job.threads(); r++) {
                    long at = r * job.request();
                    check(handle.read(memory.range(), job.request(), at, at), job.request());
                }
                ends[id] = System.nanoTime();
            }));
        }
        long first = Long.MAX_VALUE;
        long last = Long.MIN_VALUE;
        for (int i = 0; i < job.threads(); i++) {
            threads.get(i).join();
            first = Math.min(first, begins[i]);
            last = Math.max(last, ends[i]);
        }
        return job.bytes() / (double) (last - first);
    }

    private static void await(CyclicBarrier gate) {
        try {
            gate.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }
}
