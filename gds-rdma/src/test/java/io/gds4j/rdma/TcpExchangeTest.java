package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An exchange with a peer that is slow, silent, gone or hostile. */
class TcpExchangeTest {
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final Duration LONG = Duration.ofSeconds(20);
    /** Of three bytes. */
    private static final byte[] MESSAGE = {0, 0, 0, 3, 7, 8, 9};

    private ServerSocket listener;
    private Socket peer;
    private TcpExchange exchange;

    @BeforeEach
    void listen() throws IOException {
        listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
    }

    @AfterEach
    void close() throws IOException {
        listener.close();
        if (exchange != null) {
            exchange.close();
            peer.close();
        }
    }

    private OutputStream connect(Duration timeout) throws IOException {
        exchange = TcpExchange.connect(
                new InetSocketAddress(listener.getInetAddress(), listener.getLocalPort()), timeout);
        peer = listener.accept();
        peer.setTcpNoDelay(true);
        return peer.getOutputStream();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 3, 4, 5, 6})
    void peerThatClosesWithinAMessageIsSaidToHave(int bytes) throws IOException {
        connect(LONG).write(MESSAGE, 0, bytes);
        peer.close();
        assertThatThrownBy(exchange::receive).isInstanceOf(EOFException.class)
                .hasMessage("the peer closed the connection");
    }

    @ParameterizedTest
    @ValueSource(ints = {4097, Integer.MAX_VALUE, -1, Integer.MIN_VALUE})
    void lengthThatNoMessageHasIsRefused(int length) throws IOException {
        connect(LONG).write(new byte[]{
                (byte) (length >> 24), (byte) (length >> 16), (byte) (length >> 8), (byte) length});
        assertThatThrownBy(exchange::receive).isInstanceOf(IOException.class).hasMessageContaining("" + length);
    }

    @Test
    void timeLimitIsThatOfTheWholeMessage() throws Exception {
        OutputStream out = connect(SHORT);
        FutureTask<Boolean> drips = new FutureTask<>(() -> {
            out.write(new byte[]{0, 0, 16, 0});
            // Ends when the exchange closes the connection; each byte comes in time.
            peer.setSoTimeout(100);
            InputStream in = peer.getInputStream();
            for (int i = 0; i < 4000; i++) {
                out.write(1);
                try {
                    if (in.read() < 0) {
                        return true;
                    }
                } catch (SocketTimeoutException e) {
                    // the pause between two bytes
                }
            }
            return false;
        });
        Thread.ofPlatform().daemon().start(drips);
        FutureTask<byte[]> message = new FutureTask<>(exchange::receive);
        Thread.ofPlatform().daemon().start(message);
        assertThatThrownBy(() -> message.get(10, TimeUnit.SECONDS)).hasCauseInstanceOf(SocketTimeoutException.class);
        exchange.close();
    }

    @Test
    void peerThatReadsNothingEndsASend() throws Exception {
        connect(SHORT);
        FutureTask<Boolean> sent = new FutureTask<>(() -> {
            while (true) {
                exchange.send(new byte[TcpExchange.MAX_BYTES]);
            }
        });
        Thread.ofPlatform().daemon().start(sent);
        assertThatThrownBy(() -> sent.get(20, TimeUnit.SECONDS)).hasCauseInstanceOf(SocketTimeoutException.class)
                .hasMessageContaining("the peer takes no whole message in 300 ms");
    }

    @Test
    void messageIsWaitedForAgainIfNothingOfItCame() throws IOException {
        OutputStream out = connect(SHORT);
        assertThatThrownBy(exchange::receive).isInstanceOf(SocketTimeoutException.class);
        out.write(MESSAGE);
        byte[] message = null;
        while (message == null) {
            try {
                message = exchange.receive();
            } catch (SocketTimeoutException e) {
                // its bytes are on their way
            }
        }
        assertThat(message).containsExactly(7, 8, 9);
    }

    /** Read from its second byte, the message of 16 bytes would be one of 4096. */
    @Test
    void restOfALateMessageIsNotTakenForTheNext() throws IOException {
        OutputStream out = connect(SHORT);
        out.write(0);
        assertThatThrownBy(exchange::receive).isInstanceOf(SocketTimeoutException.class);
        byte[] rest = new byte[5000];
        rest[2] = 16;
        out.write(rest);
        assertThatThrownBy(exchange::receive).isInstanceOf(IOException.class);
    }

    @Test
    void timeLimitsOfAnyLengthAreTaken() throws IOException {
        connect(ChronoUnit.FOREVER.getDuration()).write(MESSAGE);
        assertThat(exchange.receive()).containsExactly(7, 8, 9);
        exchange.send(new byte[0]);
        assertThat(peer.getInputStream().readNBytes(4)).containsOnly(0);
        assertThatThrownBy(() -> TcpExchange.accept(listener, Duration.ofSeconds(Long.MIN_VALUE)))
                .isInstanceOf(SocketTimeoutException.class);
    }
}
