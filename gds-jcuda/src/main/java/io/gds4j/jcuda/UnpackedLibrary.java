package io.gds4j.jcuda;

import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Set;

/**
 * A library from a jar in a new folder with an unguessable name, which only this user may access: no other user can put a file there
 * or see one half written. Folders above it are as they are: volumes of pods and of job schedulers let others rename, though no others are
 * there. Closing removes folder and file; a library that is loaded stays loaded.
 */
final class UnpackedLibrary implements AutoCloseable {
    private final Path folder;
    private final Path file;

    private UnpackedLibrary(Path folder, Path file) {
        this.folder = folder;
        this.file = file;
    }

    /**
     * Unpacks a resource under its own file name.
     *
     * @param classes class loader that finds the resource
     * @param resource name of the resource, with slashes
     * @param parent existing folder for the new one
     * @return empty if there is no such resource
     * @throws IOException if it cannot be written; then no file is left
     */
    static Optional<UnpackedLibrary> of(ClassLoader classes, String resource, Path parent) throws IOException {
        try (InputStream bytes = classes.getResourceAsStream(resource)) {
            if (bytes == null) {
                return Optional.empty();
            }
            Path folder = Files.createTempDirectory(
                    parent,
                    "gds4j-jcuda-",
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            Path name = Path.of(resource).getFileName();
            UnpackedLibrary unpacked = new UnpackedLibrary(folder, folder.resolve(name));
            try {
                unpacked.write(bytes);
            } catch (IOException e) {
                unpacked.close();
                throw e;
            }
            return Optional.of(unpacked);
        }
    }

    Path folder() {
        return folder;
    }

    Path file() {
        return file;
    }

    private void write(InputStream bytes) throws IOException {
        try (SeekableByteChannel channel = Files.newByteChannel(
                file,
                Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("r-x------")))) {
            bytes.transferTo(Channels.newOutputStream(channel));
        }
    }

    @Override
    public void close() throws IOException {
        Files.deleteIfExists(file);
        Files.deleteIfExists(folder);
    }
}
