package io.gds4j.tools.io;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Measures CPU time and Java allocations of all threads of the process since its creation. */
final class ProcessCost {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final long cpuNanos = SYSTEM.getProcessCpuTime();
    private final long allocated = THREADS.getTotalThreadAllocatedBytes();

    JobResult.Cost sinceThen() {
        return new JobResult.Cost(
                (SYSTEM.getProcessCpuTime() - cpuNanos) / 1e9, THREADS.getTotalThreadAllocatedBytes() - allocated);
    }
}
