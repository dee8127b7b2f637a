package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Uploads a file in parts. The object appears when all parts are there; a failure takes them away again. */
record S3Upload(S3Names names, S3Requests requests) {
    private static final int PART = 16 << 20;
    private static final int MOST_PARTS = 10_000;

    /** Parts in memory at the same time. */
    private static final int TOGETHER = 4;
    private static final Pattern ID = Pattern.compile("<UploadId>([^<]{1,4096})</UploadId>");

    void run(Path file, String key) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            long size = channel.size();
            if (size <= PART) {
                requests.send("PUT", names.url(key, Map.of()), bytes(channel, 0, (int) size));
                return;
            }
            parts(channel, size, key);
        }
    }

    private void parts(FileChannel channel, long size, String key) throws IOException {
        URI begin = names.url(key, Map.of("uploads", ""));
        Matcher matcher = ID.matcher(text(requests.send("POST", begin, new byte[0])));
        if (!matcher.find()) {
            throw S3Requests.failure("POST", begin, Errno.EIO, "the answer has no UploadId", null);
        }
        String id = unescaped(matcher.group(1));
        boolean complete = false;
        try {
            List<String> tags = send(channel, size, key, id);
            StringBuilder xml = new StringBuilder("<CompleteMultipartUpload>");
            for (int i = 0; i < tags.size(); i++) {
                xml.append("<Part><PartNumber>%s</PartNumber><ETag>%s</ETag></Part>"
                        .formatted(i + 1, tags.get(i).replace("\"", "&quot;")));
            }
            URI end = names.url(key, Map.of("uploadId", id));
            requests.send("POST", end, xml.append("</CompleteMultipartUpload>").toString()
                    .getBytes(StandardCharsets.UTF_8));
            complete = true;
        } finally {
            if (!complete) {
                abort(key, id);
            }
        }
    }

    private List<String> send(FileChannel channel, long size, String key, String id) throws IOException {
        long part = Math.max(PART, Math.ceilDiv(size, MOST_PARTS));
        List<Future<String>> sent = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(TOGETHER, Thread.ofVirtual().factory());
        try {
            for (long at = 0; at < size; at += part) {
                long start = at;
                String number = String.valueOf(sent.size() + 1);
                sent.add(threads.submit(() -> {
                    byte[] bytes = bytes(channel, start, Math.toIntExact(Math.min(part, size - start)));
                    URI uri = names.url(key, Map.of("partNumber", number, "uploadId", id));
                    return requests.send("PUT", uri, bytes).headers().firstValue("ETag").orElseThrow(
                            () -> S3Requests.failure("PUT", uri, Errno.EIO, "the answer has no ETag", null));
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

    private void abort(String key, String id) {
        boolean interrupted = Thread.interrupted();
        try {
            requests.send("DELETE", names.url(key, Map.of("uploadId", id)), new byte[0]);
        } catch (CuFileException e) {
            System.getLogger("io.gds4j.remote").log(
                    System.Logger.Level.WARNING, "parts of an upload remain at the server: " + e.detail());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static byte[] bytes(FileChannel channel, long start, int size) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(size);
        while (bytes.hasRemaining()) {
            if (channel.read(bytes, start + bytes.position()) < 0) {
                throw new IOException("the file became shorter while it was uploaded");
            }
        }
        return bytes.array();
    }

    private static String text(HttpResponse<byte[]> response) {
        return new String(response.body(), StandardCharsets.UTF_8);
    }

    private static String unescaped(String xml) {
        return xml.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    }
}
