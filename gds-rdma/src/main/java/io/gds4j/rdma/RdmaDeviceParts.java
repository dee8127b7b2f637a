package io.gds4j.rdma;

import java.util.Set;

/** The parts of a {@link RdmaDevice}. */
record RdmaDeviceParts(String name, int ports, int maxQueuePairs, int maxRequests, int maxRegions, int maxWindows,
        int maxReads, boolean atomics, Set<WindowType> windows) implements RdmaDevice {}
