package io.gds4j.internal.routing;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.text.InertText;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import java.lang.System.Logger.Level;
import java.nio.file.OpenOption;
import java.nio.file.StandardOpenOption;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/** Registers each file with the first backend, or with the second if the first refuses it or fails to transfer. */
final class RoutedFiles {
    /** Codes with which a backend says that it cannot serve a file that is otherwise valid. */
    private static final Set<CuFileError> NOT_HERE = EnumSet.of(
            CuFileError.DRIVER_NOT_INITIALIZED,
            CuFileError.PLATFORM_NOT_SUPPORTED,
            CuFileError.IO_NOT_SUPPORTED,
            CuFileError.DEVICE_NOT_SUPPORTED,
            CuFileError.DIO_NOT_SET,
            CuFileError.HANDLE_NOT_REGISTERED,
            CuFileError.INTERNAL_ERROR,
            CuFileError.GETNEWFD_FAILED,
            CuFileError.IO_DISABLED);

    private final BackendPair pair;

    /** Returns whether a backend says by this code that it cannot serve a file that is otherwise valid. */
    static boolean isNotHere(CuFileError error) {
        return NOT_HERE.contains(error);
    }

    RoutedFiles(BackendPair pair) {
        this.pair = pair;
    }

    BackendFile register(FileSource source) {
        pair.openImplicitly();
        long session = pair.session();
        if (!pair.isFirstOpen()) {
            return new RoutedFile(pair, session, null, pair.second().handleRegister(source), pair.whyNotFirst());
        }
        try {
            return new RoutedFile(pair, session, pair.first().handleRegister(source), null, "");
        } catch (CuFileException e) {
            if (!isNotHere(e.error()) || e.errno().isPresent()) {
                throw e;
            }
            String refusal = pair.first().name() + ": " + e.detail();
            BackendPair.LOG.log(
                    Level.DEBUG, "{0}: {1}", e.path().map(path -> InertText.name(path.toString())).orElse("descriptor"),
                    refusal);
            return new RoutedFile(pair, session, null, pair.second().handleRegister(existing(source)), refusal);
        }
    }

    /** The first backend has created the file before it refused it: the second one opens an existing file. */
    private static FileSource existing(FileSource source) {
        if (!(source instanceof FileSource.Named named) || !named.has(StandardOpenOption.CREATE_NEW)) {
            return source;
        }
        Set<OpenOption> options = new HashSet<>(named.options());
        options.remove(StandardOpenOption.CREATE_NEW);
        options.add(StandardOpenOption.CREATE);
        return new FileSource.Named(named.path(), options);
    }

    void deregister(BackendFile file) {
        if (file instanceof RoutedFile routed && routed.owner() == pair && routed.end()) {
            BackendFile other = routed.second();
            BackendFile preferred = routed.first();
            CuFileBackend open = pair.secondIfOpen();
            if (other != null && open != null) {
                open.handleDeregister(other);
            }
            if (preferred != null) {
                pair.first().handleDeregister(preferred);
            }
        }
    }

    /**
     * Returns the file if this object registered it.
     *
     * @throws CuFileException DRIVER_NOT_INITIALIZED or HANDLE_NOT_REGISTERED
     */
    RoutedFile own(String function, BackendFile file) {
        pair.checkOpen(function);
        if (file instanceof RoutedFile routed && routed.owner() == pair && routed.isRegistered()) {
            return routed;
        }
        throw CuFileException.of(CuFileError.HANDLE_NOT_REGISTERED, function, "the file is not registered: " + file);
    }

    /** Returns the file as the second backend knows it, and registers it there first if necessary. */
    BackendFile atSecond(RoutedFile file) {
        return lookUpAtSecond(file)
                .orElseThrow(() -> CuFileException.of(CuFileError.GETNEWFD_FAILED, "cuFileHandleRegister", file.path(),
                        "%s gives no descriptor to %s".formatted(pair.first().name(), pair.second().name())));
    }

    /** Like {@link #atSecond}; empty if the first backend gives no descriptor to register. */
    Optional<BackendFile> lookUpAtSecond(RoutedFile file) {
        BackendFile known = file.second();
        if (known != null) {
            return Optional.of(known);
        }
        // After the session the descriptor may be another file.
        return pair.duringSession(file.session(), "cuFileHandleRegister", () -> {
            OptionalInt descriptor = file.ownDescriptor();
            if (descriptor.isEmpty()) {
                return Optional.empty();
            }
            CuFileBackend other = pair.second();
            return Optional.of(
                    file.second(() -> other.handleRegister(new FileSource.Descriptor(descriptor.getAsInt()))));
        });
    }
}
