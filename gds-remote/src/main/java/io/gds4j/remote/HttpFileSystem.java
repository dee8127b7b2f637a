package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.net.URI;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.WatchService;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.nio.file.spi.FileSystemProvider;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The objects of one server or bucket. Opens each object once, so that its headers and its data are of the same version. Thread-safe. */
final class HttpFileSystem extends FileSystem {
    private final ObjectStore store;
    private final HttpProvider provider = new HttpProvider(this);
    private final Map<URI, RangeSource> opened = new ConcurrentHashMap<>();
    private final Map<List<String>, List<Path>> listed = new ConcurrentHashMap<>();

    HttpFileSystem(ObjectStore store) {
        this.store = store;
    }

    HttpPath path(URI uri) {
        return new HttpPath(this, true, names(uri.getPath()), uri);
    }

    private static List<String> names(@Nullable String path) {
        return path == null ? List.of() : Arrays.stream(path.split("/")).filter(name -> !name.isEmpty()).toList();
    }

    URI uri(List<String> names) {
        return store.uri(names);
    }

    ObjectStore store() {
        return store;
    }

    /** Returns what is directly below a folder; empty if it is none. */
    List<Path> list(HttpPath folder) {
        return listed.computeIfAbsent(
                folder.names(), names -> store.list(names).stream().map(name -> entry(names, name)).toList());
    }

    private Path entry(List<String> folder, String name) {
        List<String> names = new ArrayList<>(folder);
        boolean isFolder = name.endsWith("/");
        names.add(isFolder ? name.substring(0, name.length() - 1) : name);
        return new HttpPath(this, true, names, isFolder ? URI.create(store.uri(names) + "/") : null);
    }

    /**
     * Returns the source of a path.
     *
     * @throws NoSuchFileException if there is no such object
     */
    RangeSource source(HttpPath path) throws IOException {
        URI uri = path.toAbsolutePath().toUri();
        RangeSource known = opened.get(uri);
        if (known != null) {
            return known;
        }
        try {
            RangeSource source = store.open(uri);
            RangeSource earlier = opened.putIfAbsent(uri, source);
            return earlier == null ? source : earlier;
        } catch (CuFileException e) {
            if (e.isNotFound()) {
                NoSuchFileException missing = new NoSuchFileException(path.toString());
                missing.initCause(e);
                throw missing;
            }
            throw e;
        }
    }

    @Override
    public FileSystemProvider provider() {
        return provider;
    }

    /** Has nothing to close: connections end when they are idle. */
    @Override
    public void close() {
        throw new UnsupportedOperationException("has nothing to close");
    }

    @Override
    public boolean isOpen() {
        return true;
    }

    @Override
    public boolean isReadOnly() {
        return true;
    }

    @Override
    public String getSeparator() {
        return "/";
    }

    @Override
    public Iterable<Path> getRootDirectories() {
        return List.of(new HttpPath(this, true, List.of(), null));
    }

    @Override
    public Iterable<FileStore> getFileStores() {
        return List.of();
    }

    @Override
    public Set<String> supportedFileAttributeViews() {
        return Set.of("basic");
    }

    @Override
    public Path getPath(String first, String... more) {
        String text = more.length == 0 ? first : first + "/" + String.join("/", more);
        return new HttpPath(this, text.startsWith("/"), names(text), null);
    }

    @Override
    public PathMatcher getPathMatcher(String syntaxAndPattern) {
        PathMatcher matcher = FileSystems.getDefault().getPathMatcher(syntaxAndPattern);
        return path -> matcher.matches(Path.of(path.toString()));
    }

    @Override
    public UserPrincipalLookupService getUserPrincipalLookupService() {
        throw new UnsupportedOperationException("objects have no owners");
    }

    @Override
    public WatchService newWatchService() {
        throw new UnsupportedOperationException("objects cannot be watched");
    }
}
