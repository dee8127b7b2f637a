package io.gds4j.diagnosis;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * A GPU that this process sees.
 *
 * @param index the N of {@code gpu:N}
 * @param name product name
 * @param uuid UUID as nvidia-smi prints it
 * @param pciId PCI address, domain:bus:device.function; empty if unknown
 * @param memoryBytes size of its memory in bytes; empty if unknown
 * @param bar1Bytes size in bytes of BAR1, the window through which other PCI devices access its memory; empty if unknown
 * @param computeCapability compute capability, such as {@code 9.0}
 * @param numaNode nearest NUMA node; empty if unknown
 * @param dmaBuf whether other devices can access its memory as a dma-buf; empty if unknown
 * @param nvLinks number of active NVLinks; empty if unknown
 * @since 0.1
 */
public record Gpu(
        int index,
        String name,
        String uuid,
        Optional<String> pciId,
        OptionalLong memoryBytes,
        OptionalLong bar1Bytes,
        String computeCapability,
        OptionalInt numaNode,
        Optional<Boolean> dmaBuf,
        OptionalInt nvLinks) {
}
