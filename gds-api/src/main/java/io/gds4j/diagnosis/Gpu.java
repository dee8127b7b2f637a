package io.gds4j.diagnosis;

import java.util.Objects;
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
    private final int index;
    private final String name;
    private final String uuid;
    private final Optional<String> pciId;
    private final OptionalLong memoryBytes;
    private final OptionalLong bar1Bytes;
    private final String computeCapability;
    private final OptionalInt numaNode;
    private final Optional<Boolean> dmaBuf;
    private final OptionalInt nvLinks;

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
        this.index = index;
        this.name = name;
        this.uuid = uuid;
        this.pciId = pciId;
        this.memoryBytes = memoryBytes;
        this.bar1Bytes = bar1Bytes;
        this.computeCapability = computeCapability;
        this.numaNode = numaNode;
        this.dmaBuf = dmaBuf;
        this.nvLinks = nvLinks;
    }

    /** {@return the N of {@code gpu:N}} */
    public int index() {
        return index;
    }

    /** {@return product name} */
    public String name() {
        return name;
    }

    /** {@return UUID as nvidia-smi prints it} */
    public String uuid() {
        return uuid;
    }

    /** {@return PCI address, domain:bus:device.function; empty if unknown} */
    public Optional<String> pciId() {
        return pciId;
    }

    /** {@return size of its memory in bytes; empty if unknown} */
    public OptionalLong memoryBytes() {
        return memoryBytes;
    }

    /** {@return size in bytes of BAR1, the window through which other PCI devices access its memory; empty if unknown} */
    public OptionalLong bar1Bytes() {
        return bar1Bytes;
    }

    /** {@return compute capability, such as {@code 9.0}} */
    public String computeCapability() {
        return computeCapability;
    }

    /** {@return nearest NUMA node; empty if unknown} */
    public OptionalInt numaNode() {
        return numaNode;
    }

    /** {@return whether other devices can access its memory as a dma-buf; empty if unknown} */
    public Optional<Boolean> dmaBuf() {
        return dmaBuf;
    }

    /** {@return number of active NVLinks; empty if unknown} */
    public OptionalInt nvLinks() {
        return nvLinks;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Gpu that && index == that.index && name.equals(that.name) && uuid.equals(that.uuid)
                && pciId.equals(that.pciId) && memoryBytes.equals(that.memoryBytes) && bar1Bytes.equals(that.bar1Bytes)
                && computeCapability.equals(that.computeCapability) && numaNode.equals(that.numaNode)
                && dmaBuf.equals(that.dmaBuf) && nvLinks.equals(that.nvLinks);
    }

    @Override
    public int hashCode() {
        return Objects.hash(index, name, uuid, pciId, memoryBytes, bar1Bytes, computeCapability, numaNode, dmaBuf,
                nvLinks);
    }

    @Override
    public String toString() {
        return "Gpu[index=" + index + ", name=" + name + ", uuid=" + uuid + ", pciId=" + pciId + ']';
    }
}
