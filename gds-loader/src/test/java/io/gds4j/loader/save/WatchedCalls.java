package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.OwnFolder;
import io.gds4j.source.FileVersion;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** All calls of a save that change files, counted as they happen. A test decides what happens before each. */
final class WatchedCalls implements FileCalls {
    private final FileCalls system = SystemFileCalls.INSTANCE;
    private final List<String> names = new ArrayList<>();

    /** Runs before each call. */
    interface Before {
        /** Throws to prevent the call; {@code number} begins with 1. */
        void call(int number, String name);
    }

    private final Before before;
    private final Before after;

    WatchedCalls(Before before) {
        this(before, (number, name) -> {
        });
    }

    /** @param after runs after each call of the file system; throws to lose its answer */
    WatchedCalls(Before before, Before after) {
        this.before = before;
        this.after = after;
    }

    /** A call that the kernel refuses. */
    static CuFileException refusal(int errno) {
        return SaveFailure.of(Path.of("file"), "do what it should", errno);
    }

    List<String> names() {
        return List.copyOf(names);
    }

    private synchronized void begin(String name) {
        names.add(name);
        before.call(names.size(), name);
    }

    private void call(String name, Runnable call) {
        begin(name);
        call.run();
        after.call(names().size(), name);
    }

    /** Returns a backend whose calls are counted, too. */
    CuFileBackend watch(CuFileBackend backend) {
        return new WatchedBackend(backend);
    }

    private final class WatchedBackend extends ForwardingBackend {
        WatchedBackend(CuFileBackend delegate) {
            super(delegate);
        }

        @Override
        public BackendFile handleRegister(FileSource source) {
            begin("open");
            return new WatchedFile(super.handleRegister(source));
        }

        @Override
        public void handleDeregister(BackendFile file) {
            begin("close");
            super.handleDeregister(((WatchedFile) file).file);
        }

        @Override
        public long transfer(BatchRequest request) {
            if (request.write()) {
                begin(request.fileOffset() == 0 ? "header" : "data");
            }
            return super.transfer(request.at(((WatchedFile) request.file()).file));
        }
    }

    private final class WatchedFile implements BackendFile {
        private final BackendFile file;

        WatchedFile(BackendFile file) {
            this.file = file;
        }

        @Override
        public Optional<Path> path() {
            return file.path();
        }

        @Override
        public boolean isReadable() {
            return file.isReadable();
        }

        @Override
        public boolean isWritable() {
            return file.isWritable();
        }

        @Override
        public long size() {
            return file.size();
        }

        @Override
        public FileVersion version() {
            return file.version();
        }

        @Override
        public IoPathReport ioPath() {
            return file.ioPath();
        }

        @Override
        public void force(boolean metadata) {
            begin("force");
            file.force(metadata);
        }

        @Override
        public void truncate(long size) {
            begin("truncate");
            file.truncate(size);
        }

        @Override
        public boolean reserve(long size) {
            begin("reserve");
            return file.reserve(size);
        }
    }

    @Override
    public SaveLock lock(Path folder, String name) {
        return system.lock(folder, name);
    }

    @Override
    public void createFolder(Path folder, List<Path> made) {
        call("createFolder", () -> system.createFolder(folder, made));
    }

    @Override
    public OwnFolder open(Path folder) {
        return system.open(folder);
    }

    @Override
    public boolean hasItsName(OwnFolder folder) {
        return system.hasItsName(folder);
    }

    @Override
    public void clear(OwnFolder folder, String stays) {
        call("delete", () -> system.clear(folder, stays));
    }

    @Override
    public List<String> list(Path folder) {
        begin("list");
        return system.list(folder);
    }

    @Override
    public byte[] read(Path file, int most) {
        begin("read");
        return system.read(file, most);
    }

    @Override
    public void write(Path file, byte[] content) {
        call("index", () -> system.write(file, content));
    }

    @Override
    public FoundFile find(Path file) {
        begin("find");
        return system.find(file);
    }

    @Override
    public Optional<StatxResult> status(Path file) {
        return system.status(file);
    }

    @Override
    public OptionalInt permissions(Path file) {
        return system.permissions(file);
    }

    @Override
    public void setPermissions(Path file, int permissions) {
        call("permissions", () -> system.setPermissions(file, permissions));
    }

    @Override
    public void rename(Path from, Path to) {
        call("rename", () -> system.rename(from, to));
    }

    @Override
    public void link(Path existing, Path name) {
        call("link", () -> system.link(existing, name));
    }

    @Override
    public void delete(Path file) {
        call("delete", () -> system.delete(file));
    }

    @Override
    public void dropCached(Path file) {
        call("dropCached", () -> system.dropCached(file));
    }

    @Override
    public void sync(Path folder) {
        call("sync", () -> system.sync(folder));
    }
}
