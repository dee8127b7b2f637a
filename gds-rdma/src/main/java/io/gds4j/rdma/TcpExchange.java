package io.gds4j.rdma;

import io.gds4j.Experimental;
import io.gds4j.internal.lifetime.Undo;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * An exchange over a TCP connection. It has no security: neither is the peer known nor can nobody else read the keys of memory that
 * pass. Use it in a network that you trust. A message that fails after a part of it closes the exchange. Not thread-safe.
 *
 * @since 0.1
 */
@Experimental
public final class TcpExchange implements RdmaExchange, AutoCloseable {
    /** Most bytes of a message. */
    public static final int MAX_BYTES = 4096;

    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;
    private final Duration timeout;

    private TcpExchange(Socket socket, Duration timeout) throws IOException {
        this.socket = socket;
        this.timeout = timeout;
        socket.setTcpNoDelay(true);
        in = socket.getInputStream();
        out = socket.getOutputStream();
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
            socket.connect(Objects.requireNonNull(peer, "peer"), milliseconds(timeout));
            return new TcpExchange(socket, timeout);
        });
    }

    /**
     * Waits for a connection.
     *
     * @param listener a listening socket, which stays open and keeps this timeout
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
        return Math.clamp(TimeUnit.MILLISECONDS.convert(timeout), 1, Integer.MAX_VALUE);
    }

    @Override
    public void send(byte[] message) throws IOException {
        if (message.length > MAX_BYTES) {
            throw new IOException("a message of %s bytes, at most %s".formatted(message.length, MAX_BYTES));
        }
        byte[] framed = ByteBuffer.allocate(Integer.BYTES + message.length).putInt(message.length).put(message).array();
        // A write to a peer that does not read waits without limit; only closing the socket ends it.
        CompletableFuture<Boolean> sent = new CompletableFuture<>();
        sent.orTimeout(milliseconds(timeout), TimeUnit.MILLISECONDS).exceptionally(late -> {
            closeLate();
            return false;
        });
        try {
            out.write(framed);
        } catch (IOException e) {
            throw sent.isDone() ? late("takes") : e;
        } finally {
            sent.complete(true);
        }
    }

    private void closeLate() {
        try {
            socket.close();
        } catch (IOException e) {
            // The write fails in any case.
        }
    }

    private SocketTimeoutException late(String verb) {
        return new SocketTimeoutException(
                "the peer %s no whole message in %s ms".formatted(verb, milliseconds(timeout)));
    }

    @Override
    public byte[] receive() throws IOException {
        long begun = System.nanoTime();
        byte[] header = new byte[Integer.BYTES];
        read(header, 0, 1, begun);
        // After a part of a message, the rest must not be taken for the next one.
        return Undo.ifFails(socket::close, () -> {
            read(header, 1, Integer.BYTES, begun);
            int length = ByteBuffer.wrap(header).getInt();
            if (length < 0 || length > MAX_BYTES) {
                throw new IOException(
                        "the peer announces a message of %s bytes, at most %s".formatted(length, MAX_BYTES));
            }
            byte[] message = new byte[length];
            read(message, 0, length, begun);
            return message;
        });
    }

    /** Reads bytes from one index to another. All reads of a message share its time: a peer may send it byte by byte. */
    private void read(byte[] bytes, int from, int to, long begun) throws IOException {
        int at = from;
        while (at < to) {
            long left = milliseconds(timeout) - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
            if (left <= 0) {
                throw late("sends");
            }
            socket.setSoTimeout((int) left);
            int count = in.read(bytes, at, to - at);
            if (count < 0) {
                throw new EOFException("the peer closed the connection");
            }
            at += count;
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
