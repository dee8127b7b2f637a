package io.gds4j.tools.terminal;

import io.gds4j.ffi.posix.FfmPosix;

/** Asks the kernel about a descriptor; apart, so that libc is bound only where somebody asks. */
final class TerminalQueries {
    private TerminalQueries() {
    }

    static boolean isTerminal(int fd) {
        return FfmPosix.instance().isatty(fd);
    }
}
