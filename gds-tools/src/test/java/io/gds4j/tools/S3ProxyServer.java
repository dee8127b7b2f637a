package io.gds4j.tools;

import java.lang.reflect.Method;
import java.net.URI;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * s3proxy in this JVM: an S3 server on loopback that keeps objects in memory and checks signatures of version 4. Called by
 * reflection, because the build has its classes only with the profile s3proxy.
 */
final class S3ProxyServer implements AutoCloseable {
    static final String BUCKET = "models";
    static final String SECRET = "hushhush";

    private final Object store;
    private final Object server;

    S3ProxyServer() {
        this(Map.of());
    }

    /** Starts a server with more settings. */
    S3ProxyServer(Map<String, String> more) {
        store = call(type("BlobStores"), "create", "transient", new Properties());
        call(store, "createContainer", BUCKET);
        Properties settings = new Properties();
        settings.putAll(
                Map.of("s3proxy.endpoint", "http://127.0.0.1:0", "s3proxy.authorization", "aws-v4", "s3proxy.identity",
                        "AKIDTEST", "s3proxy.credential", SECRET));
        settings.putAll(more);
        Object builder = call(type("S3Proxy$Builder"), "fromProperties", settings);
        server = call(call(builder, "blobStore", store), "build");
        call(server, "start");
    }

    static boolean isHere() {
        return S3ProxyServer.class.getResource("/org/gaul/s3proxy/S3Proxy.class") != null;
    }

    URI endpoint() {
        return URI.create("http://127.0.0.1:" + call(server, "getPort"));
    }

    /** Environment of a program that uses this server. */
    Map<String, String> environment() {
        return Map.of(
                "AWS_ENDPOINT_URL", endpoint().toString(), "AWS_ACCESS_KEY_ID", "AKIDTEST",
                "AWS_SECRET_ACCESS_KEY", SECRET);
    }

    String tag(String key) {
        return call(call(store, "blobMetadata", BUCKET, key), "eTag").toString();
    }

    List<?> uploads() {
        return (List<?>) call(store, "listMultipartUploads", BUCKET);
    }

    private static Class<?> type(String name) {
        try {
            return Class.forName("org.gaul.s3proxy." + name);
        } catch (ClassNotFoundException e) {
            throw new AssertionError(e);
        }
    }

    /** Calls the public method that takes these arguments; a static one if the target is a class. */
    private static Object call(Object target, String name, Object... arguments) {
        Class<?> type = target instanceof Class<?> named ? named : target.getClass();
        Method method = Arrays.stream(type.getMethods())
                .filter(each -> each.getName().equals(name) && takes(each.getParameterTypes(), arguments))
                .findFirst().orElseThrow(() -> new AssertionError("no %s in %s".formatted(name, type)));
        try {
            return method.invoke(target, arguments);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean takes(Class<?>[] parameters, Object[] arguments) {
        boolean fits = parameters.length == arguments.length;
        for (int i = 0; fits && i < arguments.length; i++) {
            fits = parameters[i].isInstance(arguments[i]);
        }
        return fits;
    }

    @Override
    public void close() {
        call(server, "stop");
        call(store, "close");
    }
}
