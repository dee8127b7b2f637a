package io.gds4j.remote;

import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** The blocks of an upload. They are no blob until their list is sent, and Azure drops those of no list after a week: there is nothing to abort. */
record AzureBlocks(AzureTarget target) implements Parts {
    private static final int MAX_BLOCKS = 50_000;
    private static final int FIRST = 100_000; // all numbers have six digits

    @Override
    public String method() {
        return "PUT";
    }

    @Override
    public URI url() {
        return target.url(Map.of("comp", "blocklist"));
    }

    @Override
    public Map<String, String> headers() {
        return Map.of(AzureTarget.MARK, target.mark());
    }

    /** Returns the name of a block: all of a blob are equally long, and those of another upload are others. */
    private String id(int number) {
        return Base64.getEncoder().encodeToString(
                (target.mark() + (FIRST + number)).getBytes(StandardCharsets.US_ASCII));
    }

    @Override
    public MemorySegment send(RangeSource content, long size) throws IOException {
        long bytes = Math.max(target.partBytes(), Math.ceilDiv(size, MAX_BLOCKS));
        List<String> ids = Parts.send(content, size, bytes, target.url(Map.of()), (number, block) -> {
            URI uri = target.url(Map.of("comp", "block", "blockid", id(number)));
            HttpResponse<byte[]> answer = target.requests().send("PUT", uri, block, Map.of());
            if (!target.isStored("PUT", answer)) {
                throw S3Requests.unlike("PUT", uri, answer, target.stored("PUT"));
            }
            return id(number);
        });
        StringBuilder xml = new StringBuilder("<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>");
        ids.forEach(id -> xml.append("<Latest>").append(id).append("</Latest>"));
        return Parts.bytes(xml.append("</BlockList>"));
    }

    @Override
    public RuntimeException abort(Throwable failure) throws IOException {
        return Parts.thrown(failure);
    }
}
