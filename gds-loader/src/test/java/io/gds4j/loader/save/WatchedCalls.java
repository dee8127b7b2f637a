package io.gds4j.loader.save;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.statistics.IoPathReport;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** All calls of a save that change files, counted as they happen. A test decides what happens before each. */
final class WatchedCalls implements FileCalls {
    private final FileCalls system = FileCalls.SYSTEM;
    private final List<String> names = new ArrayList<>();

    /** Runs before each call. */
    interface Before {
        /** Throws to prevent the call; {@code number} begins with 1. */
        void call(int number, String name) throws IOException;
    }

    private final Before before;

    WatchedCalls(Before before) {
        this.before = before;
    }

    /** A call that the kernel refuses. */
    static IOException refusal(String name, String reason) {
        return new FileSystemException(name, null, reason);
    }

    List<String> names() {
        return List.copyOf(names);
    }

    private synchronized void begin(String name) throws IOException {
        names.add(name);
        before.call(names.size(), name);
    }

    private void beginTransfer(String name) {
        try {
            begin(name);
        } catch (IOException e) {
            int errno = SaveFailure.errno(e);
            throw CuFileException.builder(name).error(CuFileError.IO_ERROR).errno(errno).cause(e).build();
        }
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
            beginTransfer("open");
            return new WatchedFile(super.handleRegister(source));
        }

        @Override
        public void handleDeregister(BackendFile file) {
            beginTransfer("close");
            super.handleDeregister(((WatchedFile) file).file);
        }

        @Override
        public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
            beginTransfer(fileOffset == 0 ? "header" : "data");
            return super.write(((WatchedFile) file).file, base, size, fileOffset, bufferOffset);
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
        public IoPathReport ioPath() {
            return file.ioPath();
        }

        @Override
        public void force(boolean metadata) {
            beginTransfer("force");
            file.force(metadata);
        }

        @Override
        public void truncate(long size) {
            beginTransfer("truncate");
            file.truncate(size);
        }

        @Override
        public boolean reserve(long size) {
            beginTransfer("reserve");
            return file.reserve(size);
        }
    }

    @Override
    public void createFolder(Path folder) throws IOException {
        begin("createFolder");
        system.createFolder(folder);
    }

    @Override
    public List<String> list(Path folder) throws IOException {
        begin("list");
        return system.list(folder);
    }

    @Override
    public String read(Path file) throws IOException {
        begin("read");
        return system.read(file);
    }

    @Override
    public void write(Path file, byte[] content) throws IOException {
        begin("index");
        system.write(file, content);
    }

    @Override
    public void copyPermissions(Path from, Path to) throws IOException {
        begin("permissions");
        system.copyPermissions(from, to);
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        begin("rename");
        system.rename(from, to);
    }

    @Override
    public void link(Path existing, Path name) throws IOException {
        begin("link");
        system.link(existing, name);
    }

    @Override
    public void delete(Path file) throws IOException {
        begin("delete");
        system.delete(file);
    }

    @Override
    public void sync(Path folder) throws IOException {
        begin("sync");
        system.sync(folder);
    }
}
