package io.gds4j.diagnosis;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** The parts of a {@link Gpu}. */
record GpuParts(int index, String name, String uuid, Optional<String> pciId, OptionalLong memoryBytes,
        OptionalLong bar1Bytes, String computeCapability, OptionalInt numaNode, Optional<Boolean> dmaBuf,
        OptionalInt nvLinks) implements Gpu {
    @Override
    public String toString() {
        return "Gpu[index=" + index + ", name=" + name + ", uuid=" + uuid + ", pciId=" + pciId
                + ']';
    }
}
