package io.gds4j.internal.routing;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A backend that refuses files which GPUDirect Storage does not serve, so that a program learns of it before the first read. */
public final class DirectOnlyBackend extends ForwardingBackend {
    /**
     * Wraps a backend whose driver is closed.
     *
     * @param backend made for a configuration that requires GPUDirect Storage
     */
    public DirectOnlyBackend(CuFileBackend backend) {
        super(backend);
    }

    @Override
    public BackendFile handleRegister(FileSource source) {
        BackendFile file;
        try {
            file = delegate().handleRegister(source);
        } catch (CuFileException e) {
            if (e.errno().isPresent() || !RoutedFiles.isNotHere(e.error())) {
                throw e;
            }
            throw refusal(e.error(), e.path(), e.detail(), e);
        }
        IoPathReport served = file.ioPath();
        if (!served.path().isDirect()) {
            Optional<Path> path = file.path();
            delegate().handleDeregister(file);
            throw refusal(
                    CuFileError.IO_NOT_SUPPORTED, path, "%s would serve it: %s".formatted(
                            served.path(), served.reason()),
                    null);
        }
        return file;
    }

    private static CuFileException refusal(
            CuFileError error, Optional<Path> path, String why, @Nullable Throwable cause) {
        CuFileException.Builder failure = CuFileException.builder("cuFileHandleRegister")
                .error(error)
                .path(path)
                .detail("GPUDirect Storage is required, but cannot serve this file: " + why
                        + " (move the file, or allow other paths: DirectStorage.AUTO, properties.allow_compat_mode)");
        if (cause != null) {
            failure.cause(cause);
        }
        return failure.build();
    }
}
