package io.gds4j.engine.statistics;

import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.OperationCount;

/** Calls by the three ways that cuFile tells apart: what is neither nvidia-fs nor p2pdma is POSIX I/O. Lock-free. */
final class CallsByPath {
    final CallCounter nvfs = new CallCounter();
    final CallCounter p2p = new CallCounter();
    final CallCounter posix = new CallCounter();

    void count(IoPath path, boolean well) {
        CallCounter way = path == IoPath.NVFS ? nvfs : path == IoPath.P2PDMA ? p2p : posix;
        way.count(well);
    }

    long total() {
        return nvfs.total() + p2p.total() + posix.total();
    }

    /** Of all ways together. */
    OperationCount snapshot() {
        OperationCount direct = nvfs.snapshot();
        OperationCount peer = p2p.snapshot();
        OperationCount other = posix.snapshot();
        return new OperationCount(
                direct.ok() + peer.ok() + other.ok(), direct.err() + peer.err() + other.err());
    }

    void reset() {
        nvfs.reset();
        p2p.reset();
        posix.reset();
    }
}
