package io.gds4j.remote;

import io.gds4j.remote.contract.ObjectStoreContract;
import io.gds4j.remote.contract.StoreUnderTest;
import io.gds4j.source.SourcePath;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** The contract of object stores, kept over HTTP. */
class HttpContractTest extends ObjectStoreContract {
    private static final String HUSH = "hush-of-http";

    /** Returns what the contract wants of requests. */
    static HttpOptions options(Duration stall) {
        return HttpOptions.DEFAULTS.withRequests(64 << 10, 8).withPatience(stall, 3, Duration.ofMillis(1));
    }

    @Override
    protected StoreUnderTest newStore() {
        return new Store(new RangeServer());
    }

    private record Store(RangeServer server) implements StoreUnderTest {
        @Override
        public Set<Ability> abilities() {
            return Set.of();
        }

        @Override
        public int port() {
            return server.uri("").getPort();
        }

        @Override
        public void put(String name, byte[] bytes) {
            server.etag = S3Server.tag(bytes);
            server.put("/" + name, bytes);
        }

        @Override
        public SourcePath path(String name, int port, Duration stall) {
            URI uri = URI.create("http://user:%s@127.0.0.1:%s/%s?key=%s".formatted(
                    HUSH, port, ObjectName.escaped(name), HUSH));
            return HttpFiles.path(uri, options(stall).withHeader("X-Key", HUSH));
        }

        @Override
        public List<String> secrets() {
            return List.of(HUSH);
        }

        @Override
        public void close() {
            server.close();
        }
    }
}
