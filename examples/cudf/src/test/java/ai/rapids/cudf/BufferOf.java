package ai.rapids.cudf;

/** Buffers of cudf over memory of others: cudf's own class, whose memory RMM would own. */
public final class BufferOf {
    private BufferOf() {
    }

    /** Returns a buffer that frees nothing when it is closed. */
    public static DeviceMemoryBuffer memory(long address, long length) {
        return new DeviceMemoryBuffer(address, length, new MemoryBuffer.MemoryBufferCleaner() {
            private boolean clean;

            @Override
            protected synchronized boolean cleanImpl(boolean logErrorIfNotClean) {
                boolean was = clean;
                clean = true;
                return !was;
            }

            @Override
            public boolean isClean() {
                return clean;
            }
        });
    }
}
