package io.gds4j.remote;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.remote.contract.ObjectStoreContract;
import io.gds4j.remote.contract.StoreUnderTest;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/**
 * The contract of object stores, kept over s3proxy, an S3 server in this JVM that keeps objects in memory. Called by reflection,
 * because the build has its classes only with the profile s3proxy.
 */
@Tag("slow")
class S3ProxyStoreTest extends ObjectStoreContract {
    private static final String PACKAGE = "org.gaul.s3proxy.";
    private static final S3Credentials KEYS = S3Credentials.of("AKIDTEST", "hushhush");
    private static final int PART = 5 << 20; // as S3 has it

    private static Object objects;
    private static Object server;

    @BeforeAll
    static void begin() throws ReflectiveOperationException {
        Class<?> stores = onlyWithTheServer();
        objects = call(stores, "create", "transient", new Properties());
        Properties settings = new Properties();
        settings.putAll(Map.of("s3proxy.endpoint", "http://127.0.0.1:0", "s3proxy.authorization", "aws-v4",
                "s3proxy.identity", KEYS.accessKey(), "s3proxy.credential", KEYS.secretKey()));
        Object builder = call(Class.forName(PACKAGE + "S3Proxy$Builder"), "fromProperties", settings);
        server = call(call(builder, "blobStore", objects), "build");
        call(server, "start");
    }

    private static Class<?> onlyWithTheServer() {
        try {
            return Class.forName(PACKAGE + "BlobStores");
        } catch (ClassNotFoundException e) {
            assumeTrue(false, "no s3proxy here; the profile s3proxy adds it");
            throw new AssertionError(e);
        }
    }

    /** Calls the public method that has this name and as many parameters as there are arguments. A class has static ones. */
    private static Object call(Object target, String name, Object... arguments) throws ReflectiveOperationException {
        Class<?> type = target instanceof Class<?> named ? named : target.getClass();
        return Arrays.stream(type.getMethods())
                .filter(each -> each.getName().equals(name) && each.getParameterCount() == arguments.length)
                .findFirst().orElseThrow(() -> new AssertionError("no %s in %s".formatted(name, type)))
                .invoke(target, arguments);
    }

    @AfterAll
    static void end() throws ReflectiveOperationException {
        if (server != null) {
            call(server, "stop");
            call(objects, "close");
        }
    }

    @Override
    protected StoreUnderTest newStore() throws Exception {
        return SignedStore.create((int) call(server, "getPort"), KEYS, PART);
    }
}
