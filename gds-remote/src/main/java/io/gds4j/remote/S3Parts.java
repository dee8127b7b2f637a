package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.InertText;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An upload in parts that the server has begun.
 *
 * @param id tells it from other uploads of the key, which are never aborted
 * @param checks whether the server compares a checksum with each part, so that the signature need not cover it
 */
record S3Parts(S3Target target, String id, boolean checks) implements Parts {

    private static final int MAX_PARTS = 10_000;

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
        Map<String, String> mark = target.headers();
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

    @Override
    public String method() {
        return "POST";
    }

    @Override
    public URI url() {
        return target.url(Map.of("uploadId", id));
    }

    /** The request that began the parts had the mark. */
    @Override
    public Map<String, String> headers() {
        return Map.of();
    }

    @Override
    public MemorySegment send(RangeSource content, long size) throws IOException {
        long bytes = Math.max(target.partBytes(), Math.ceilDiv(size, MAX_PARTS));
        List<Sent> sent = Parts.send(
                content, size, bytes, target.url(Map.of()), (number, part) -> send(number + 1, part));
        StringBuilder xml = new StringBuilder("<CompleteMultipartUpload>");
        for (int i = 0; i < sent.size(); i++) {
            xml.append(sent.get(i).xml(i + 1));
        }
        return Parts.bytes(xml.append("</CompleteMultipartUpload>"));
    }

    private Sent send(int number, MemorySegment bytes) {
        URI uri = target.url(Map.of("partNumber", String.valueOf(number), "uploadId", id));
        String checksum = checks ? S3Signer.crc32c(bytes) : "";
        Map<String, String> headers = checks ? Map.of(S3Requests.CHECKSUM, checksum) : Map.of();
        HttpResponse<byte[]> answer = target.requests().send("PUT", uri, bytes, headers);
        if (!target.isStored("PUT", answer)) {
            throw S3Requests.unlike("PUT", uri, answer, target.stored("PUT"));
        }
        String told = answer.headers().firstValue(S3Requests.CHECKSUM).orElse(checksum);
        if (checks && !told.equals(checksum)) {
            throw S3Requests.failure("PUT", uri, Errno.EIO,
                    "the server has the checksum %s instead of %s".formatted(InertText.quote(told), checksum), null);
        }
        return new Sent(answer.headers().firstValue("ETag").orElseThrow(), checksum);
    }

    @Override
    public RuntimeException abort(Throwable failure) throws IOException {
        try {
            target.requests().once().tidy(asking -> asking.delete(url(), target.deleted()));
        } catch (CuFileException e) {
            if (!e.isNotFound()) {
                return S3Target.told(failure,
                        "its parts stay at the server: %s, upload id %s".formatted(target, InertText.name(id)));
            }
        }
        return Parts.thrown(failure);
    }

    private static String unescaped(String xml) {
        return xml.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    }
}
