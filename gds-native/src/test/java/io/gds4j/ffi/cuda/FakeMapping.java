package io.gds4j.ffi.cuda;

/** Physical memory behind a part of a reservation. */
final class FakeMapping {
    final long bytes;
    boolean accessible;

    FakeMapping(long bytes) {
        this.bytes = bytes;
    }
}
