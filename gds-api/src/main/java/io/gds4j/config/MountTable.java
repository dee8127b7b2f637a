package io.gds4j.config;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The network adapters of each mount point: the value of {@code fs.*.mount_table}. Immutable.
 *
 * @param rdmaDevAddrList IPv4 addresses of this machine's adapters, by mount point
 * @since 0.1
 */
public record MountTable(Map<String, List<String>> rdmaDevAddrList) {
    /** A table without entries. */
    public static final MountTable EMPTY = new MountTable(Map.of());

    /** Copies the table in its order. */
    public MountTable {
        Map<String, List<String>> copy = new LinkedHashMap<>();
        rdmaDevAddrList.forEach((mount, addresses) -> copy.put(mount, List.copyOf(addresses)));
        rdmaDevAddrList = Collections.unmodifiableMap(copy);
    }

    /** Returns the entries, as in {@code {/mnt/a=[10.0.0.1]}}. */
    @Override
    public String toString() {
        return rdmaDevAddrList.toString();
    }
}
