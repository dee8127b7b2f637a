package io.gds4j.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAttributes;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.posix.FfmPosix;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.BiFunction;
import java.util.function.LongFunction;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Checks whether the driver's number of an allocation (CU_POINTER_ATTRIBUTE_BUFFER_ID) changes with the allocation. Prints a table
 * of all kinds. Fails if a number that gds4j trusts does not change.
 */
@Tag("gpu")
class GpuAllocationTagTest {
    private static final int TRIES = 2000;

    /** Allocates and frees memory of a kind as a program does. */
    private interface Source {
        /** Returns an address; 0 if the memory is not available. */
        long allocate(long bytes);

        void free(long address, long bytes);
    }

    private final CudaAvailability.Available available = (CudaAvailability.Available) CudaDriver.detect();
    private final Cuda cuda = available.driver();
    private final CudaContexts contexts = available.contexts();
    private final long context = contexts.primary(0);
    private final CudaStreams streams = new CudaStreams(contexts);

    private long id(long address) {
        long[] value = new long[1];
        int result = cuda.pointerGetAttribute(value, CudaAttributes.POINTER_BUFFER_ID, address);
        return result == Cuda.SUCCESS ? value[0] : -result;
    }

    private String range(long address) {
        long[] range = new long[2];
        int result = contexts.in(context, () -> cuda.memGetAddressRange(range, address));
        return result == Cuda.SUCCESS ? "base%+d size %d".formatted(range[0] - address, range[1]) : "error " + result;
    }

    private long memory(ToIntFunction<long[]> call) {
        long[] out = new long[1];
        return contexts.in(context, () -> call.applyAsInt(out)) == Cuda.SUCCESS ? out[0] : 0;
    }

    private Source simple(BiFunction<long[], Long, Integer> make,
            LongFunction<Integer> free) {
        return new Source() {
            @Override
            public long allocate(long bytes) {
                return memory(out -> make.apply(out, bytes));
            }

            @Override
            public void free(long address, long bytes) {
                contexts.in(context, () -> free.apply(address));
            }
        };
    }

    private Source pool() {
        return new Source() {
            @Override
            public long allocate(long bytes) {
                long[] out = new long[1];
                return streams.tryRun(context, stream -> cuda.memAllocAsync(out, bytes, stream)) == 0 ? out[0] : 0;
            }

            @Override
            public void free(long address, long bytes) {
                streams.tryRun(context, stream -> cuda.memFreeAsync(address, stream));
            }
        };
    }

    /** The same pages of the host, registered and unregistered. */
    private Source registered() {
        HostMapping mapping = HostMapping.map(FfmPosix.instance(), 64 << 20);
        return new Source() {
            @Override
            public long allocate(long bytes) {
                int result = contexts.in(
                        context, () -> cuda.memHostRegister(mapping.address(), bytes, Cuda.MEM_HOST_PORTABLE));
                return result == Cuda.SUCCESS ? mapping.address() : 0;
            }

            @Override
            public void free(long address, long bytes) {
                contexts.in(context, () -> cuda.memHostUnregister(address));
            }
        };
    }

    /** Other physical memory behind the same addresses, which stay reserved. */
    private Source remapped() {
        long bytes = 64L << 20;
        long reserved = memory(out -> cuda.memAddressReserve(out, bytes, 0));
        return new Source() {
            private long handle;

            @Override
            public long allocate(long wanted) {
                handle = memory(out -> cuda.memCreate(out, bytes, 0, false));
                int mapped = contexts.in(context, () -> cuda.memMap(reserved, bytes, 0, handle));
                contexts.in(context, () -> cuda.memSetAccess(reserved, bytes, 0));
                return mapped == Cuda.SUCCESS ? reserved : 0;
            }

            @Override
            public void free(long address, long wanted) {
                contexts.in(context, () -> cuda.memUnmap(reserved, bytes));
                contexts.in(context, () -> cuda.memRelease(handle));
            }
        };
    }

    /** The findings for one kind. */
    private record Finding(String kind, long bytes, long first, long interior, long freed, long again, int tries,
            String range) {
        boolean comesBack() {
            return tries > 0;
        }

        @Override
        public String toString() {
            return String.format(
                    Locale.ROOT, "%-28s %10d  id=%-8d interior=%-8d freed=%-8d again=%-8s %-14s %s", kind, bytes, first,
                    interior, freed, comesBack() ? again : "-",
                    comesBack() ? (again == first ? "SAME" : "changed") + " x" + tries : "never again", range);
        }
    }

    private Finding probe(String kind, Source source, long bytes) {
        long address = source.allocate(bytes);
        if (address == 0) {
            return new Finding(kind, bytes, 0, 0, 0, 0, 0, "cannot be allocated");
        }
        long first = id(address);
        long interior = id(address + bytes / 2);
        String range = range(address + bytes / 2);
        source.free(address, bytes);
        long freed = id(address);
        long again = 0;
        int tries = 0;
        List<Long> others = new ArrayList<>();
        while (tries == 0 && others.size() < TRIES && others.size() * bytes < 8L << 30) {
            long next = source.allocate(bytes);
            if (next == address) {
                again = id(next);
                tries = others.size() + 1;
                source.free(next, bytes);
            } else if (next == 0) {
                break;
            } else {
                others.add(next);
            }
        }
        others.forEach(other -> source.free(other, bytes));
        return new Finding(kind, bytes, first, interior, freed, again, tries, range);
    }

    private List<Finding> probeAll(String kind, Source source, long... sizes) {
        List<Finding> found = new ArrayList<>();
        for (long bytes : sizes) {
            found.add(probe(kind, source, bytes));
        }
        found.forEach(System.out::println);
        return found;
    }

    @Test
    void allocationNumberChangesWithTheAllocation() {
        System.out.println("tags: kind x (free, reallocate): negative numbers are errors of cuPointerGetAttribute");
        List<Finding> device = probeAll(
                "cuMemAlloc", simple((out, bytes) -> cuda.memAlloc(out, bytes), cuda::memFree), 4096, 1 << 20,
                64 << 20, 1L << 30);
        probeAll(
                "cuMemAllocManaged", simple(
                        (out, bytes) -> cuda.memAllocManaged(out, bytes, Cuda.MEM_ATTACH_GLOBAL), cuda::memFree),
                4096, 64 << 20);
        probeAll("cuMemAllocAsync", pool(), 4096, 1 << 20, 64 << 20);
        probeAll(
                "cuMemHostAlloc",
                simple((out, bytes) -> cuda.memHostAlloc(out, bytes, Cuda.MEM_HOST_PORTABLE), cuda::memFreeHost),
                4096, 64 << 20);
        probeAll("cuMemHostRegister", registered(), 4096, 64 << 20);
        probeAll("cuMemMap, same reservation", remapped(), 64 << 20);
        long address = memory(out -> cuda.memAlloc(out, 1 << 20));
        for (int round = 0; round < 3; round++) {
            long begun = System.nanoTime();
            for (int i = 0; i < 1_000_000; i++) {
                id(address);
            }
            System.out.printf(Locale.ROOT, "tags: one question takes %.0f ns%n",
                    (System.nanoTime() - begun) / 1e6);
        }
        assertThat(device).allSatisfy(finding -> {
            assertThat(finding.first()).isPositive().isEqualTo(finding.interior());
            assertThat(finding.freed()).as("of freed memory").isNotEqualTo(finding.first());
            assertThat(finding.again()).as("of memory at the same address").isNotEqualTo(finding.first());
        });
    }
}
