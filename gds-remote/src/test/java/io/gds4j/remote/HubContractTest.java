package io.gds4j.remote;

import io.gds4j.remote.contract.ObjectStoreContract;
import io.gds4j.remote.contract.StoreUnderTest;
import io.gds4j.source.SourcePath;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.io.TempDir;

/** The contract of object stores, kept over the hub and the store that it redirects to. */
class HubContractTest extends ObjectStoreContract {
    @TempDir
    Path home;

    @Override
    protected StoreUnderTest newStore() {
        return new Store(new HubServer(), home);
    }

    private record Store(HubServer server, Path home) implements StoreUnderTest {
        @Override
        public Set<Ability> abilities() {
            return Set.of(Ability.LIST);
        }

        @Override
        public int port() {
            return server.store.uri("").getPort();
        }

        @Override
        public void put(String name, byte[] bytes) {
            server.store.etag = S3Server.tag(bytes);
            server.put(HubServer.FIRST, name, bytes);
        }

        @Override
        public SourcePath path(String name, int port, Duration stall) {
            server.storePort = port;
            HubOptions options = HubOptions.fromEnvironment(Map.of("HF_ENDPOINT", server.endpoint().toString(),
                    "HF_TOKEN", HubServer.TOKEN, "HF_HOME", home.toString()))
                    .withHttp(HttpContractTest.options(stall));
            return HubFiles.path(URI.create("hf://org/model/" + ObjectName.escaped(name)), options);
        }

        @Override
        public List<String> secrets() {
            return List.of(HubServer.TOKEN);
        }

        @Override
        public void close() {
            server.close();
        }
    }
}
