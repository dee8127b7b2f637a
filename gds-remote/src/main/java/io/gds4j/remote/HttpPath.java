package io.gds4j.remote;

import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.net.URI;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.ProviderMismatchException;
import java.nio.file.WatchEvent;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The path of an object: names below the root of a server, as its URL writes them. An escaped slash is part of a name, and names may
 * be empty: servers tell such URLs apart. Immutable.
 */
final class HttpPath implements SourcePath {
    private final HttpFileSystem system;
    private final boolean absolute;
    private final List<String> names;
    private final String end;

    /**
     * @param names escaped names
     * @param end what follows the names in the URL: a slash, a query, both or nothing
     */
    HttpPath(HttpFileSystem system, boolean absolute, List<String> names, String end) {
        this.system = system;
        this.absolute = absolute;
        this.names = List.copyOf(names);
        this.end = end;
    }

    private static HttpPath own(Path path) {
        if (path instanceof HttpPath own) {
            return own;
        }
        throw new ProviderMismatchException("not the path of an HTTP object: " + path);
    }

    private List<String> shown() {
        return names.stream().map(ObjectName::name).toList();
    }

    /** Returns what two paths compare: a server may tell spellings of a URL apart, but a name alone is a text. */
    private List<String> compared() {
        return absolute ? names : shown();
    }

    List<String> names() {
        return names;
    }

    /** Returns whether the program or a list wrote it as a folder. */
    boolean isWrittenAsFolder() {
        return names.isEmpty() || end.startsWith("/");
    }

    RangeSource source() throws IOException {
        return system.source(this);
    }

    @Override
    public RangeSource openSource() throws IOException {
        return source();
    }

    @Override
    public Optional<Path> localFile() throws IOException {
        if (!(source() instanceof FileContent file)) {
            return Optional.empty();
        }
        file.channel().close();
        return Optional.of(file.file());
    }

    @Override
    public void create(RangeSource content) throws IOException {
        if (system.store().target(toAbsolutePath().toUri()).isPresent()) {
            S3Files.uploadNew(content, this);
        } else {
            SourcePath.super.create(content);
        }
    }

    @Override
    public HttpFileSystem getFileSystem() {
        return system;
    }

    @Override
    public boolean isAbsolute() {
        return absolute;
    }

    @Override
    public @Nullable Path getRoot() {
        return absolute ? new HttpPath(system, true, List.of(), "") : null;
    }

    @Override
    public @Nullable Path getFileName() {
        return names.isEmpty() ? null : new HttpPath(system, false, List.of(names.getLast()), "");
    }

    @Override
    public @Nullable Path getParent() {
        if (names.size() > 1 || absolute && !names.isEmpty()) {
            return new HttpPath(system, absolute, names.subList(0, names.size() - 1), "");
        }
        return null;
    }

    @Override
    public int getNameCount() {
        return names.size();
    }

    @Override
    public Path getName(int index) {
        return subpath(index, index + 1);
    }

    @Override
    public Path subpath(int begin, int end) {
        if (begin < 0 || end > names.size() || begin >= end) {
            throw new IllegalArgumentException("names %s to %s of %s".formatted(begin, end, names.size()));
        }
        return new HttpPath(system, false, names.subList(begin, end), "");
    }

    @Override
    public boolean startsWith(Path other) {
        return other instanceof HttpPath path && path.system == system && path.absolute == absolute
                && path.names.size() <= names.size()
                && compared().subList(0, path.names.size()).equals(path.compared());
    }

    @Override
    public boolean endsWith(Path other) {
        if (!(other instanceof HttpPath path) || path.system != system || path.absolute) {
            return equals(other);
        }
        int from = names.size() - path.names.size();
        return from >= 0 && shown().subList(from, names.size()).equals(path.shown());
    }

    @Override
    public Path normalize() {
        List<String> kept = new ArrayList<>();
        for (String name : names) {
            if (name.equals("..") && !kept.isEmpty()) {
                kept.removeLast();
            } else if (!name.equals(".") && !(name.equals("..") && absolute)) {
                kept.add(name);
            }
        }
        return kept.equals(names) ? this : new HttpPath(system, absolute, kept, "");
    }

    @Override
    public Path resolve(Path other) {
        HttpPath path = own(other);
        if (path.absolute) {
            return path;
        }
        List<String> all = new ArrayList<>(names);
        all.addAll(path.names);
        return new HttpPath(system, absolute, all, "");
    }

    @Override
    public Path relativize(Path other) {
        HttpPath path = own(other);
        if (!path.startsWith(this)) {
            throw new IllegalArgumentException("%s is not below %s".formatted(other, this));
        }
        return new HttpPath(system, false, path.names.subList(names.size(), path.names.size()), "");
    }

    @Override
    public URI toUri() {
        return system.store().uri(String.join("/", names) + end);
    }

    @Override
    public Path toAbsolutePath() {
        return absolute ? this : new HttpPath(system, true, names, "");
    }

    @Override
    public Path toRealPath(LinkOption... options) throws IOException {
        source();
        return toAbsolutePath();
    }

    @Override
    public WatchKey register(WatchService watcher, WatchEvent.Kind<?>[] events, WatchEvent.Modifier... modifiers) {
        throw new UnsupportedOperationException("objects cannot be watched");
    }

    @Override
    public int compareTo(Path other) {
        return toString().compareTo(own(other).toString());
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof HttpPath path && path.system == system && path.absolute == absolute
                && path.compared().equals(compared()) && path.end.equals(end);
    }

    @Override
    public int hashCode() {
        return shown().hashCode();
    }

    /** Returns the URL without user, password and query; the names of a relative path, without escapes. */
    @Override
    public String toString() {
        return absolute ? ObjectName.shown(toUri())
                : String.join("/", shown());
    }
}
