package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.InertText;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Uploads an object in parts, each by way of memory that its thread keeps. The object appears when all parts are there; a failure
 * takes them away again.
 *
 * @param onlyNew whether an object that exists already is left as it is, which is an error
 */
record S3Upload(S3Names names, S3Requests requests, boolean onlyNew) {

    private static final int PART = 16 << 20;
    private static final int MAX_PARTS = 10_000;
    private static final int PAGE = 4096;

    /** Parts in memory at the same time. */
    private static final int TOGETHER = 4;

    /** Longest time to look for an object if the program is ending. */
    private static final Duration GLANCE = Duration.ofMillis(200);

    /** Longest time to wait for the id of an upload if the program is ending: nothing else tells it from those of others. */
    private static final Duration GRACE = Duration.ofMillis(300);
    /** Failures without an answer, or with one that refuses nothing. */
    private static final Set<Integer> MAY_HAVE_BEGUN = Set.of(Errno.EINTR, Errno.ETIMEDOUT, Errno.EIO);
    private static final Pattern ID = Pattern.compile("<UploadId>([^<]{1,4096})</UploadId>");

    /** The checksum that the server shall compare with each part, in the names of its headers and of XML. */
    private static final String ALGORITHM = "x-amz-checksum-algorithm";
    private static final String CRC32C = "CRC32C";

    /** Answers of servers that do not know checksums, and do not ignore them either. */
    private static final Pattern MAY_LACK_CHECKSUMS = Pattern.compile(": status (400|501)\\b");

    /**
     * An upload at the server.
     *
     * @param checks whether the server compares a checksum with each part, so that the signature need not cover it
     */
    private record Begun(String id, boolean checks) {
    }

    /** A part of the object. */
    private record Part(URI uri, long offset, long length) {
    }

    /** What the server shall make the object of: the tag of a part, and its checksum, which is empty if the server compares none. */
    private record Sent(String tag, String checksum) {
        String xml(int number) {
            return "<Part><PartNumber>%s</PartNumber><ETag>%s</ETag>%s</Part>".formatted(
                    number, tag.replace("\"", "&quot;"),
                    checksum.isEmpty() ? "" : "<Checksum%s>%s</Checksum%s>".formatted(CRC32C, checksum, CRC32C));
        }
    }

    /** Names the upload that made an object: if the answer is lost, the object still tells. */
    private static final String MARK = "x-amz-meta-gds4j-upload";

    /**
     * The bytes of a file.
     *
     * @param size of the open file: the name may belong to another one since
     * @param opened the file of that name when the upload began
     */
    private record FileContent(Path file, FileChannel channel, long size, BasicFileAttributes opened)
            implements
                RangeSource {
        @Override
        public String identity() {
            return file.toString();
        }

        /** A file that lost its name to another one, or has none, keeps its bytes. */
        @Override
        public Optional<String> contentVersion() throws IOException {
            BasicFileAttributes own = opened;
            try {
                BasicFileAttributes now = attributes(file);
                own = Objects.equals(now.fileKey(), opened.fileKey()) ? now : opened;
            } catch (NoSuchFileException e) {
                // it was unlinked
            }
            return Optional.of(own.size() + " " + own.lastModifiedTime());
        }

        static BasicFileAttributes attributes(Path file) throws IOException {
            return Files.readAttributes(file, BasicFileAttributes.class);
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) throws IOException {
            return channel.read(target.asByteBuffer(), offset);
        }
    }

    void run(Path file, String key) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            run(new FileContent(file, channel, channel.size(), FileContent.attributes(file)), key);
        }
    }

    void run(RangeSource content, String key) throws IOException {
        String mark = UUID.randomUUID().toString();
        long size = content.size();
        Optional<String> version = content.contentVersion();
        if (size > PART) {
            parts(content, size, version, key, mark);
            return;
        }
        URI uri = names.url(key, Map.of());
        try (Arena arena = Arena.ofShared()) {
            MemorySegment bytes = filled(arena.allocate(size), content, 0);
            requireUnchanged(content, version);
            publish("PUT", uri, bytes, Map.of(MARK, mark), key, mark);
        } catch (InterruptedException e) {
            throw S3Requests.interrupted("PUT", uri, e);
        }
    }

    /** Refuses to publish parts of two contents: neither is what the caller named. */
    private static void requireUnchanged(RangeSource content, Optional<String> version) throws IOException {
        if (!content.contentVersion().equals(version)) {
            throw new IOException(content.identity() + " changed while it was uploaded");
        }
    }

    private void parts(RangeSource content, long size, Optional<String> version, String key, String mark)
            throws IOException {
        Begun begun = begin(key, mark);
        String id = begun.id;
        try {
            List<Sent> sent = send(content, size, key, begun);
            requireUnchanged(content, version);
            StringBuilder xml = new StringBuilder("<CompleteMultipartUpload>");
            for (int i = 0; i < sent.size(); i++) {
                xml.append(sent.get(i).xml(i + 1));
            }
            byte[] all = xml.append("</CompleteMultipartUpload>").toString().getBytes(StandardCharsets.UTF_8);
            publish("POST", names.url(key, Map.of("uploadId", id)), MemorySegment.ofArray(all), Map.of(), key, mark);
        } catch (IOException | RuntimeException | Error e) {
            throw abort(key, id, e);
        }
    }

    /**
     * Begins an upload. By https the server is asked to compare checksums, which take a fraction of the time of digests; TLS keeps others from
     * changing the bytes. A server that does not say that it does so gets digests.
     */
    private Begun begin(String key, String mark) {
        boolean isTls = names.url(key, Map.of()).getScheme().equals("https");
        try {
            return begin(key, isTls ? Map.of(MARK, mark, ALGORITHM, CRC32C) : Map.of(MARK, mark));
        } catch (CuFileException e) {
            if (!isTls || !MAY_LACK_CHECKSUMS.matcher(e.detail()).find()) {
                throw e;
            }
            return begin(key, Map.of(MARK, mark));
        }
    }

    /**
     * Returns a new upload, also if the thread is interrupted while the server makes it: the id is needed to abort it. A failure
     * names the upload if the server may have made it, and the log one whose id was lost before another began. The list of the server's
     * uploads does not tell whose they are, so that none of them is aborted.
     */
    private Begun begin(String key, Map<String, String> headers) {
        URI uri = names.url(key, Map.of("uploads", ""));
        try {
            HttpResponse<byte[]> answer = requests.withGrace(GRACE).send(
                    "POST", uri, MemorySegment.ofArray(new byte[0]), headers,
                    () -> System.getLogger("io.gds4j.remote").log(
                            System.Logger.Level.WARNING, "an answer was lost; " + mayStay(key)));
            Matcher matcher = ID.matcher(text(answer));
            if (!matcher.find()) {
                throw S3Requests.failure("POST", uri, Errno.EIO, "the answer has no UploadId", null);
            }
            return new Begun(unescaped(matcher.group(1)), headers.containsKey(ALGORITHM)
                    && answer.headers().firstValue(ALGORITHM).filter(CRC32C::equalsIgnoreCase).isPresent());
        } catch (CuFileException e) {
            int errno = e.errno().orElse(Errno.EIO);
            if (!MAY_HAVE_BEGUN.contains(errno) || RemoteFailure.isUnsent(e)) {
                throw e;
            }
            CuFileException.Builder builder = CuFileException.builder("S3Files.upload").error(CuFileError.IO_ERROR)
                    .errno(errno)
                    .detail(e.detail() + "; " + mayStay(key))
                    .cause(e);
            throw e instanceof CuFileInterruptedException ? builder.buildInterrupted() : builder.build();
        }
    }

    private String mayStay(String key) {
        return "an upload without parts may stay at the server: bucket %s, key %s".formatted(
                names.bucket(), InertText.name(key));
    }

    /** Sends the request that makes the object appear. Its answer may get lost, and then a repetition fails. */
    private void publish(String method, URI uri, MemorySegment body, Map<String, String> headers, String key,
            String mark) {
        Map<String, String> all = new HashMap<>(headers);
        if (onlyNew) {
            all.put("If-None-Match", "*");
        }
        try {
            try {
                publishOnce(method, uri, body, all);
            } catch (CuFileException e) {
                if (!onlyNew || e.errno().orElse(0) != Errno.ENOSYS) {
                    throw e;
                }
                publishOnce(method, uri, body, headers);
            }
        } catch (CuFileInterruptedException e) {
            if (onlyNew) {
                takeBack(key, mark, e);
            }
            throw e;
        } catch (CuFileException e) {
            if (!wasStored(key, mark, e)) {
                throw onlyNew && e.errno().orElse(0) == Errno.ESTALE
                        ? S3Requests.failure(method, uri, Errno.EEXIST, "there is such an object already", e)
                        : e;
            }
        }
    }

    /** Sends the request, and checks the answer. Status 200 is no proof that parts are an object: S3 has sent it by the time that it fails. */
    private void publishOnce(String method, URI uri, MemorySegment body, Map<String, String> headers) {
        HttpResponse<byte[]> answer = requests.send(method, uri, body, headers);
        if (method.equals("POST") && !text(answer).contains("CompleteMultipartUploadResult")) {
            throw S3Requests.failure(
                    method, uri, Errno.EIO, "the answer has no CompleteMultipartUploadResult", null);
        }
    }

    /** Deletes the object if it appeared although the thread was interrupted meanwhile. */
    private void takeBack(String key, String mark, CuFileException interrupted) {
        try {
            requests.tidy(asking -> {
                if (isThere(asking.once(GLANCE), key, mark)) {
                    asking.send("DELETE", names.url(key, Map.of()), new byte[0]);
                }
            });
        } catch (CuFileException e) {
            interrupted.addSuppressed(e);
        }
    }

    /** Returns whether the object is the one of this upload. */
    private boolean isThere(S3Requests asking, String key, String mark) {
        try {
            return asking.send("HEAD", names.url(key, Map.of()), new byte[0]).headers().firstValue(MARK)
                    .filter(mark::equals).isPresent();
        } catch (CuFileException e) {
            if (e.isNotFound()) {
                return false;
            }
            throw e;
        }
    }

    /** Returns whether the object is that of this upload, although there was no answer or one that refuses. */
    private boolean wasStored(String key, String mark, CuFileException failure) {
        try {
            return isThere(requests.once(), key, mark);
        } catch (CuFileException e) {
            if (failure.errno().orElse(0) != Errno.EIO && failure.errno().orElse(0) != Errno.ETIMEDOUT) {
                return false;
            }
            CuFileException unknown = CuFileException.builder("S3Files.upload").error(CuFileError.IO_ERROR)
                    .errno(failure.errno().orElse(Errno.EIO))
                    .detail(failure.detail() + "; the object may be there all the same: the server does not tell")
                    .cause(failure).build();
            unknown.addSuppressed(e);
            throw unknown;
        }
    }

    private List<Sent> send(RangeSource content, long size, String key, Begun begun) throws IOException {
        long bytes = Math.max(PART, Math.ceilDiv(size, MAX_PARTS));
        List<Part> parts = new ArrayList<>();
        for (long at = 0; at < size; at += bytes) {
            String number = String.valueOf(parts.size() + 1);
            parts.add(new Part(
                    names.url(key, Map.of("partNumber", number, "uploadId", begun.id)), at,
                    Math.min(bytes, size - at)));
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
                            sent[n] = send(parts.get(n), content, memory, begun.checks);
                        }
                    }
                    return true;
                });
            }
            for (int i = 0; i < together; i++) {
                ended.take().get();
            }
            return List.of(sent);
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case RuntimeException known -> throw known;
                case Error known -> throw known;
                case IOException known -> throw known;
                default -> throw new IOException(e.getCause());
            }
        } catch (InterruptedException e) {
            throw S3Requests.interrupted("PUT", names.url(key, Map.of()), e);
        } finally {
            // The parts in flight end before the upload is given up: a late one would remain.
            threads.shutdownNow();
            threads.close();
        }
    }

    /** Sends a part by way of this memory. */
    private Sent send(Part part, RangeSource content, MemorySegment memory, boolean checks)
            throws IOException, InterruptedException {
        MemorySegment bytes = filled(memory.asSlice(0, part.length), content, part.offset);
        String checksum = checks ? S3Signer.crc32c(bytes) : "";
        Map<String, String> headers = checks ? Map.of(S3Requests.CHECKSUM, checksum) : Map.of();
        return requests.send("PUT", part.uri, bytes, headers).headers().firstValue("ETag")
                .map(tag -> new Sent(tag, checksum)).orElseThrow(
                        () -> S3Requests.failure("PUT", part.uri, Errno.EIO, "the answer has no ETag", null));
    }

    /** Takes the parts away, and returns the failure; it names the upload if the parts stay. */
    private RuntimeException abort(String key, String id, Throwable failure) throws IOException {
        try {
            requests.once().tidy(asking -> asking.send("DELETE", names.url(key, Map.of("uploadId", id)), new byte[0]));
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
            return Thread.currentThread().isInterrupted() ? builder.buildInterrupted() : builder.build();
        }
        return rethrown(failure);
    }

    private static RuntimeException rethrown(Throwable failure) throws IOException {
        switch (failure) {
            case IOException known -> throw known;
            case Error known -> throw known;
            default -> {
                return (RuntimeException) failure;
            }
        }
    }

    /** Fills memory with the bytes from an offset on. */
    private static MemorySegment filled(MemorySegment memory, RangeSource content, long offset)
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

    private static String text(HttpResponse<byte[]> response) {
        return new String(response.body(), StandardCharsets.UTF_8);
    }

    private static String unescaped(String xml) {
        return xml.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    }
}
