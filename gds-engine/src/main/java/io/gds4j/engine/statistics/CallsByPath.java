package io.gds4j.engine.statistics;

import io.gds4j.statistics.IoPath;
import io.gds4j.statistics.OperationCount;

/** Counts calls by the three paths of cuFile: all but nvidia-fs and p2pdma are POSIX I/O. Lock-free. */
final class CallsByPath {
    final CallCounter nvfs = new CallCounter();
    final CallCounter p2p = new CallCounter();
    final CallCounter posix = new CallCounter();

    void count(IoPath path, boolean succeeded) {
        CallCounter way = path == IoPath.NVFS ? nvfs : path == IoPath.P2PDMA ? p2p : posix;
        way.count(succeeded);
    }

    long total() {
        return nvfs.total() + p2p.total() + posix.total();
    }

    /** Returns the sum over all paths. */
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
