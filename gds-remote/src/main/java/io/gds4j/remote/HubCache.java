package io.gds4j.remote;

import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.TrustedFolder;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.NavigableSet;
import java.util.TreeSet;

/**
 * A repository in the cache of the hub's own programs, which is only read: {@code refs/REVISION} has the commit, and
 * {@code snapshots/COMMIT/FILE} is a link to {@code blobs/HASH}.
 */
record HubCache(Path repository) {
    private static final int MAX_TEXT = 64 << 10;

    /** Returns what the cache has of a revision: the files of this commit that were downloaded. */
    HubRevision find(String revision) throws IOException {
        String commit = HubNames.isCommit(revision) ? revision
                : text(repository.resolve("refs").resolve(revision)).strip();
        if (!HubNames.isCommit(commit)) {
            throw new FileSystemException(repository.toString(), null, "the cache has no commit of " + revision);
        }
        Path snapshot = snapshot(commit);
        NavigableSet<String> files = new TreeSet<>();
        Files.walkFileTree(snapshot, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                files.add(snapshot.relativize(file).toString());
                return FileVisitResult.CONTINUE;
            }
        });
        return new HubRevision(commit, files);
    }

    private Path snapshot(String commit) {
        return repository.resolve("snapshots").resolve(commit);
    }

    /** Opens a file, which must be in the folder of the commit or one of the repository's blobs. */
    FileContent open(String commit, String name) throws IOException {
        Path file = snapshot(commit).resolve(name);
        try (FoundFile folder = FoundFile.at(snapshot(commit)); FoundFile found = FoundFile.at(file)) {
            if (!found.status().isRegularFile()) {
                throw new FileSystemException(file.toString(), null, "not a regular file");
            }
            new TrustedFolder(folder.place()).check(file, found.place());
            FileChannel channel = found.channel();
            try {
                return FileContent.of(found.place(), channel);
            } catch (IOException e) {
                channel.close();
                throw e;
            }
        }
    }

    /** Returns the text of a short file. */
    static String text(Path file) throws IOException {
        try (FoundFile found = FoundFile.at(file)) {
            if (!found.status().isRegularFile() || found.status().size() > MAX_TEXT) {
                throw new FileSystemException(file.toString(), null, "not a short file");
            }
            try (var stream = found.stream()) {
                return new String(stream.readNBytes(MAX_TEXT), StandardCharsets.UTF_8);
            }
        }
    }
}
