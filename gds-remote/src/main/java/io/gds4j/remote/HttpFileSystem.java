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
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The objects of one server or bucket. Opens each object once, so that its headers and its data are of the same version. Thread-safe. */
final class HttpFileSystem extends FileSystem {
    private final ObjectStore store;
    private final HttpProvider provider = new HttpProvider(this);
    private final Map<URI, RangeSource> opened = new ConcurrentHashMap<>();
    private final Map<String, List<Path>> listed = new ConcurrentHashMap<>();

    HttpFileSystem(ObjectStore store) {
        this.store = store;
    }

    HttpPath path(URI uri) {
        String path = uri.getRawPath() == null ? "" : uri.getRawPath();
        boolean folder = path.endsWith("/") && path.length() > 1;
        String query = uri.getRawQuery() == null ? "" : "?" + uri.getRawQuery();
        return new HttpPath(this, true, names(path), (folder ? "/" : "") + query);
    }

    /** Splits a path at its slashes. One slash at each end is no name, but two in the middle have an empty name between them. */
    private static List<String> names(String path) {
        String inner = path.startsWith("/") ? path.substring(1) : path;
        inner = inner.endsWith("/") ? inner.substring(0, inner.length() - 1) : inner;
        return inner.isEmpty() && path.length() < 2 ? List.of() : List.of(inner.split("/", -1));
    }

    ObjectStore store() {
        return store;
    }

    /** Returns what is directly below a folder; empty if it is none. */
    List<Path> list(HttpPath folder) {
        return listed.computeIfAbsent(
                String.join("/", folder.names()),
                names -> store.list(folder.names()).stream().map(name -> entry(folder.names(), name)).toList());
    }

    private Path entry(List<String> folder, String name) {
        List<String> names = new ArrayList<>(folder);
        boolean isFolder = name.endsWith("/");
        names.add(isFolder ? name.substring(0, name.length() - 1) : name);
        return new HttpPath(this, true, names, isFolder ? "/" : "");
    }

    /**
     * Returns the source of a path.
     *
     * @throws NoSuchFileException if there is no such object
     */
    RangeSource source(HttpPath path) throws IOException {
        URI request = store.request(path.toAbsolutePath().toUri());
        RangeSource known = opened.get(request);
        if (known != null) {
            return known;
        }
        try {
            RangeSource source = store.open(request);
            if (source instanceof FileContent) {
                return source; // a thread that is interrupted closes the channel of its file
            }
            RangeSource earlier = opened.putIfAbsent(request, source);
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

    /** Forgets an object that was replaced, and what was known of the folders above it. */
    void forget(HttpPath path) {
        opened.remove(store.request(path.toAbsolutePath().toUri()));
        listed.clear();
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
        return List.of(new HttpPath(this, true, List.of(), ""));
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
        return new HttpPath(this, text.startsWith("/"), names(store.escaped(text)), "");
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
