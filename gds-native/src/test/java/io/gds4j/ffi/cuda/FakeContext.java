package io.gds4j.ffi.cuda;

/** A context of {@link FakeCuda}. */
final class FakeContext {
    final long handle;
    final long id;
    final int device;
    final boolean primary;
    /** True while no user retains it; its memory, streams and events are gone. */
    boolean destroyed;
    /** Stream 0 of this context. */
    final FakeStream nullStream;

    FakeContext(long handle, long id, int device, boolean primary) {
        this.handle = handle;
        this.id = id;
        this.device = device;
        this.primary = primary;
        this.nullStream = new FakeStream(0, this);
    }

    @Override
    public String toString() {
        return (primary ? "primary context of GPU " + device : "context 0x" + Long.toHexString(handle)) + " (id " + id
                + ")";
    }
}
