package io.gds4j.compat.transfer;

import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.TransferArguments;

/** The last look at a request's arguments: behind it stand raw addresses. The object API has looked before. */
final class RequestArguments {
    private RequestArguments() {
    }

    static void check(
            String function,
            CompatFile file,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset,
            boolean write) {
        TransferArguments.check(function, file, base, size, fileOffset, bufferOffset, write);
    }
}
