package io.gds4j.tools.check;

import io.gds4j.diagnosis.Advice;
import java.util.List;

/**
 * What a report tells of the machine.
 *
 * @param topology lines about processors, GPUs, the bus and the file systems of paths
 * @param advice what would make it faster
 */
public record Machine(List<String> topology, List<Advice> advice) {
    public Machine {
        topology = List.copyOf(topology);
        advice = List.copyOf(advice);
    }
}
