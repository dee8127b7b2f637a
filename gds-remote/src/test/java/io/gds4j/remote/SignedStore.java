package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.remote.contract.StoreUnderTest;
import io.gds4j.source.SourcePath;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * A bucket of an S3 server of another project, which checks signatures, for the contract of object stores. The server goes on when the
 * bucket is no longer used.
 *
 * @param partBytes the least that the server takes
 */
record SignedStore(int port, S3Credentials keys, String bucket, int partBytes) implements StoreUnderTest {

    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final AtomicInteger BUCKETS = new AtomicInteger();

    /** Makes a bucket that the server does not have yet. */
    static SignedStore create(int port, S3Credentials keys, int partBytes) throws Exception {
        SignedStore store = new SignedStore(port, keys, "bucket-" + BUCKETS.incrementAndGet(), partBytes);
        store.send("PUT", "", Map.of(), new byte[0]);
        return store;
    }

    S3Options options(int at) {
        return S3Options.fromEnvironment(Map.of("AWS_ENDPOINT_URL", "http://127.0.0.1:" + at, "AWS_ACCESS_KEY_ID",
                keys.accessKey(), "AWS_SECRET_ACCESS_KEY", keys.secretKey())).withPartBytes(partBytes);
    }

    /** Sends a request that is not one of the code under test but for its signature. */
    private String send(String method, String name, Map<String, String> query, byte[] body) throws Exception {
        URI uri = new S3Names(bucket, options(port)).url(name, query);
        HttpRequest.Builder request = HttpRequest.newBuilder(uri).method(method, BodyPublishers.ofByteArray(body));
        S3Signer.of("us-east-1", () -> keys).headers(method, uri, S3Signer.sha256(MemorySegment.ofArray(body)),
                Map.of()).forEach((key, value) -> {
                    if (!key.equals("host")) {
                        request.setHeader(key, value);
                    }
                });
        HttpResponse<String> answer = CLIENT.send(request.build(), BodyHandlers.ofString());
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.body();
    }

    @Override
    public Set<Ability> abilities() {
        return Set.of(Ability.values());
    }

    @Override
    public void put(String name, byte[] bytes) throws Exception {
        send("PUT", name, Map.of(), bytes);
    }

    @Override
    public SourcePath path(String name, int at, Duration stall) {
        return S3Files.path(URI.create("s3://%s/%s".formatted(bucket, ObjectName.escaped(name))),
                options(at).withHttp(HttpContractTest.options(stall)));
    }

    @Override
    public List<String> secrets() {
        return List.of(keys.secretKey());
    }

    @Override
    public int largeBytes() {
        return 3 * partBytes + 1;
    }

    @Override
    public List<String> leftovers() {
        try {
            return Pattern.compile("<UploadId>[^<]*").matcher(send("GET", "", Map.of("uploads", ""), new byte[0]))
                    .results().map(MatchResult::group).toList();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        // the server goes on
    }
}
