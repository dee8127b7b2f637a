package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import io.gds4j.source.Cancellation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * How many connections a long read uses. The server answers in rounds: when each connection waits for its answer, or all the rest of the
 * object is asked for. The test's clock says how long a round takes.
 */
class ConnectionCountTest {
    private static final int HEAD = 64 << 10;
    private static final int REQUEST = 256 << 10;
    private static final int REQUESTS = 144;
    private static final byte[] BYTES = RangeServer.random(HEAD + REQUESTS * REQUEST);

    private final RangeServer server = new RangeServer();
    private final URI uri = server.put("/object", BYTES);
    private final AtomicLong clock = new AtomicLong();
    private final Set<Object> connected = ConcurrentHashMap.newKeySet();
    private final Object monitor = new Object();
    private int waiting;
    private int left;
    private int round;
    private int most;

    /** Nanoseconds of a round by a number of connections. */
    @FunctionalInterface
    private interface Speed {
        long nanos(int connections);
    }

    @AfterEach
    void stop() {
        server.close();
    }

    private HttpConnections connections(int number) {
        return new HttpConnections(HttpOptions.DEFAULTS.withRequests(HEAD, number)
                .withPatience(Duration.ofSeconds(20), 20, Duration.ofMillis(1)), Signer.NONE, clock::get);
    }

    /** Reads the object, which its server serves in rounds. */
    private void read(HttpConnections connections, Speed speed) throws InterruptedException {
        HttpSource source = HttpSource.open(uri, connections);
        left = REQUESTS;
        server.on((exchange, request) -> {
            await(exchange, connections, speed);
            return false;
        });
        byte[] into = new byte[BYTES.length];
        source.read(0, MemorySegment.ofArray(into), Cancellation.NEVER);
        server.on((exchange, request) -> false);
        assertThat(into).isEqualTo(BYTES);
    }

    private void await(HttpExchange exchange, HttpConnections connections, Speed speed) throws IOException {
        synchronized (monitor) {
            connected.add(exchange.getRemoteAddress());
            int mine = round;
            waiting++;
            most = Math.max(most, waiting);
            while (mine == round) {
                int number = connections.count();
                if (waiting >= Math.min(number, left)) {
                    clock.addAndGet(speed.nanos(number));
                    left -= waiting;
                    waiting = 0;
                    round++;
                    monitor.notifyAll();
                } else {
                    try {
                        monitor.wait(5); // the number of connections may fall meanwhile
                    } catch (InterruptedException e) {
                        throw new IOException(e);
                    }
                }
            }
        }
    }

    @Test
    void connectionsThatAServerLimitsGrowToTheBound() throws Exception {
        HttpConnections connections = connections(0);
        read(connections, number -> 1000);
        assertThat(connections.count()).isEqualTo(64);
        read(connections, number -> 1000);
        read(connections, number -> 1000);
        assertThat(connections.count()).isEqualTo(64);
        assertThat(most).isEqualTo(64);
        assertThat(connected).hasSize(64);
    }

    @Test
    void connectionsOfASaturatedServerStay() throws Exception {
        HttpConnections connections = connections(0);
        read(connections, number -> 1000L * number);
        assertThat(connections.count()).isEqualTo(16);
        most = 0;
        read(connections, number -> 1000L * number);
        read(connections, number -> 1000L * number);
        assertThat(connections.count()).isEqualTo(16);
        assertThat(most).isEqualTo(16);
    }

    @Test
    void refusalEndsTheTrialOfMore() throws Exception {
        HttpConnections connections = connections(0);
        HttpSource source = HttpSource.open(uri, connections);
        left = REQUESTS;
        server.on((exchange, request) -> {
            if (connections.count() > 16) {
                exchange.sendResponseHeaders(503, -1);
                return true;
            }
            await(exchange, connections, number -> 1000);
            return false;
        });
        byte[] into = new byte[BYTES.length];
        source.read(0, MemorySegment.ofArray(into), Cancellation.NEVER);
        assertThat(into).isEqualTo(BYTES);
        assertThat(connections.count()).isEqualTo(16);
    }

    @Test
    void numberOfTheProgramStays() throws Exception {
        HttpConnections connections = connections(16);
        read(connections, number -> 1000);
        read(connections, number -> 1000);
        assertThat(connections.count()).isEqualTo(16);
        assertThat(connected).hasSize(16);
    }
}
