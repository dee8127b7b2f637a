package io.gds4j.diagnosis;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * A GPU that this process sees.
 *
 * @since 0.1
 */
public sealed interface Gpu permits GpuParts {
    /** {@return the N of {@code gpu:N}} */
    int index();

    /** {@return product name} */
    String name();

    /** {@return UUID as nvidia-smi prints it} */
    String uuid();

    /** {@return PCI address, domain:bus:device.function; empty if unknown} */
    Optional<String> pciId();

    /** {@return size of its memory in bytes; empty if unknown} */
    OptionalLong memoryBytes();

    /** {@return size in bytes of BAR1, the window through which other PCI devices access its memory; empty if unknown} */
    OptionalLong bar1Bytes();

    /** {@return compute capability, such as {@code 9.0}} */
    String computeCapability();

    /** {@return nearest NUMA node; empty if unknown} */
    OptionalInt numaNode();

    /** {@return whether other devices can access its memory as a dma-buf; empty if unknown} */
    Optional<Boolean> dmaBuf();

    /** {@return number of active NVLinks; empty if unknown} */
    OptionalInt nvLinks();

    /**
     * Makes a value.
     *
     * @param index as {@link #index}
     * @param name as {@link #name}
     * @param uuid as {@link #uuid}
     * @param pciId as {@link #pciId}
     * @param memoryBytes as {@link #memoryBytes}
     * @param bar1Bytes as {@link #bar1Bytes}
     * @param computeCapability as {@link #computeCapability}
     * @param numaNode as {@link #numaNode}
     * @param dmaBuf as {@link #dmaBuf}
     * @param nvLinks as {@link #nvLinks}
     * @return the value
     */
    static Gpu of(int index, String name, String uuid, Optional<String> pciId, OptionalLong memoryBytes,
            OptionalLong bar1Bytes, String computeCapability, OptionalInt numaNode, Optional<Boolean> dmaBuf,
            OptionalInt nvLinks) {
        return new GpuParts(index, name, uuid, pciId, memoryBytes, bar1Bytes, computeCapability, numaNode, dmaBuf,
                nvLinks);
    }
}
