package io.gds4j.diagnosis;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A GPU that this process sees.
 *
 * @since 0.1
 */
public final class Gpu {
    private final Parts parts;

    /**
     * Sets the parts.
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
     */
    public Gpu(
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
        parts = new Parts(index, name, uuid, pciId, memoryBytes, bar1Bytes, computeCapability, numaNode, dmaBuf,
                nvLinks);
    }

    /** {@return the N of {@code gpu:N}} */
    public int index() {
        return parts.index;
    }

    /** {@return product name} */
    public String name() {
        return parts.name;
    }

    /** {@return UUID as nvidia-smi prints it} */
    public String uuid() {
        return parts.uuid;
    }

    /** {@return PCI address, domain:bus:device.function; empty if unknown} */
    public Optional<String> pciId() {
        return parts.pciId;
    }

    /** {@return size of its memory in bytes; empty if unknown} */
    public OptionalLong memoryBytes() {
        return parts.memoryBytes;
    }

    /** {@return size in bytes of BAR1, the window through which other PCI devices access its memory; empty if unknown} */
    public OptionalLong bar1Bytes() {
        return parts.bar1Bytes;
    }

    /** {@return compute capability, such as {@code 9.0}} */
    public String computeCapability() {
        return parts.computeCapability;
    }

    /** {@return nearest NUMA node; empty if unknown} */
    public OptionalInt numaNode() {
        return parts.numaNode;
    }

    /** {@return whether other devices can access its memory as a dma-buf; empty if unknown} */
    public Optional<Boolean> dmaBuf() {
        return parts.dmaBuf;
    }

    /** {@return number of active NVLinks; empty if unknown} */
    public OptionalInt nvLinks() {
        return parts.nvLinks;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Gpu that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return "Gpu[index=" + parts.index + ", name=" + parts.name + ", uuid=" + parts.uuid + ", pciId=" + parts.pciId
                + ']';
    }

    private record Parts(int index, String name, String uuid, Optional<String> pciId, OptionalLong memoryBytes,
            OptionalLong bar1Bytes, String computeCapability, OptionalInt numaNode, Optional<Boolean> dmaBuf,
            OptionalInt nvLinks) {}
}
