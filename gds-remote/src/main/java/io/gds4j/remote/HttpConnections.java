package io.gds4j.remote;

import java.net.http.HttpClient;
import java.util.Optional;
import java.util.concurrent.Semaphore;

/**
 * Connections that sources share. HTTP/1.1, because HTTP/2 would send all ranges through one connection.
 *
 * @param client sends requests; its connections are kept for the next ones
 * @param free requests that may begin now
 * @param options settings of all requests
 * @param cache keeps what was read
 */
record HttpConnections(HttpClient client, Semaphore free, HttpOptions options, Optional<RemoteCache> cache) {
    static HttpConnections of(HttpOptions options) {
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(options.connectTimeout());
        options.proxy().ifPresent(builder::proxy);
        options.tls().ifPresent(builder::sslContext);
        return new HttpConnections(builder.build(), new Semaphore(options.connections()), options, Optional.empty());
    }

    HttpConnections over(RemoteCache kept) {
        return new HttpConnections(client, free, options, Optional.of(kept));
    }
}
