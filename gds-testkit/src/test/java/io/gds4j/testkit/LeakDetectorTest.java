package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import org.junit.jupiter.api.Test;

class LeakDetectorTest {
    private final LeakDetector memory = new LeakDetector(new ReferenceBackend().allocator());

    private MemoryAllocation allocatedByACarelessMethod() {
        return memory.allocate(MemoryKind.HOST, 1234);
    }

    @Test
    void leakIsNamedWithItsAllocationSite() {
        MemoryAllocation closed = memory.allocate(MemoryKind.HOST, 99);
        MemoryAllocation forgotten = allocatedByACarelessMethod();
        closed.close();
        assertThatThrownBy(memory::verify)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("1 allocations were not closed")
                .hasMessageContaining("1234 bytes of HOST")
                .hasMessageContaining("LeakDetectorTest.allocatedByACarelessMethod")
                .hasMessageContaining("leakIsNamedWithItsAllocationSite");
        forgotten.close();
        memory.verify();
        assertThat(memory.alive()).isEmpty();
    }
}
