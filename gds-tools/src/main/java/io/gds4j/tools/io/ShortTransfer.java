package io.gds4j.tools.io;

import io.gds4j.tools.terminal.CommandFailure;

/** A request that moved less than it should: a measurement of something else. */
final class ShortTransfer {
    private ShortTransfer() {
    }

    static void check(IoRequest request, long moved) {
        if (moved != request.size) {
            throw CommandFailure.device(
                    "SHORT_TRANSFER",
                    "%s of %d bytes at %d moved %d: the file changed meanwhile"
                            .formatted(request.write ? "write" : "read", request.size, request.fileOffset, moved));
        }
    }
}
