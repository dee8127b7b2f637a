package io.gds4j.tools.io;

import io.gds4j.tools.terminal.CommandFailure;

/** Refuses requests that moved fewer bytes than expected, because they would distort the measurement. */
final class ShortTransfer {
    private ShortTransfer() {
    }

    static void check(IoRequest request, long moved) {
        if (moved != request.size) {
            throw CommandFailure.device(
                    "SHORT_TRANSFER",
                    "%s of %s bytes at %s moved only %s: the file changed during the run"
                            .formatted(request.write ? "write" : "read", request.size, request.fileOffset, moved));
        }
    }
}
