package io.gds4j.samples;

import io.gds4j.HostStream;

/** A stream without a GPU. */
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
    public void synchronize() throws InterruptedException {
        stream.synchronize();
    }

    @Override
    public void close() {
        stream.close();
    }
}
