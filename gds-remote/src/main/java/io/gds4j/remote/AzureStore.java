package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** The blobs of a container. */
record AzureStore(String account, String container, AzureOptions options, HttpConnections connections)
        implements
            ObjectStore {

    static AzureStore of(String account, String container, AzureOptions options) {
        String known = options.signer().account();
        if (!known.isEmpty() && !known.equals(account)) {
            throw CuFileException.invalid("AzureFiles.path",
                    "the credentials are of the storage account %s, not of %s".formatted(known, account));
        }
        return new AzureStore(account, container, options, HttpConnections.of(
                server(account, options), options.http(), options.signer(), List.of(options.signer(), options.sas())));
    }

    private static URI server(String account, AzureOptions options) {
        return options.endpoint().orElseGet(() -> URI.create("https://%s.blob.core.windows.net".formatted(account)));
    }

    /** Returns the URL of a blob, or of the container if the name is empty. */
    URI url(String name, Map<String, String> query) {
        String parameters = S3Names.query(query);
        String sas = options.sas().isEmpty() ? "" : (parameters.isEmpty() ? "?" : "&") + options.sas();
        return URI.create("%s/%s%s%s%s".formatted(server(account, options), container,
                name.isEmpty() ? "" : "/" + ObjectName.escaped(name), parameters, sas));
    }

    private static String name(URI uri) {
        String path = uri.getRawPath().substring(1);
        return ObjectName.unescaped(path.substring(path.indexOf('/') + 1)).orElseThrow();
    }

    @Override
    public URI uri(String rest) {
        return URI.create("az://%s/%s/%s".formatted(account, container, rest));
    }

    @Override
    public String escaped(String text) {
        return ObjectName.escaped(text);
    }

    @Override
    public URI request(URI uri) {
        return url(name(uri), Map.of());
    }

    @Override
    public List<String> list(List<String> folder) {
        String prefix = ObjectName.prefix(folder);
        return new S3Listing(prefix, marker -> {
            Map<String, String> query = new HashMap<>(Map.of(
                    "restype", "container", "comp", "list", "delimiter", "/", "prefix", prefix));
            if (!marker.isEmpty()) {
                query.put("marker", marker);
            }
            return url("", query);
        }, new S3Requests(connections)).names();
    }

    @Override
    public Optional<UploadTarget> target(URI uri) {
        return Optional.of(new AzureTarget(
                this, name(uri), new S3Requests(connections), UUID.randomUUID().toString()));
    }
}
