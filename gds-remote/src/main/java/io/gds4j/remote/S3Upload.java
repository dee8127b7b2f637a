package io.gds4j.remote;

import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** The upload of one object, whole or in parts. The object appears when all bytes are there; a failure takes the parts away again. */
final class S3Upload {
    private final UploadTarget target;
    private final boolean onlyNew;
    private final S3Publication publication;

    /** @param onlyNew whether an object that exists already is left as it is, which is an error */
    S3Upload(UploadTarget target, boolean onlyNew) {
        this.target = target;
        this.onlyNew = onlyNew;
        publication = new S3Publication(target, onlyNew);
    }

    void run(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            run(FileContent.of(file, channel));
        } catch (ClosedByInterruptException e) {
            throw S3Requests.interrupted("PUT", target.url(Map.of()), e);
        }
    }

    void run(RangeSource content) throws IOException {
        long size = content.size();
        Optional<String> version = content.contentVersion();
        if (!target.isWhole(size)) {
            parts(content, size, version);
            return;
        }
        URI uri = target.url(Map.of());
        try (Arena arena = Arena.ofShared()) {
            MemorySegment bytes = filled(arena.allocate(size), content, 0);
            requireUnchanged(content, version);
            publication.publish("PUT", uri, target.headers(),
                    (headers, mayBeDone) -> target.requests().send("PUT", uri, bytes, headers, mayBeDone));
        } catch (InterruptedException e) {
            throw S3Requests.interrupted("PUT", uri, e);
        }
    }

    private void parts(RangeSource content, long size, Optional<String> version) throws IOException {
        Parts parts = target.begin(onlyNew);
        try {
            MemorySegment last = parts.send(content, size);
            requireUnchanged(content, version);
            publication.publish(parts.method(), parts.url(), parts.headers(),
                    (headers, mayBeDone) -> parts.finish(last, headers, mayBeDone));
        } catch (IOException | RuntimeException | Error e) {
            throw parts.abort(e);
        }
    }

    /** Refuses to publish parts of two contents: neither is what the caller named. */
    private static void requireUnchanged(RangeSource content, Optional<String> version) throws IOException {
        if (!content.contentVersion().equals(version)) {
            throw new IOException(content.identity() + " changed while it was uploaded");
        }
    }

    /** Fills memory with the bytes from an offset on. */
    static MemorySegment filled(MemorySegment memory, RangeSource content, long offset)
            throws IOException, InterruptedException {
        for (long at = 0; at < memory.byteSize();) {
            long count = content.read(offset + at, memory.asSlice(at), Cancellation.NEVER);
            if (count <= 0) {
                throw new IOException(content.identity() + " became shorter while it was uploaded");
            }
            at += count;
        }
        return memory;
    }
}
