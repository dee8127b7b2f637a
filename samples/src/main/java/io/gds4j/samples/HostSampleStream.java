package io.gds4j.samples;

import io.gds4j.HostStream;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A stream on the host. */
final class HostSampleStream implements SampleStream {
    private final HostStream stream = HostStream.create();

    private HostSampleStream() {
    }

    static HostSampleStream open() {
        return new HostSampleStream();
    }

    @Override
    public long address() {
        return stream.address();
    }

    @Override
    public void increment(MemoryRange range) {
        MemorySegment bytes = range.segment().orElseThrow();
        stream.enqueue(() -> {
            for (long i = 0; i < bytes.byteSize(); i++) {
                bytes.set(ValueLayout.JAVA_BYTE, i, (byte) (bytes.get(ValueLayout.JAVA_BYTE, i) + 1));
            }
        });
    }

    @Override
    public void synchronize() throws InterruptedException {
        stream.synchronize();
    }

    @Override
    public void close() {
        stream.close();
    }
}
