package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import io.gds4j.source.Cancellation;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * How many connections a long read uses. The server answers in rounds: when each connection waits for its answer, or all the rest of the
 * object is asked for. The test's clock says how long a round takes.
 */
@Tag("slow")
class ConnectionCountTest {
    private static final int HEAD = 64 << 10;
    private static final int REQUEST = 256 << 10;
    private static final int REQUESTS = 144;
    private static final int SLAB = HEAD;
    private static final int SLABS = 12;
    private static final byte[] BYTES = RangeServer.random(HEAD + REQUESTS * REQUEST);

    private final RangeServer server = new RangeServer();
    private final URI uri = server.put("/object", BYTES);
    private final AtomicLong clock = new AtomicLong();
    private final Set<Object> connected = ConcurrentHashMap.newKeySet();
    private final Object monitor = new Object();

    /** Bytes of each slab of the object that were not answered, and of the slabs that are asked for now. */
    private final Map<Integer, Integer> left = new TreeMap<>();
    private final Map<Integer, Integer> asked = new TreeMap<>();
    private int slab;
    private int waiting;
    private int round;
    private int most;
    private int mostBytes;

    /** Returns the nanoseconds of a round, given the connections that waited for it and their bytes. */
    @FunctionalInterface
    private interface Speed {
        long nanos(int connections, int bytes);
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
    private void read(HttpConnections connections, Speed speed) throws Exception {
        HttpSource source = serve(connections, speed, BYTES.length - HEAD);
        byte[] into = new byte[BYTES.length];
        source.read(0, MemorySegment.ofArray(into), Cancellation.NEVER);
        server.on((exchange, request) -> false);
        assertThat(into).isEqualTo(BYTES);
    }

    private HttpSource serve(HttpConnections connections, Speed speed, int slabBytes) {
        HttpSource source = HttpSource.open(uri, connections);
        slab = slabBytes;
        for (int i = 0; i < (BYTES.length - HEAD) / slab; i++) {
            left.put(i, slab);
        }
        server.on((exchange, request) -> {
            await(exchange, connections, speed);
            return false;
        });
        return source;
    }

    /** Reads the object as threads do that load a GPU: each fills a slab after the other. */
    private void readBySlabs(HttpConnections connections, Speed speed) throws Exception {
        HttpSource source = serve(connections, speed, SLAB);
        byte[] into = new byte[BYTES.length];
        AtomicInteger next = new AtomicInteger(HEAD);
        try (ExecutorService threads = Executors.newFixedThreadPool(SLABS)) {
            List<Future<Boolean>> all = new ArrayList<>();
            for (int i = 0; i < SLABS; i++) {
                all.add(threads.submit(() -> {
                    for (int at = next.getAndAdd(SLAB); at < BYTES.length; at = next.getAndAdd(SLAB)) {
                        source.read(at, MemorySegment.ofArray(into).asSlice(at, SLAB), Cancellation.NEVER);
                    }
                    return true;
                }));
            }
            for (Future<Boolean> each : all) {
                each.get();
            }
        }
        server.on((exchange, request) -> false);
        assertThat(Arrays.equals(into, HEAD, into.length, BYTES, HEAD, BYTES.length)).isTrue();
    }

    private void await(HttpExchange exchange, HttpConnections connections, Speed speed) throws IOException {
        int[] range = RangeServer.range(exchange, BYTES.length);
        synchronized (monitor) {
            connected.add(exchange.getRemoteAddress());
            int mine = round;
            waiting++;
            asked.merge((range[0] - HEAD) / slab, range[1] - range[0] + 1, Integer::sum);
            most = Math.max(most, waiting);
            while (mine == round) {
                if (waiting >= connections.count() || isAllAskedFor()) {
                    int bytes = asked.values().stream().mapToInt(each -> each).sum();
                    mostBytes = Math.max(mostBytes, bytes);
                    clock.addAndGet(speed.nanos(waiting, bytes));
                    asked.forEach((number, some) -> left.computeIfPresent(
                            number, (same, all) -> all.equals(some) ? null : all - some));
                    asked.clear();
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

    /** Returns whether each reader waits for the rest of its slab. */
    private boolean isAllAskedFor() {
        return asked.size() == Math.min(SLABS, left.size()) && left.entrySet().containsAll(asked.entrySet());
    }

    @Test
    void connectionsThatAServerLimitsGrowToTheBound() throws Exception {
        HttpConnections connections = connections(0);
        read(connections, (number, bytes) -> bytes / number);
        assertThat(connections.count()).isEqualTo(64);
        read(connections, (number, bytes) -> bytes / number);
        read(connections, (number, bytes) -> bytes / number);
        assertThat(connections.count()).isEqualTo(64);
        assertThat(most).isEqualTo(64);
        assertThat(connected).hasSize(64);
    }

    @Test
    void connectionsOfASaturatedServerStay() throws Exception {
        HttpConnections connections = connections(0);
        read(connections, (number, bytes) -> bytes);
        assertThat(connections.count()).isEqualTo(16);
        most = 0;
        read(connections, (number, bytes) -> bytes);
        read(connections, (number, bytes) -> bytes);
        assertThat(connections.count()).isEqualTo(16);
        assertThat(most).isEqualTo(16);
    }

    @Test
    void refusalEndsTheTrialOfMore() throws Exception {
        HttpConnections connections = connections(0);
        HttpSource source = serve(connections, (number, bytes) -> bytes / number, BYTES.length - HEAD);
        server.on((exchange, request) -> {
            if (connections.count() > 16) {
                exchange.sendResponseHeaders(503, -1);
                return true;
            }
            await(exchange, connections, (number, bytes) -> bytes / number);
            return false;
        });
        byte[] into = new byte[BYTES.length];
        source.read(0, MemorySegment.ofArray(into), Cancellation.NEVER);
        assertThat(into).isEqualTo(BYTES);
        assertThat(connections.count()).isEqualTo(16);
    }

    /** A program cancels a load, or is interrupted; the server did nothing wrong. */
    @Test
    void readThatIsGivenUpDoesNotEndTheTrial() throws Exception {
        HttpConnections connections = connections(0);
        HttpSource source = serve(connections, (number, bytes) -> bytes / number, BYTES.length - HEAD);
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        server.on((exchange, request) -> {
            asked.countDown();
            try {
                end.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            return false;
        });
        assertThatThrownBy(() -> source.read(0, MemorySegment.ofArray(new byte[BYTES.length]),
                () -> asked.getCount() == 0)).isInstanceOf(InterruptedException.class);
        end.countDown();

        read(connections, (number, bytes) -> bytes / number);
        assertThat(connections.count()).isEqualTo(64);
    }

    @Test
    void slabsAreReadByMoreConnectionsThanThreads() throws Exception {
        HttpConnections connections = connections(0);
        readBySlabs(connections, (number, bytes) -> bytes / number);
        assertThat(connections.count()).isEqualTo(64);
        assertThat(most).isEqualTo(4 * SLABS);
        assertThat(mostBytes).isEqualTo(SLABS * SLAB);
    }

    @Test
    void slabsOfASaturatedServerAreNotDivided() throws Exception {
        HttpConnections connections = connections(0);
        readBySlabs(connections, (number, bytes) -> bytes);
        assertThat(connections.count()).isEqualTo(16);
        most = 0;
        readBySlabs(connections, (number, bytes) -> bytes);
        assertThat(most).isEqualTo(SLABS);
    }

    @Test
    void readsAtTheSameTimeShareConnections() {
        HttpConnections connections = connections(0);
        assertThat(List.of(connections.begin(), connections.begin(), connections.begin())).containsExactly(16, 8, 5);
        connections.end();
        connections.end();
        assertThat(connections.begin()).as("others ended").isEqualTo(8);
    }

    @Test
    void moreReadsThanConnectionsHaveOneEach() {
        HttpConnections connections = connections(2);
        assertThat(List.of(connections.begin(), connections.begin(), connections.begin())).containsExactly(2, 1, 1);
    }

    @Test
    void numberOfTheProgramStays() throws Exception {
        HttpConnections connections = connections(16);
        read(connections, (number, bytes) -> bytes / number);
        read(connections, (number, bytes) -> bytes / number);
        assertThat(connections.count()).isEqualTo(16);
        assertThat(connected).hasSize(16);
    }
}
