package io.gds4j.testkit.random;

import io.gds4j.HostStream;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CountDownLatch;

/** A {@link HostStream}, whose work reaches memory that has a segment. */
final class HostProgramStream implements ProgramStream {
    private final HostStream stream = HostStream.create();

    @Override
    public long address() {
        return stream.address();
    }

    @Override
    public boolean reaches(MemoryRange memory) {
        return memory.segment().isPresent();
    }

    @Override
    public void copy(MemoryRange from, MemoryRange to) {
        copy(from.segment().orElseThrow(), to.segment().orElseThrow());
    }

    @Override
    public void copy(MemorySegment from, MemorySegment to) {
        stream.enqueue(() -> to.copyFrom(from));
    }

    @Override
    public void fill(MemoryRange memory, byte value) {
        MemorySegment bytes = memory.segment().orElseThrow();
        stream.enqueue(() -> bytes.fill(value));
    }

    @Override
    public Runnable hold() {
        CountDownLatch gate = new CountDownLatch(1);
        stream.enqueue(() -> {
            boolean interrupted = false;
            while (gate.getCount() > 0) {
                try {
                    gate.await();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        });
        return gate::countDown;
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
