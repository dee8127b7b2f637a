package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.InertText;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An upload in parts that the server has begun.
 *
 * @param id tells it from other uploads of the key, which are never aborted
 * @param checks whether the server compares a checksum with each part, so that the signature need not cover it
 */
record S3Parts(S3Target target, String id, boolean checks) {

    private static final int MAX_PARTS = 10_000;
    private static final int PAGE = 4096;

    /** Parts in memory at the same time. */
    private static final int TOGETHER = 4;

    /** Longest time to wait for the id of an upload if the program is ending: nothing else tells it from those of others. */
    private static final Duration GRACE = Duration.ofMillis(300);

    /** Failures without an answer, or with one that refuses nothing. */
    private static final Set<Integer> MAY_HAVE_BEGUN = Set.of(Errno.EINTR, Errno.ETIMEDOUT, Errno.EIO, Errno.ENOSYS);
    private static final Pattern ID = Pattern.compile("<UploadId>([^<]{1,4096})</UploadId>");

    /** The checksum that the server shall compare with each part, in the names of its headers and of XML. */
    private static final String ALGORITHM = "x-amz-checksum-algorithm";
    private static final String CRC32C = "CRC32C";

    /** Answers of servers that do not know checksums, and do not ignore them either. */
    private static final Pattern MAY_LACK_CHECKSUMS = Pattern.compile(": status (400|501)\\b");

    /** A part of the object. */
    private record Part(URI uri, long offset, long length) {
    }

    /** What the server shall make the object of: the tag of a part, and its checksum, which is empty if the server compares none. */
    private record Sent(String tag, String checksum) {
        String xml(int number) {
            return "<Part><PartNumber>%s</PartNumber><ETag>%s</ETag>%s</Part>".formatted(
                    number,
                    tag.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;"),
                    checksum.isEmpty() ? "" : "<Checksum%s>%s</Checksum%s>".formatted(CRC32C, checksum, CRC32C));
        }
    }

    /**
     * Begins an upload. By https the server is asked to compare checksums, which take a fraction of the time of digests; TLS keeps others from
     * changing the bytes. A server that does not say that it does so gets digests. The log names an upload whose id was lost before this one
     * began: the list of the server's uploads does not tell whose they are, so that none of them is aborted.
     */
    static S3Parts begin(S3Target target) {
        AtomicBoolean doubt = new AtomicBoolean();
        boolean isTls = target.url(Map.of()).getScheme().equals("https");
        Map<String, String> mark = Map.of(S3Target.MARK, target.mark());
        S3Parts begun;
        try {
            begun = begin(target, isTls ? Map.of(S3Target.MARK, target.mark(), ALGORITHM, CRC32C) : mark, doubt);
        } catch (CuFileException e) {
            if (!isTls || !MAY_LACK_CHECKSUMS.matcher(e.detail()).find()) {
                throw e;
            }
            begun = begin(target, mark, doubt);
        }
        if (doubt.get()) {
            System.getLogger("io.gds4j.remote").log(System.Logger.Level.WARNING,
                    "an upload was begun twice, because an answer was missing or an error; " + mayStay(target));
        }
        return begun;
    }

    /** Returns a new upload, also if the thread is interrupted while the server makes it: the id is needed to abort it. */
    private static S3Parts begin(S3Target target, Map<String, String> headers, AtomicBoolean doubt) {
        URI uri = target.url(Map.of("uploads", ""));
        try {
            HttpResponse<byte[]> answer = target.requests().withGrace(GRACE).send(
                    "POST", uri, MemorySegment.ofArray(new byte[0]), headers, () -> doubt.set(true));
            Matcher matcher = ID.matcher(S3Requests.text(answer));
            if (!matcher.find()) {
                throw S3Requests.unlike("POST", uri, answer, "an UploadId");
            }
            return new S3Parts(target, unescaped(matcher.group(1)), headers.containsKey(ALGORITHM)
                    && answer.headers().firstValue(ALGORITHM).filter(CRC32C::equalsIgnoreCase).isPresent());
        } catch (CuFileException e) {
            boolean refuses = !MAY_HAVE_BEGUN.contains(e.errno().orElse(Errno.EIO)) || RemoteFailure.isUnsent(e);
            if (refuses && !doubt.get()) {
                throw e;
            }
            throw S3Target.told(e, mayStay(target));
        }
    }

    private static String mayStay(S3Target target) {
        return "an upload without parts may stay at the server: " + target;
    }

    /** Returns the URL of the upload. */
    URI url() {
        return target.url(Map.of("uploadId", id));
    }

    /** Sends the parts, and returns the list of them that completes the upload. */
    byte[] send(RangeSource content, long size) throws IOException {
        long bytes = Math.max(target.partBytes(), Math.ceilDiv(size, MAX_PARTS));
        List<Part> parts = new ArrayList<>();
        for (long at = 0; at < size; at += bytes) {
            String number = String.valueOf(parts.size() + 1);
            parts.add(new Part(
                    target.url(Map.of("partNumber", number, "uploadId", id)), at, Math.min(bytes, size - at)));
        }
        Sent[] sent = new Sent[parts.size()];
        AtomicInteger next = new AtomicInteger();
        int together = Math.min(TOGETHER, sent.length);
        ExecutorService threads = Executors.newFixedThreadPool(
                together, Thread.ofPlatform().daemon().name("gds4j-upload-", 0).factory());
        CompletionService<Boolean> ended = new ExecutorCompletionService<>(threads);
        try {
            for (int i = 0; i < together; i++) {
                ended.submit(() -> {
                    try (Arena arena = Arena.ofShared()) {
                        MemorySegment memory = arena.allocate(bytes, PAGE);
                        for (int n = next.getAndIncrement(); n < sent.length; n = next.getAndIncrement()) {
                            sent[n] = send(parts.get(n), content, memory);
                        }
                    }
                    return true;
                });
            }
            for (int i = 0; i < together; i++) {
                ended.take().get();
            }
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case RuntimeException known -> throw known;
                case Error known -> throw known;
                case IOException known -> throw known;
                default -> throw new IOException(e.getCause());
            }
        } catch (InterruptedException e) {
            throw S3Requests.interrupted("PUT", target.url(Map.of()), e);
        } finally {
            // The parts in flight end before the upload is given up: a late one would remain.
            threads.shutdownNow();
            threads.close();
        }
        StringBuilder xml = new StringBuilder("<CompleteMultipartUpload>");
        for (int i = 0; i < sent.length; i++) {
            xml.append(sent[i].xml(i + 1));
        }
        return xml.append("</CompleteMultipartUpload>").toString().getBytes(StandardCharsets.UTF_8);
    }

    /** Sends a part by way of this memory. */
    private Sent send(Part part, RangeSource content, MemorySegment memory) throws IOException, InterruptedException {
        MemorySegment bytes = S3Upload.filled(memory.asSlice(0, part.length), content, part.offset);
        String checksum = checks ? S3Signer.crc32c(bytes) : "";
        Map<String, String> headers = checks ? Map.of(S3Requests.CHECKSUM, checksum) : Map.of();
        HttpResponse<byte[]> answer = target.requests().send("PUT", part.uri, bytes, headers);
        if (!S3Publication.isWhole(answer)) {
            throw S3Requests.unlike("PUT", part.uri, answer, S3Publication.WHOLE);
        }
        String told = answer.headers().firstValue(S3Requests.CHECKSUM).orElse(checksum);
        if (checks && !told.equals(checksum)) {
            throw S3Requests.failure("PUT", part.uri, Errno.EIO,
                    "the server has the checksum %s instead of %s".formatted(InertText.quote(told), checksum), null);
        }
        return new Sent(answer.headers().firstValue("ETag").orElseThrow(), checksum);
    }

    /** Takes the parts away, and returns the failure; it names the upload if the parts stay. */
    RuntimeException abort(Throwable failure) throws IOException {
        try {
            target.requests().once().tidy(asking -> asking.delete(url()));
        } catch (CuFileException e) {
            if (!e.isNotFound()) {
                return S3Target.told(failure,
                        "its parts stay at the server: %s, upload id %s".formatted(target, InertText.name(id)));
            }
        }
        switch (failure) {
            case IOException known -> throw known;
            case Error known -> throw known;
            default -> {
                return (RuntimeException) failure;
            }
        }
    }

    private static String unescaped(String xml) {
        return xml.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    }
}
