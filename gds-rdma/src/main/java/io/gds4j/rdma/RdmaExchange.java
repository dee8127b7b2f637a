package io.gds4j.rdma;

import io.gds4j.Experimental;
import java.io.IOException;

/**
 * Carries a few bytes between two processes that connect their queue pairs. {@link TcpExchange} does so by TCP; a program may use
 * what it has. Both ends call {@link #send} before {@link #receive}.
 *
 * @since 0.1
 */
@Experimental
public interface RdmaExchange {
    /**
     * Sends a message to the peer.
     *
     * @param message at most 4096 bytes
     * @throws IOException if the peer is gone
     */
    void send(byte[] message) throws IOException;

    /**
     * Waits for the peer's next message.
     *
     * @return the message
     * @throws IOException if the peer is gone, or sends nothing in a time that the exchange limits
     */
    byte[] receive() throws IOException;
}
