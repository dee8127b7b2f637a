package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.net.URI;
import java.nio.channels.FileChannel;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.AccessMode;
import java.nio.file.CopyOption;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.ProviderMismatchException;
import java.nio.file.ReadOnlyFileSystemException;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.attribute.FileTime;
import java.nio.file.spi.FileSystemProvider;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What java.nio.file asks of objects: their size and their bytes. Everything that writes is refused. */
final class HttpProvider extends FileSystemProvider {
    private final HttpFileSystem system;

    HttpProvider(HttpFileSystem system) {
        this.system = system;
    }

    /**
     * Attributes of an object.
     *
     * @param size bytes
     * @param isDirectory whether it is a folder
     * @param lastModifiedTime what the server says
     * @param fileKey equal for the same version of an object; null without a strong ETag
     */
    private record Attributes(long size, boolean isDirectory, FileTime lastModifiedTime, @Nullable Object fileKey)
            implements
                BasicFileAttributes {

        private static final FileTime UNKNOWN = FileTime.fromMillis(0);

        static Attributes of(RangeSource source) throws IOException {
            if (source instanceof FileContent file) {
                file.channel().close(); // opened for this question alone
                return new Attributes(
                        file.size(), false, file.opened().lastModifiedTime(), file.opened().fileKey());
            }
            ObjectVersion version = source instanceof CachedSource cached ? cached.version()
                    : source instanceof HttpSource http ? http.version() : ObjectVersion.UNKNOWN;
            return new Attributes(
                    version.size(), false, version.modified().map(FileTime::from).orElse(UNKNOWN),
                    version.canBeDemanded() ? List.of(source.identity(), version.size(), version.etag()) : null);
        }

        @Override
        public FileTime lastAccessTime() {
            return UNKNOWN;
        }

        @Override
        public FileTime creationTime() {
            return UNKNOWN;
        }

        @Override
        public boolean isRegularFile() {
            return !isDirectory;
        }

        @Override
        public boolean isSymbolicLink() {
            return false;
        }

        @Override
        public boolean isOther() {
            return false;
        }
    }

    private static HttpPath own(Path path) {
        if (path instanceof HttpPath own) {
            return own;
        }
        throw new ProviderMismatchException("not the path of an object: " + path);
    }

    private static RangeSource source(Path path) throws IOException {
        return own(path).source();
    }

    private Attributes attributes(Path path) throws IOException {
        HttpPath own = own(path);
        if (!own.isWrittenAsFolder() || system.store() instanceof HttpStore) {
            try {
                return Attributes.of(own.source());
            } catch (NoSuchFileException e) {
                if (!isFolder(own)) {
                    throw e;
                }
            }
        } else if (system.list(own).isEmpty()) {
            throw new NoSuchFileException(path.toString());
        }
        return new Attributes(0, true, Attributes.UNKNOWN, null);
    }

    /** Returns whether there are objects below a name that is no object; false if the server lists none for these credentials. */
    private boolean isFolder(HttpPath path) {
        try {
            return !system.list(path).isEmpty();
        } catch (CuFileException e) {
            if (RemoteFailure.isForbidden(e)) {
                return false;
            }
            throw e;
        }
    }

    @Override
    public String getScheme() {
        return "http";
    }

    @Override
    public FileSystem newFileSystem(URI uri, Map<String, ?> environment) {
        throw new UnsupportedOperationException("HttpFiles.path makes paths");
    }

    @Override
    public FileSystem getFileSystem(URI uri) {
        return system;
    }

    @Override
    public Path getPath(URI uri) {
        return system.path(uri);
    }

    @Override
    public FileChannel newFileChannel(
            Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes) throws IOException {
        for (OpenOption option : options) {
            if (option != StandardOpenOption.READ) {
                throw new ReadOnlyFileSystemException();
            }
        }
        return new SourceChannel(source(path));
    }

    @Override
    public SeekableByteChannel newByteChannel(
            Path path, Set<? extends OpenOption> options, FileAttribute<?>... attributes) throws IOException {
        return newFileChannel(path, options, attributes);
    }

    @Override
    public DirectoryStream<Path> newDirectoryStream(Path folder, DirectoryStream.Filter<? super Path> filter)
            throws IOException {
        List<Path> all = system.list(own(folder));
        if (all.isEmpty()) {
            throw new NotDirectoryException(folder.toString());
        }
        List<Path> accepted = new ArrayList<>();
        for (Path each : all) {
            if (filter.accept(each)) {
                accepted.add(each);
            }
        }
        return new DirectoryStream<>() {
            @Override
            public Iterator<Path> iterator() {
                return accepted.iterator();
            }

            @Override
            public void close() {
                // Holds nothing.
            }
        };
    }

    @Override
    public void checkAccess(Path path, AccessMode... modes) throws IOException {
        for (AccessMode mode : modes) {
            if (mode != AccessMode.READ) {
                throw new ReadOnlyFileSystemException();
            }
        }
        try {
            attributes(path);
        } catch (CuFileException e) {
            if (modes.length == 0 || !RemoteFailure.isForbidden(e)) {
                throw e;
            }
            AccessDeniedException denied = new AccessDeniedException(path.toString(), null, e.detail());
            denied.initCause(e);
            throw denied;
        }
    }

    /** Of an object that does not exist, S3 says to those who may not list the bucket that they may not read it. */
    @Override
    public <A extends BasicFileAttributes> @Nullable A readAttributesIfExists(
            Path path, Class<A> type, LinkOption... options) throws IOException {
        try {
            return super.readAttributesIfExists(path, type, options);
        } catch (CuFileException e) {
            if (RemoteFailure.isForbidden(e)) {
                return null;
            }
            throw e;
        }
    }

    @Override
    public <A extends BasicFileAttributes> A readAttributes(Path path, Class<A> type, LinkOption... options)
            throws IOException {
        if (type != BasicFileAttributes.class) {
            throw new UnsupportedOperationException("only basic attributes");
        }
        return type.cast(attributes(path));
    }

    @Override
    public Map<String, Object> readAttributes(Path path, String attributes, LinkOption... options)
            throws IOException {
        Attributes found = attributes(path);
        return Map.of("size", found.size(), "isRegularFile", found.isRegularFile(), "isDirectory", found.isDirectory());
    }

    @Override
    public <V extends FileAttributeView> @Nullable V getFileAttributeView(
            Path path, Class<V> type, LinkOption... options) {
        return null;
    }

    @Override
    public boolean isSameFile(Path path, Path other) {
        return path.equals(other);
    }

    @Override
    public boolean isHidden(Path path) {
        return false;
    }

    @Override
    public FileStore getFileStore(Path path) {
        throw new UnsupportedOperationException("objects have no file store");
    }

    @Override
    public void createDirectory(Path folder, FileAttribute<?>... attributes) {
        throw new ReadOnlyFileSystemException();
    }

    /** Deletes an object of S3 or Azure. That there is none is no error. */
    @Override
    public void delete(Path path) {
        if (system.store().target(own(path).toAbsolutePath().toUri()).isEmpty()) {
            throw new ReadOnlyFileSystemException();
        }
        S3Files.delete(path);
    }

    @Override
    public void copy(Path from, Path to, CopyOption... options) {
        throw new ReadOnlyFileSystemException();
    }

    @Override
    public void move(Path from, Path to, CopyOption... options) {
        throw new ReadOnlyFileSystemException();
    }

    @Override
    public void setAttribute(Path path, String attribute, Object value, LinkOption... options) {
        throw new ReadOnlyFileSystemException();
    }
}
