package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.net.URI;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The files of a revision. It is the commit that the first use found, whatever the revision becomes. Thread-safe. */
final class HubStore implements ObjectStore {
    /** Longest file that may come without ranges: files outside the store have up to 10 MB, and come from the hub itself. */
    private static final long SMALL = 16 << 20;

    private final HubNames names;
    private final HubOptions options;
    private final HubCache cache;
    private final HttpConnections connections;
    private @Nullable HubRevision pinned;

    HubStore(HubNames names, HubOptions options) {
        this.names = names;
        this.options = options;
        cache = new HubCache(options.cache().resolve(names.folder()));
        HttpOptions http = options.http().sequential() > 0 ? options.http() : options.http().withSequential(SMALL);
        connections = HttpConnections.of(options.endpoint(), http, options.signer(), options.signer());
    }

    private synchronized HubRevision pinned() {
        HubRevision known = pinned;
        if (known == null) {
            known = options.isOffline() ? offline() : new HubListing(names, connections).get();
            pinned = known;
        }
        return known;
    }

    private HubRevision offline() {
        try {
            return cache.find(names.revision());
        } catch (IOException e) {
            throw offline(uri(""), "revision " + names.revision(), e);
        }
    }

    private CuFileException offline(URI uri, String what, IOException cause) {
        return S3Requests.failure("HubFiles", uri, Errno.ENOENT,
                "the cache %s has no such %s, and HF_HUB_OFFLINE forbids to ask the hub".formatted(
                        cache.repository(), what),
                cause);
    }

    @Override
    public URI uri(String rest) {
        return URI.create(names.root() + "/" + rest);
    }

    @Override
    public String escaped(String text) {
        return ObjectName.escaped(text);
    }

    @Override
    public URI request(URI uri) {
        return names.file(pinned().commit(), names.name(uri));
    }

    @Override
    public HttpConnections connections() {
        return connections;
    }

    @Override
    public RangeSource open(URI request) {
        HubRevision revision = pinned();
        int prefix = names.file(revision.commit(), "").toString().length();
        String name = ObjectName.unescaped(request.toString().substring(prefix)).orElseThrow();
        if (!revision.files().contains(name)) {
            throw S3Requests.failure("HubFiles", uri(ObjectName.escaped(name)), Errno.ENOENT,
                    "the revision %s has no such file".formatted(revision.commit()), null);
        }
        try {
            return cache.open(revision.commit(), name);
        } catch (IOException e) {
            if (options.isOffline()) {
                throw offline(uri(ObjectName.escaped(name)), "file", e);
            }
            return ObjectStore.super.open(request);
        }
    }

    @Override
    public List<String> list(List<String> folder) {
        String prefix = folder.isEmpty() ? ""
                : ObjectName.unescaped(String.join("/", folder)).orElse(String.join("/", folder)) + "/";
        Set<String> below = new LinkedHashSet<>();
        for (String file : pinned().files().tailSet(prefix)) {
            if (!file.startsWith(prefix)) {
                break;
            }
            String rest = file.substring(prefix.length());
            int slash = rest.indexOf('/');
            below.add(ObjectName.escaped(slash < 0 ? rest : rest.substring(0, slash + 1)));
        }
        return List.copyOf(below);
    }
}
