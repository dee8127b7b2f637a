package io.gds4j.remote;

import io.gds4j.source.RangeSource;
import java.net.URI;
import java.net.http.HttpClient;
import java.util.concurrent.Semaphore;

/**
 * Connections that sources share. HTTP/1.1, because HTTP/2 would send all ranges through one connection.
 *
 * @param client sends requests; its connections are kept for the next ones
 * @param free requests that may begin now
 * @param options settings of all requests
 * @param signer signs the requests to the server of the URL
 */
record HttpConnections(HttpClient client, Semaphore free, HttpOptions options, Signer signer) {
    static HttpConnections of(HttpOptions options, Signer signer) {
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(options.connectTimeout());
        options.proxy().ifPresent(builder::proxy);
        options.tls().ifPresent(builder::sslContext);
        return new HttpConnections(builder.build(), new Semaphore(options.connections()), options, signer);
    }

    /** Opens an object, behind the cache if there is one. */
    RangeSource open(URI uri) {
        HttpSource source = HttpSource.open(uri, this);
        return options.cache().isEmpty() || !source.version().canBeDemanded() ? source
                : new CachedSource(source, options.cache().get());
    }
}
