package io.gds4j.source;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * Anything that can read a range of its bytes: an object of a store, an encrypted file, memory of the program.
 * {@code CuFileDriver.openSource} makes a handle of it. Then the engine reads pieces into pinned memory by several threads, and
 * copies them to a GPU meanwhile.
 *
 * <pre>{@code
 * record Greeting(byte[] text) implements RangeSource {
 *     public long size() {
 *         return text.length;
 *     }
 *
 *     public String identity() {
 *         return "greeting";
 *     }
 *
 *     public long read(long offset, MemorySegment target, Cancellation cancellation) {
 *         long count = Math.clamp(size() - offset, 0, target.byteSize());
 *         MemorySegment.copy(MemorySegment.ofArray(text), offset, target, 0, count);
 *         return count;
 *     }
 * }
 * }</pre>
 *
 * <p>
 * Threads of the engine call a source at the same time: implementations are thread-safe. The engine turns every exception and
 * error of a source into a {@link io.gds4j.error.CuFileException} with identity, offset and size. It takes over code and message
 * of a CuFileException. Sources must not use handles of the session that they serve, because they run on its threads; closing what a
 * request uses fails with EBUSY there.
 *
 * @since 0.1
 */
public interface RangeSource {
    /** Bytes of a request that suit most sources: 4 MiB. */
    long DEFAULT_REQUEST_BYTES = 4L << 20;

    /**
     * Returns the size now.
     *
     * @return bytes, 0 or more
     * @throws IOException if the source cannot tell
     */
    long size() throws IOException;

    /**
     * Returns what tells this content from others of the same size, such as a strong ETag. Two sources of one identity with the
     * same version have the same bytes. The loader refuses an object whose version changed after its header was read.
     *
     * @return empty by default: the size alone tells
     * @throws IOException if the source cannot tell
     */
    default Optional<String> contentVersion() throws IOException {
        return Optional.empty();
    }

    /** {@return the name for messages and logs, such as a URL; without passwords or keys} */
    String identity();

    /**
     * Reads bytes into memory. The engine repeats a read that returned too few.
     *
     * @param offset first byte of the source, 0 or more; may be at or past the end
     * @param target receives the bytes, 1 byte or more; valid only during the call, on any thread
     * @param cancellation tells when the bytes are no longer needed
     * @return bytes read: 1 to {@code target.byteSize()}, or 0 at or past the end
     * @throws IOException if the bytes cannot be read
     * @throws InterruptedException if the thread was interrupted or the request was cancelled
     */
    long read(long offset, MemorySegment target, Cancellation cancellation) throws IOException, InterruptedException;

    /** {@return whether {@link #write} works; false by default} */
    default boolean isWritable() {
        return false;
    }

    /**
     * Writes all bytes of the memory. The engine calls it only if {@link #isWritable()}.
     *
     * @param offset first byte of the source, 0 or more; may be past the end
     * @param data holds the bytes, 1 byte or more; valid only during the call, on any thread
     * @param cancellation tells when the write is no longer needed
     * @throws IOException if a byte cannot be written
     * @throws InterruptedException if the thread was interrupted or the request was cancelled
     */
    default void write(long offset, MemorySegment data, Cancellation cancellation)
            throws IOException, InterruptedException {
        throw new IOException(identity() + " cannot be written");
    }

    /**
     * Makes the written bytes durable; does nothing by default.
     *
     * @throws IOException if that fails
     */
    default void force() throws IOException {
        // Sources that only read have nothing to make durable.
    }

    /**
     * Returns the size of reads and writes that serves the source best. The engine rounds it down to a power of two between
     * 64 KiB and 1 GiB, and where bytes pass through slabs, at most the size of a slab: 4 MiB unless configured.
     *
     * @return bytes, 1 or more
     */
    default long preferredRequestBytes() {
        return DEFAULT_REQUEST_BYTES;
    }

    /**
     * Returns how many calls at the same time serve the source best. The engine gives one request of a program at most as many
     * threads, and at most those that the session has.
     *
     * @return number of calls, 1 or more
     */
    default int preferredConcurrency() {
        return Integer.MAX_VALUE;
    }
}
