package io.gds4j.remote;

import io.gds4j.remote.contract.ObjectStoreContract;
import io.gds4j.remote.contract.StoreUnderTest;
import io.gds4j.source.SourcePath;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The contract of object stores, kept over S3. */
class S3ContractTest extends ObjectStoreContract {
    static final String TOKEN = "token-hush";

    @Override
    protected StoreUnderTest newStore() {
        return new Store(new S3Server());
    }

    private record Store(S3Server server) implements StoreUnderTest {
        @Override
        public Set<Ability> abilities() {
            return Set.of(Ability.values());
        }

        @Override
        public int port() {
            return server.endpoint().getPort();
        }

        @Override
        public void put(String name, byte[] bytes) {
            server.objects.put(name, bytes);
        }

        @Override
        public SourcePath path(String name, int port, Duration stall) {
            S3Options options = server.options().withEndpoint(URI.create("http://localhost:" + port))
                    .withCredentials(new S3Credentials(S3Server.KEYS.accessKey(), S3Server.KEYS.secretKey(),
                            Optional.of(TOKEN), Optional.empty()))
                    .withHttp(HttpContractTest.options(stall));
            return S3Files.path(URI.create("s3://models/" + ObjectName.escaped(name)), options);
        }

        @Override
        public List<String> secrets() {
            return List.of(S3Server.KEYS.secretKey(), S3Server.KEYS.accessKey(), TOKEN);
        }

        @Override
        public List<String> leftovers() {
            return List.copyOf(server.uploads.keySet());
        }

        @Override
        public void close() {
            server.close();
        }
    }
}
