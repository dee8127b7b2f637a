package io.gds4j.dataset.source;

import com.github.luben.zstd.ZstdIOException;
import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.OwnFolder;
import io.gds4j.internal.text.InertText;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;
import java.util.UUID;

/**
 * Unpacks shards into a folder of this user, where they stay for later runs. A name there tells which file it was unpacked from, so that
 * data sets may share the folder. A file appears when it is whole and on the disk: processes may unpack one shard at the same time.
 */
final class UnpackedShards implements AutoCloseable {
    private static final String ARTIFACT = "com.github.luben:zstd-jni";
    private static final int STEP = 1 << 20;

    /** Classes of the library, which may be absent. */
    private static final class Zstd {
        static InputStream open(InputStream packed) throws IOException {
            return new ZstdInputStreamNoFinalizer(packed);
        }

        static boolean isMalformed(IOException e) {
            return e instanceof ZstdIOException;
        }
    }

    private final OwnFolder folder;

    private UnpackedShards(OwnFolder folder) {
        this.folder = folder;
    }

    /** Opens a folder, or creates it for this user alone. */
    static UnpackedShards in(Path folder) {
        try {
            return new UnpackedShards(openOrCreate(folder));
        } catch (IOException e) {
            throw RecordFormatException.of(folder, e);
        }
    }

    private static OwnFolder openOrCreate(Path folder) throws IOException {
        try {
            return OwnFolder.create(folder);
        } catch (FileAlreadyExistsException e) {
            return OwnFolder.open(folder);
        }
    }

    /**
     * Returns the plain file of a shard, which it unpacks unless an earlier run has.
     *
     * @param packed the shard, compressed by zstd
     * @param packedBytes its size, as its index says
     * @param plain name of the plain shard
     * @param plainBytes its size; no more is written
     */
    Path unpack(Path packed, long packedBytes, Path plain, long plainBytes) {
        try (HeaderFile file = HeaderFile.open(packed)) {
            file.checkSize(packedBytes);
            String name = plain.getFileName() + "." + identity(file);
            if (!isThere(name, plainBytes)) {
                unpack(file, name, plainBytes);
            }
            return folder.name().resolve(name);
        }
    }

    /** Returns what differs between two packed files. */
    private static UUID identity(HeaderFile file) {
        return UUID.nameUUIDFromBytes("%s\n%s\n%s".formatted(
                file.path().toAbsolutePath().normalize().toUri(), file.size(), file.changed())
                .getBytes(StandardCharsets.UTF_8));
    }

    private boolean isThere(String name, long bytes) {
        try (FoundFile found = FoundFile.at(folder.path().resolve(name), LinkOption.NOFOLLOW_LINKS)) {
            return found.status().isRegularFile() && found.status().size() == bytes;
        } catch (NoSuchFileException e) {
            return false;
        } catch (IOException e) {
            throw RecordFormatException.of(folder.name().resolve(name), e);
        }
    }

    private void unpack(HeaderFile file, String name, long bytes) {
        Path temporary = folder.path().resolve(name + "-" + UUID.randomUUID());
        try {
            try (FileChannel to = FileChannel.open(temporary,
                    Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
                copy(file, to, bytes);
                to.force(true);
                Files.move(temporary, folder.path().resolve(name), StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(temporary);
            }
        } catch (IOException e) {
            throw RecordFormatException.of(folder.name().resolve(name), e);
        }
    }

    /** Unpacks the file. Refuses one that does not unpack to exactly {@code bytes} bytes. */
    private static void copy(HeaderFile file, FileChannel to, long bytes) throws IOException {
        byte[] step = new byte[Math.clamp(bytes + 1, 1, STEP)];
        long done = 0;
        try (InputStream plain = open(file)) {
            for (int read = read(file, plain, step); read >= 0; read = read(file, plain, step)) {
                done += read;
                if (done > bytes) {
                    throw RecordFormatException.malformed(file.path(),
                            "unpacks to more than the %s bytes that its index says".formatted(bytes));
                }
                for (ByteBuffer rest = ByteBuffer.wrap(step, 0, read); rest.hasRemaining();) {
                    to.write(rest);
                }
            }
        }
        if (done < bytes) {
            throw RecordFormatException.malformed(file.path(),
                    "unpacks to %s bytes, its index says %s".formatted(done, bytes));
        }
    }

    private static InputStream open(HeaderFile file) throws IOException {
        try {
            return Zstd.open(file.stream());
        } catch (LinkageError e) {
            throw RecordFormatException.malformed(file.path(), e.getCause() instanceof ClassNotFoundException
                    ? "is compressed by zstd, which needs the artifact " + ARTIFACT
                    : "is compressed by zstd, and %s cannot be loaded: %s".formatted(
                            ARTIFACT, InertText.line(String.valueOf(e))));
        }
    }

    private static int read(HeaderFile file, InputStream plain, byte[] step) {
        try {
            return plain.read(step);
        } catch (IOException e) {
            throw Zstd.isMalformed(e)
                    ? RecordFormatException.malformed(file.path(),
                            "cannot be unpacked: " + InertText.line(String.valueOf(e.getMessage())))
                    : RecordFormatException.of(file.path(), e);
        }
    }

    @Override
    public void close() {
        folder.close();
    }
}
