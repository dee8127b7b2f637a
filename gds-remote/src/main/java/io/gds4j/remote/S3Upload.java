package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Uploads a file in parts. The object appears when all parts are there; a failure takes them away again.
 *
 * @param onlyNew whether an object that exists already is left as it is, which is an error
 */
record S3Upload(S3Names names, S3Requests requests, boolean onlyNew) {

    private static final int PART = 16 << 20;
    private static final int MAX_PARTS = 10_000;

    /** Parts in memory at the same time. */
    private static final int TOGETHER = 4;

    /** Longest time to take parts away if the program is ending. */
    private static final Duration FAREWELL = Duration.ofMillis(500);
    private static final Pattern ID = Pattern.compile("<UploadId>([^<]{1,4096})</UploadId>");

    /** Names the upload that made an object: if the answer is lost, the object still tells. */
    private static final String MARK = "x-amz-meta-gds4j-upload";

    void run(Path file, String key) throws IOException {
        String mark = UUID.randomUUID().toString();
        try (FileChannel channel = FileChannel.open(file)) {
            long size = channel.size();
            if (size <= PART) {
                try (Arena arena = Arena.ofShared()) {
                    publish("PUT", names.url(key, Map.of()), bytes(channel, 0, size, arena), Map.of(MARK, mark), key,
                            mark);
                }
                return;
            }
            parts(channel, size, key, mark);
        }
    }

    private void parts(FileChannel channel, long size, String key, String mark) throws IOException {
        URI begin = names.url(key, Map.of("uploads", ""));
        Matcher matcher = ID.matcher(text(requests.send("POST", begin, new byte[0], Map.of(MARK, mark))));
        if (!matcher.find()) {
            throw S3Requests.failure("POST", begin, Errno.EIO, "the answer has no UploadId", null);
        }
        String id = unescaped(matcher.group(1));
        try {
            List<String> tags = send(channel, size, key, id);
            StringBuilder xml = new StringBuilder("<CompleteMultipartUpload>");
            for (int i = 0; i < tags.size(); i++) {
                xml.append("<Part><PartNumber>%s</PartNumber><ETag>%s</ETag></Part>"
                        .formatted(i + 1, tags.get(i).replace("\"", "&quot;")));
            }
            byte[] all = xml.append("</CompleteMultipartUpload>").toString().getBytes(StandardCharsets.UTF_8);
            publish("POST", names.url(key, Map.of("uploadId", id)), MemorySegment.ofArray(all), Map.of(), key, mark);
        } catch (IOException | RuntimeException e) {
            throw abort(key, id, e);
        }
    }

    /** Sends the request that makes the object appear. Its answer may get lost, and then a repetition fails. */
    private void publish(String method, URI uri, MemorySegment body, Map<String, String> headers, String key,
            String mark) {
        Map<String, String> all = new HashMap<>(headers);
        if (onlyNew) {
            all.put("If-None-Match", "*");
        }
        try {
            requests.send(method, uri, body, all);
        } catch (CuFileInterruptedException e) {
            throw e;
        } catch (CuFileException e) {
            int errno = e.errno().orElse(0);
            if (onlyNew && errno == Errno.ENOSYS) {
                requests.send(method, uri, body, headers);
            } else if (!isThere(key, mark)) {
                throw onlyNew && errno == Errno.ESTALE
                        ? S3Requests.failure(method, uri, Errno.EEXIST, "there is such an object already", e)
                        : e;
            }
        }
    }

    /** Returns whether the object is the one of this upload. */
    private boolean isThere(String key, String mark) {
        try {
            return requests.once().send("HEAD", names.url(key, Map.of()), new byte[0]).headers().firstValue(MARK)
                    .filter(mark::equals).isPresent();
        } catch (CuFileException e) {
            return false;
        }
    }

    private List<String> send(FileChannel channel, long size, String key, String id) throws IOException {
        long part = Math.max(PART, Math.ceilDiv(size, MAX_PARTS));
        List<Future<String>> sent = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(TOGETHER, Thread.ofVirtual().factory());
        try {
            for (long at = 0; at < size; at += part) {
                long start = at;
                String number = String.valueOf(sent.size() + 1);
                sent.add(threads.submit(() -> {
                    URI uri = names.url(key, Map.of("partNumber", number, "uploadId", id));
                    try (Arena arena = Arena.ofShared()) {
                        MemorySegment bytes = bytes(channel, start, Math.min(part, size - start), arena);
                        return requests.send("PUT", uri, bytes, Map.of()).headers().firstValue("ETag").orElseThrow(
                                () -> S3Requests.failure("PUT", uri, Errno.EIO, "the answer has no ETag", null));
                    }
                }));
            }
            List<String> tags = new ArrayList<>();
            for (Future<String> each : sent) {
                tags.add(each.get());
            }
            return tags;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof CuFileException known) {
                throw known;
            }
            throw e.getCause() instanceof IOException known ? known : new IOException(e.getCause());
        } catch (InterruptedException e) {
            throw S3Requests.interrupted("PUT", names.url(key, Map.of()), e);
        } finally {
            // The parts in flight end before the upload is given up: a late one would remain.
            threads.shutdownNow();
            threads.close();
        }
    }

    /** Takes the parts away, and returns the failure; it names the upload if the parts stay. */
    private RuntimeException abort(String key, String id, Exception failure) throws IOException {
        boolean interrupted = Thread.interrupted();
        try {
            (interrupted ? requests.once(FAREWELL) : requests.once())
                    .send("DELETE", names.url(key, Map.of("uploadId", id)), new byte[0]);
        } catch (CuFileException e) {
            if (e.isNotFound()) {
                return rethrown(failure);
            }
            String why = "%s; its parts stay at the server: bucket %s, key %s, upload id %s".formatted(
                    failure instanceof CuFileException known ? known.detail() : failure.getMessage(), names.bucket(),
                    key, id);
            CuFileException.Builder builder = CuFileException.builder("S3Files.upload").error(CuFileError.IO_ERROR)
                    .errno(failure instanceof CuFileException known ? known.errno().orElse(Errno.EIO) : Errno.EIO)
                    .detail(why).cause(failure);
            return interrupted ? builder.buildInterrupted() : builder.build();
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
        return rethrown(failure);
    }

    private static RuntimeException rethrown(Exception failure) throws IOException {
        if (failure instanceof IOException known) {
            throw known;
        }
        return (RuntimeException) failure;
    }

    private static MemorySegment bytes(FileChannel channel, long start, long size, Arena arena) throws IOException {
        MemorySegment all = arena.allocate(size);
        ByteBuffer bytes = all.asByteBuffer();
        while (bytes.hasRemaining()) {
            if (channel.read(bytes, start + bytes.position()) < 0) {
                throw new IOException("the file became shorter while it was uploaded");
            }
        }
        return all;
    }

    private static String text(HttpResponse<byte[]> response) {
        return new String(response.body(), StandardCharsets.UTF_8);
    }

    private static String unescaped(String xml) {
        return xml.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    }
}
