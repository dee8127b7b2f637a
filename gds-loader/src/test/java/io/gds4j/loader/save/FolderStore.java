package io.gds4j.loader.save;

import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.AccessMode;
import java.nio.file.CopyOption;
import java.nio.file.DirectoryStream;
import java.nio.file.FileStore;
import java.nio.file.FileSystem;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.nio.file.WatchService;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.FileAttributeView;
import java.nio.file.attribute.UserPrincipalLookupService;
import java.nio.file.spi.FileSystemProvider;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;

/** A store whose objects are the files of a folder. A test decides what happens before and behind each call. */
final class FolderStore {
    /** What a test does at a call: create, created, list, look or delete, and the last name of the path. */
    interface Call {
        void at(String call) throws IOException;
    }

    private final Call test;
    private final int part;
    private final StoreSystem system = new StoreSystem();

    /** @param part bytes that the store reads at a time */
    FolderStore(int part, Call test) {
        this.part = part;
        this.test = test;
    }

    /** Returns the path of an object, or of a folder of objects. */
    Path path(Path real) {
        return (SourcePath) Proxy.newProxyInstance(FolderStore.class.getClassLoader(), new Class<?>[]{SourcePath.class},
                (_, method, arguments) -> switch (method.getName()) {
                    case "getFileSystem" -> system;
                    case "create" -> {
                        create(real, (RangeSource) arguments[0]);
                        yield null;
                    }
                    default -> call(real, method, arguments);
                });
    }

    private Object call(Path real, Method method, Object... arguments) throws Throwable {
        Object[] own = arguments == null ? new Object[0]
                : Stream.of(arguments).map(one -> one instanceof SourcePath path ? real(path) : one).toArray();
        try {
            Object answer = method.invoke(real, own);
            return answer instanceof Path path ? path(path) : answer;
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static Path real(Path path) {
        return Path.of(path.toString());
    }

    private static String name(Path path) {
        return path.getFileName().toString();
    }

    /** Reads the parts on a thread of its own, the last one first. */
    private void create(Path real, RangeSource content) throws IOException {
        test.at("create " + name(Path.of(content.identity())));
        if (Files.exists(real)) {
            throw SaveFailure.of(real, "create the object", Errno.EEXIST);
        }
        Files.createDirectories(real.getParent());
        FutureTask<byte[]> task = new FutureTask<>(() -> bytes(content));
        Thread reader = Thread.ofPlatform().daemon().start(task);
        Uninterruptibly.join(reader);
        if (Thread.currentThread().isInterrupted()) {
            throw SaveFailure.interrupted(real, "interrupted");
        }
        try {
            Files.write(real, task.get());
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new AssertionError(e.getCause());
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        test.at("created " + name(real));
    }

    private byte[] bytes(RangeSource content) throws IOException, InterruptedException {
        byte[] bytes = new byte[(int) content.size()];
        try (Arena arena = Arena.ofShared()) {
            for (int from = (bytes.length - 1) / part * part; from >= 0; from -= part) {
                MemorySegment target = arena.allocate(Math.min(part, bytes.length - from));
                long read = content.read(from, target, Cancellation.NEVER);
                if (read != target.byteSize()) {
                    throw new AssertionError("read " + read + " of " + target.byteSize() + " bytes");
                }
                MemorySegment.copy(target, 0, MemorySegment.ofArray(bytes), from, read);
            }
        }
        return bytes;
    }

    private final class StoreSystem extends FileSystem {
        private final FileSystemProvider provider = new StoreProvider();

        @Override
        public FileSystemProvider provider() {
            return provider;
        }

        @Override
        public void close() {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public boolean isReadOnly() {
            return false;
        }

        @Override
        public String getSeparator() {
            return "/";
        }

        @Override
        public Iterable<Path> getRootDirectories() {
            throw new UnsupportedOperationException();
        }

        @Override
        public Iterable<FileStore> getFileStores() {
            throw new UnsupportedOperationException();
        }

        @Override
        public Set<String> supportedFileAttributeViews() {
            return Set.of("basic");
        }

        @Override
        public Path getPath(String first, String... more) {
            return path(Path.of(first, more));
        }

        @Override
        public PathMatcher getPathMatcher(String syntaxAndPattern) {
            throw new UnsupportedOperationException();
        }

        @Override
        public UserPrincipalLookupService getUserPrincipalLookupService() {
            throw new UnsupportedOperationException();
        }

        @Override
        public WatchService newWatchService() {
            throw new UnsupportedOperationException();
        }
    }

    /** Lists, looks and deletes; nothing else is asked of a store. */
    private final class StoreProvider extends FileSystemProvider {
        @Override
        public DirectoryStream<Path> newDirectoryStream(Path folder, DirectoryStream.Filter<? super Path> filter)
                throws IOException {
            test.at("list " + name(folder));
            List<Path> found = new ArrayList<>();
            try (DirectoryStream<Path> entries = Files.newDirectoryStream(real(folder))) {
                entries.forEach(entry -> found.add(path(entry)));
            }
            return new DirectoryStream<>() {
                @Override
                public Iterator<Path> iterator() {
                    return found.iterator();
                }

                @Override
                public void close() {
                    // nothing is open
                }
            };
        }

        @Override
        public void delete(Path path) throws IOException {
            test.at("delete " + name(path));
            Files.delete(real(path));
        }

        @Override
        public <A extends BasicFileAttributes> A readAttributes(Path path, Class<A> type, LinkOption... options)
                throws IOException {
            test.at("look " + name(path));
            return Files.readAttributes(real(path), type, options);
        }

        @Override
        public String getScheme() {
            throw new UnsupportedOperationException();
        }

        @Override
        public FileSystem newFileSystem(URI uri, Map<String, ?> environment) {
            throw new UnsupportedOperationException();
        }

        @Override
        public FileSystem getFileSystem(URI uri) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Path getPath(URI uri) {
            throw new UnsupportedOperationException();
        }

        @Override
        public SeekableByteChannel newByteChannel(Path path, Set<? extends OpenOption> options,
                FileAttribute<?>... attributes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void createDirectory(Path path, FileAttribute<?>... attributes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void copy(Path source, Path target, CopyOption... options) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void move(Path source, Path target, CopyOption... options) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isSameFile(Path path, Path other) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isHidden(Path path) {
            throw new UnsupportedOperationException();
        }

        @Override
        public FileStore getFileStore(Path path) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void checkAccess(Path path, AccessMode... modes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public <V extends FileAttributeView> V getFileAttributeView(Path path, Class<V> type, LinkOption... options) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Map<String, Object> readAttributes(Path path, String attributes, LinkOption... options) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void setAttribute(Path path, String attribute, Object value, LinkOption... options) {
            throw new UnsupportedOperationException();
        }
    }
}
