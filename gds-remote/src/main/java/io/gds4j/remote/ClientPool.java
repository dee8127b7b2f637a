package io.gds4j.remote;

import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * The clients of a program whose options and credentials are equal, whatever servers they talk to. There are as many as were used at the same
 * time; each ends its threads and connections some seconds after its last request, and keeps its pool until then. Thread-safe.
 */
final class ClientPool {
    /** Largest number of clients of the JDK. On two busy processors 16 read 10 % more than two. */
    private static final int MAX_OF_JDK = 16;

    /** What is in use: options and credentials of a program that has ended must not stay. */
    private static final Set<ClientPool> POOLS = Collections.newSetFromMap(new WeakHashMap<>());

    private final Key key;
    private final List<SharedClient> ofJdk;
    private final AtomicInteger made = new AtomicInteger();

    /** The last one that was used is first: its connection is open. */
    private final Deque<Client> idle = new ConcurrentLinkedDeque<>();

    private record Key(HttpOptions options, Object credentials, boolean isNative) {
    }

    private ClientPool(Key key) {
        this.key = key;
        ofJdk = Stream.generate(() -> new SharedClient(this))
                .limit(Math.min(ConnectionCount.first(key.options), MAX_OF_JDK)).toList();
    }

    /** Returns the pool of requests with these options and credentials. */
    static ClientPool of(HttpOptions options, Object credentials) {
        Key key = new Key(options, credentials, NativeClient.isUsable(options));
        synchronized (POOLS) {
            ClientPool pool = POOLS.stream().filter(known -> known.key.equals(key)).findAny()
                    .orElseGet(() -> new ClientPool(key));
            POOLS.add(pool);
            return pool;
        }
    }

    HttpOptions options() {
        return key.options;
    }

    /** Takes a client for one request at a time. */
    Client take() {
        return Optional.ofNullable(idle.pollFirst()).orElseGet(() -> {
            SharedClient shared = ofJdk.get(made.getAndIncrement() % ofJdk.size());
            return NativeClient.of(this, shared).orElse(shared);
        });
    }

    void give(Client client) {
        idle.addFirst(client);
    }
}
