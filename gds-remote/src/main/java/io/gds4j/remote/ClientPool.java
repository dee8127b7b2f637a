package io.gds4j.remote;

import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * The clients of a program whose options and credentials are equal, whatever servers they talk to. There are as many as were used at the same
 * time; each ends its threads and connections some seconds after its last request. Thread-safe.
 */
final class ClientPool {
    /** Largest number of clients of the JDK. On two busy processors 16 read 10 % more than two. */
    private static final int MAX_OF_JDK = 16;

    /** Programs that go on making other options keep no more pools; each has some hundred bytes if nothing uses it. */
    private static final int MAX_POOLS = 64;
    private static final Map<Key, ClientPool> POOLS = new LinkedHashMap<>(MAX_POOLS, 1, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, ClientPool> eldest) {
            return size() > MAX_POOLS;
        }
    };

    private final HttpOptions options;
    private final List<SharedClient> ofJdk;
    private final AtomicInteger made = new AtomicInteger();

    /** The last one that was used is first: its connection is open. */
    private final Deque<Client> idle = new ConcurrentLinkedDeque<>();

    private record Key(HttpOptions options, Object credentials, boolean isNative) {
    }

    private ClientPool(HttpOptions options) {
        this.options = options;
        ofJdk = Stream.generate(() -> new SharedClient(options))
                .limit(Math.min(ConnectionCount.first(options), MAX_OF_JDK)).toList();
    }

    /** Returns the pool of requests with these options and credentials. */
    static ClientPool of(HttpOptions options, Object credentials) {
        synchronized (POOLS) {
            return POOLS.computeIfAbsent(
                    new Key(options, credentials, NativeClient.isUsable(options)), key -> new ClientPool(options));
        }
    }

    /** Takes a client for one request at a time. */
    Client take() {
        return Optional.ofNullable(idle.pollFirst()).orElseGet(() -> {
            SharedClient shared = ofJdk.get(made.getAndIncrement() % ofJdk.size());
            return NativeClient.of(options, shared).orElse(shared);
        });
    }

    void give(Client client) {
        idle.addFirst(client);
    }
}
