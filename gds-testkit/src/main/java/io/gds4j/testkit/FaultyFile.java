package io.gds4j.testkit;

import io.gds4j.source.FileVersion;
import io.gds4j.spi.BackendFile;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/** A file of another backend, whose {@code force}, {@code truncate} and {@code reserve} fail as planned. */
record FaultyFile(BackendFile delegate, FaultPlan plan) implements BackendFile {
    @Override
    public Optional<Path> path() {
        return delegate.path();
    }

    @Override
    public boolean isReadable() {
        return delegate.isReadable();
    }

    @Override
    public boolean isWritable() {
        return delegate.isWritable();
    }

    @Override
    public long size() {
        return delegate.size();
    }

    @Override
    public FileVersion version() {
        return delegate.version();
    }

    @Override
    public IoPathReport ioPath() {
        return delegate.ioPath();
    }

    @Override
    public OptionalInt ownDescriptor() {
        return delegate.ownDescriptor();
    }

    @Override
    public void force(boolean metadata) {
        plan.pass(Call.FSYNC, metadata ? "fsync" : "fdatasync", path(), -1, -1);
        delegate.force(metadata);
    }

    @Override
    public void truncate(long size) {
        plan.pass(Call.TRUNCATE, Call.TRUNCATE.function(), path(), -1, size);
        delegate.truncate(size);
    }

    @Override
    public boolean reserve(long size) {
        plan.pass(Call.RESERVE, Call.RESERVE.function(), path(), -1, size);
        return delegate.reserve(size);
    }

    @Override
    public String toString() {
        return delegate.toString();
    }
}
