package io.gds4j.ffi.posix;

/**
 * One call as {@link FaultyPosix} saw it.
 *
 * @param call kind of call
 * @param fd descriptor, −1 where the call has none
 * @param path of the descriptor or argument, empty if unknown
 * @param flags open flags of the descriptor or argument
 * @param address memory of I/O and mappings, else 0
 * @param offset in the file, bytes; 0 where the call has none
 * @param count bytes asked for; 0 where the call has none
 */
public record PosixRequest(PosixCall call, int fd, String path, int flags, long address, long offset, long count) {
    /** True for O_DIRECT. */
    public boolean isDirect() {
        return (flags & PosixConstants.O_DIRECT) != 0;
    }
}
