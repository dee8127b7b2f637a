package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.internal.lifetime.Undo;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;

/**
 * An exchange over a TCP connection. It has no security: neither is the peer known nor can nobody else read the keys of memory that
 * pass. Use it in a network that you trust. Not thread-safe.
 *
 * @since 0.1
 */
@Experimental
public final class TcpExchange implements RdmaExchange, AutoCloseable {
    /** Most bytes of a message. */
    public static final int MAX_BYTES = 4096;

    private final Socket socket;
    private final DataInputStream in;
    private final DataOutputStream out;

    private TcpExchange(Socket socket, Duration timeout) throws IOException {
        this.socket = socket;
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(milliseconds(timeout));
        in = new DataInputStream(socket.getInputStream());
        out = new DataOutputStream(socket.getOutputStream());
    }

    /**
     * Connects to a process that listens.
     *
     * @param peer where it listens
     * @param timeout the longest wait, for the connection and for each message; at least a millisecond
     * @return the exchange, to be closed
     * @throws IOException if the peer does not take the connection
     */
    public static TcpExchange connect(InetSocketAddress peer, Duration timeout) throws IOException {
        Socket socket = new Socket();
        return Undo.ifFails(socket::close, () -> {
            socket.connect(peer, milliseconds(timeout));
            return new TcpExchange(socket, timeout);
        });
    }

    /**
     * Waits for a connection.
     *
     * @param listener a listening socket, which stays open
     * @param timeout the longest wait, for the connection and for each message; at least a millisecond
     * @return the exchange, to be closed
     * @throws IOException if none comes
     */
    public static TcpExchange accept(ServerSocket listener, Duration timeout) throws IOException {
        listener.setSoTimeout(milliseconds(timeout));
        Socket socket = listener.accept();
        return Undo.ifFails(socket::close, () -> new TcpExchange(socket, timeout));
    }

    /** Zero would wait for ever. */
    private static int milliseconds(Duration timeout) {
        return Math.clamp(timeout.toMillis(), 1, Integer.MAX_VALUE);
    }

    @Override
    public void send(byte[] message) throws IOException {
        if (message.length > MAX_BYTES) {
            throw new IOException("a message of %s bytes, at most %s".formatted(message.length, MAX_BYTES));
        }
        out.writeInt(message.length);
        out.write(message);
        out.flush();
    }

    @Override
    public byte[] receive() throws IOException {
        int length = in.readInt();
        if (length < 0 || length > MAX_BYTES) {
            throw new IOException("the peer announces a message of %s bytes, at most %s".formatted(length, MAX_BYTES));
        }
        byte[] message = new byte[length];
        in.readFully(message);
        return message;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
