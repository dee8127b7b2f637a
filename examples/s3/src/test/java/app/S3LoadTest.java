package app;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.gds4j.CuFileDriver;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.remote.S3Files;
import io.gds4j.remote.S3Options;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import org.gaul.s3proxy.BlobStores;
import org.gaul.s3proxy.S3Proxy;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A test of code that loads from S3: s3proxy serves objects from memory in this JVM, and no network is needed. */
class S3LoadTest {
    @TempDir
    Path folder;

    @Test
    void checkpointComesFromTheBucket() throws Exception {
        var store = BlobStores.create("transient", new Properties());
        store.createContainer("models");
        var settings = new Properties();
        settings.putAll(Map.of("s3proxy.endpoint", "http://127.0.0.1:0", "s3proxy.authorization", "aws-v4",
                "s3proxy.identity", "key", "s3proxy.credential", "secret"));
        var server = S3Proxy.Builder.fromProperties(settings).blobStore(store).build();
        server.start();
        try (CuFileDriver driver = CuFileDriver.open()) {
            var options = S3Options.fromEnvironment(Map.of("AWS_ENDPOINT_URL", "http://127.0.0.1:" + server.getPort(),
                    "AWS_ACCESS_KEY_ID", "key", "AWS_SECRET_ACCESS_KEY", "secret"));
            Path local = folder.resolve("model.safetensors");
            Checkpoint.save(local, Map.of("weight", new float[]{1, 2, 3}));
            Path remote = S3Files.path(URI.create("s3://models/model.safetensors"), options);
            S3Files.upload(local, remote);
            try (LoadedTensors tensors = Checkpoint.load(remote, driver)) {
                assertArrayEquals(new float[]{1, 2, 3}, tensors.get("weight").toFloats());
            }
        } finally {
            server.stop();
        }
    }
}
