package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.DmaBuf;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import io.gds4j.rdma.MemoryRegion;
import io.gds4j.rdma.ProtectionDomain;
import io.gds4j.rdma.RdmaAccess;
import io.gds4j.rdma.RdmaAvailability;
import io.gds4j.rdma.RdmaDevices;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;

/**
 * Reads a file into memory that an RDMA device can send to other hosts. Registers host memory by its address and GPU memory as
 * a dma-buf. Without an RDMA device it reads the file and leaves the registration out.
 */
final class RdmaRegistration {
    private static final int MAX_BYTES = 16 << 20;
    private static final Set<RdmaAccess> RIGHTS = EnumSet.of(RdmaAccess.LOCAL_WRITE, RdmaAccess.REMOTE_READ);
    private static final String LESSON =
            "One block of memory can be the target of file reads and the source of RDMA at the same time.";

    private final SampleArguments arguments;
    private final CuFileDriver driver;
    private final CuFileHandle file;
    private final MemoryRange memory;

    private RdmaRegistration(
            SampleArguments arguments, CuFileDriver driver, CuFileHandle file, MemoryRange memory) {
        this.arguments = arguments;
        this.driver = driver;
        this.file = file;
        this.memory = memory;
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(RdmaRegistration::run, args);
    }

    static SampleResult run(SampleArguments arguments) {
        byte[] data = SampleArguments.randomBytes(Math.min(arguments.size(), MAX_BYTES));
        try (CuFileDriver driver = arguments.openDriver();
                CuFileHandle file = driver.openFile(
                        arguments.folder().resolve("data"), CREATE_NEW, READ, WRITE, CuFileOpenOption.DIRECT);
                MemoryAllocation allocation = arguments.allocate(driver, data.length)) {
            MemoryRange memory = allocation.range();
            Bytes.put(driver, data, memory);
            file.write(memory, 0);
            driver.allocator().fill(memory, (byte) 0);

            double seconds = new RdmaRegistration(arguments, driver, file, memory).readRegistered();
            boolean verified = Arrays.equals(Bytes.in(driver, memory), data);
            return new SampleResult(data.length, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    private double readRegistered() {
        return switch (RdmaDevices.detect()) {
            case RdmaAvailability.Available rdma -> {
                String device = rdma.devices().getFirst();
                try (ProtectionDomain domain = rdma.verbs().open(device)) {
                    yield memory.kind().isCuda() ? readDmaBuf(device, domain) : readHost(device, domain);
                }
            }
            case RdmaAvailability.Unavailable none -> {
                arguments.say("%s (%s): the registration is left out", none.reason(), none.remedy());
                yield read();
            }
        };
    }

    private double readHost(String device, ProtectionDomain domain) {
        try (MemoryRegion region = domain.register(memory, RIGHTS)) {
            return read(device, region);
        }
    }

    private double readDmaBuf(String device, ProtectionDomain domain) {
        try (DmaBuf buffer = driver.allocator().exportDmaBuf(memory);
                MemoryRegion region = domain.register(buffer, RIGHTS)) {
            return read(device, region);
        }
    }

    private double read(String device, MemoryRegion region) {
        arguments.say("%s may access %d KiB of %s memory with the keys %08x (local) and %08x (remote)",
                device, memory.length() >> 10, memory.kind(), region.localKey(), region.remoteKey());
        return read();
    }

    private double read() {
        long start = System.nanoTime();
        file.read(memory, 0);
        return (System.nanoTime() - start) / 1e9;
    }
}
