package io.gds4j.remote.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.remote.contract.StoreUnderTest.Ability;
import io.gds4j.remote.contract.Wire.Answer;
import io.gds4j.remote.contract.Wire.End;
import io.gds4j.remote.contract.Wire.Request;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What every object store promises to those who read, list and write. Extended once for each store. */
@Timeout(120)
public abstract class ObjectStoreContract {
    private static final Duration PATIENT = Duration.ofSeconds(60);
    private static final Duration HASTY = Duration.ofMillis(300);
    private static final int SIZE = 300_001;
    private static final byte[] BYTES = random(SIZE);
    private static final Pattern RANGE = Pattern.compile("(?i)content-range: bytes (\\d+)-\\d+/");
    private static final String NAME = "folder/object.bin";

    private StoreUnderTest store;
    private Wire wire;

    /** Returns a store without objects. */
    protected abstract StoreUnderTest newStore() throws Exception;

    @BeforeEach
    void start() throws Exception {
        store = newStore();
        wire = new Wire(store.port(), Request::forward);
    }

    @AfterEach
    void stop() throws IOException {
        wire.close();
        store.close();
    }

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        return bytes;
    }

    private SourcePath object() throws Exception {
        store.put(NAME, BYTES);
        return path(NAME);
    }

    private SourcePath path(String name) {
        return store.path(name, wire.port(), PATIENT);
    }

    private SourcePath past(String name) {
        return store.path(name, store.port(), PATIENT);
    }

    private void needs(Ability ability) {
        assumeTrue(store.abilities().contains(ability), "this store cannot " + ability);
    }

    private static byte[] read(RangeSource source, long offset, int size, Cancellation cancellation) throws Exception {
        byte[] into = new byte[size];
        int done = 0;
        while (done < size) {
            long count = source.read(offset + done, MemorySegment.ofArray(into).asSlice(done), cancellation);
            if (count <= 0) {
                break;
            }
            done += (int) count;
        }
        return Arrays.copyOf(into, done);
    }

    private static void assertReads(RangeSource source, int offset, int size) throws Exception {
        assertThat(Arrays.mismatch(
                read(source, offset, size, Cancellation.NEVER), Arrays.copyOfRange(BYTES, offset, offset + size)))
                .isEqualTo(-1);
    }

    private CuFileException failure(ThrowingCallable call) {
        Throwable failure = catchThrowable(call);
        assertThat(failure).isInstanceOf(CuFileException.class);
        assertThat(failure.getMessage()).doesNotContain("\n", "Exception");
        for (Throwable each = failure; each != null; each = each.getCause()) {
            assertThat(each.toString()).doesNotContain(store.secrets());
        }
        return (CuFileException) failure;
    }

    /** Opens the object well, then reads it while the plan answers. */
    private CuFileException failure(Duration stall, Wire.Plan plan) throws Exception {
        store.put(NAME, BYTES);
        RangeSource source = store.path(NAME, wire.port(), stall).openSource();
        wire.on(plan);
        return failure(() -> read(source, 100_000, 150_000, Cancellation.NEVER));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a/b.bin", "größe +&=%.bin", "a~b-c_d.(1)'!*;:@,$", "重/?#"})
    void objectHasAnyName(String name) throws Exception {
        store.put(name, BYTES);
        assertThat(Files.size(path(name))).isEqualTo(SIZE);
        assertThat(Arrays.mismatch(Files.readAllBytes(path(name)), BYTES)).isEqualTo(-1);
        assertThat(path(name).toString()).doesNotContain(store.secrets());
    }

    @Test
    void rangesAreThoseOfTheObject() throws Exception {
        RangeSource source = object().openSource();
        Random random = new Random(5);
        for (int i = 0; i < 10; i++) {
            int size = random.nextInt(SIZE);
            assertReads(source, random.nextInt(SIZE - size), size);
        }
        assertThat(read(source, SIZE - 10, 100, Cancellation.NEVER)).hasSize(10);
        assertThat(source.size()).isEqualTo(SIZE);
        store.put("empty", new byte[0]);
        assertThat(path("empty").openSource().size()).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {408, 429, 500, 502, 503, 504})
    void failuresThatPassAreRepeated(int status) throws Exception {
        Set<String> failed = ConcurrentHashMap.newKeySet();
        wire.on(request -> failed.add(request.method() + request.header("range"))
                ? Answer.of(status, "Retry-After: 0") : request.forward());
        assertReads(object().openSource(), 0, SIZE);
        assertThat(failed).hasSizeGreaterThan(1);
    }

    @Test
    void brokenBodiesContinueAtTheMissingByte() throws Exception {
        RangeSource source = object().openSource();
        Set<String> begun = ConcurrentHashMap.newKeySet();
        Set<String> cut = ConcurrentHashMap.newKeySet();
        wire.on(request -> {
            begun.add(request.header("range"));
            return cut(request.forward(), cut.add(request.header("range").replaceFirst(".*-", "")));
        });
        assertReads(source, 100_000, 150_000);
        assertThat(begun).anyMatch(range -> range.startsWith("bytes=101000-"));
    }

    private static Answer cut(Answer whole, boolean isCut) {
        return !isCut ? whole
                : new Answer(whole.edited(text -> text.substring(
                        0, Math.min(text.length(), text.indexOf("\r\n\r\n") + 4 + 1000))).bytes(), End.CLOSE);
    }

    @Test
    void brokenConnectionIsTriedAgain() throws Exception {
        AtomicInteger requests = new AtomicInteger();
        wire.on(request -> requests.incrementAndGet() % 2 == 1 ? Answer.none(End.CLOSE) : request.forward());
        assertThat(Files.size(object())).isEqualTo(SIZE);
    }

    @ParameterizedTest
    @CsvSource({"401, 13, wants credentials, 1", "403, 13, refuses, 1", "404, 2, no such object, 1",
            "412, 116, changed, 1", "416, 5, no such range, 1",
            "418, 5, status 418, 1", "429, 5, 3 attempts, 3", "500, 5, 3 attempts, 3", "503, 5, 3 attempts, 3"})
    void statusThatStaysIsOneClearLine(int status, int errno, String text, int attempts) throws Exception {
        Map<String, Integer> asked = new ConcurrentHashMap<>();
        CuFileException e = failure(PATIENT, request -> {
            asked.merge(request.header("range"), 1, Integer::sum);
            return Answer.of(status);
        });
        assertThat(e.errno()).hasValue(errno);
        assertThat(e.getMessage()).contains(text, String.valueOf(status), "object.bin");
        assertThat(asked.values()).allMatch(count -> count <= Math.max(2, attempts));
    }

    @Test
    void pauseThatIsTooLongEndsTheRequestAtOnce() throws Exception {
        CuFileException e = failure(PATIENT, request -> Answer.of(503, "Retry-After: 3600"));
        assertThat(e.errno()).hasValue(Errno.ETIMEDOUT);
        assertThat(e.getMessage()).contains("asks to wait 3600 s");
    }

    @Test
    void serverThatStallsIsNotWaitedForLong() throws Exception {
        CuFileException e = failure(
                HASTY, request -> new Answer(cut(request.forward(), true).bytes(), End.STALL));
        assertThat(e.errno()).hasValue(Errno.ETIMEDOUT);
        assertThat(e.getMessage()).contains("no progress for 0.3s");
    }

    @Test
    void objectThatIsReplacedIsNotMixed() throws Exception {
        RangeSource source = object().openSource();
        assertReads(source, 100_000, 100_000);
        byte[] other = BYTES.clone();
        other[250_000]++;
        store.put(NAME, other);
        CuFileException e = failure(() -> read(source, 200_000, 100_000, Cancellation.NEVER));
        assertThat(e.errno()).hasValue(Errno.ESTALE);
        assertThat(Arrays.mismatch(Files.readAllBytes(path(NAME)), other)).isEqualTo(-1);
    }

    private static Answer edited(Request request, String pattern, String text) throws IOException {
        return request.forward().edited(answer -> answer.replaceFirst("(?i)" + pattern, text));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {"content-range: bytes (\\d) | Content-Range: bytes 1$1 | Content-Range",
            "content-range | X-Range | Content-Range", "/300001 | /300002 | the object changed",
            "\\s206\\s | ' 200 ' | status 200", "etag: [^\\r]* | ETag: \"x\" | the object changed",
            "content-length | Content-Encoding: gzip#$0 | the body is encoded",
            "content-length | Transfer-Encoding: chunked#$0 | Transfer-Encoding"})
    void answerThatIsNotTheRangeIsRefused(String pattern, String text, String why) throws Exception {
        CuFileException e = failure(PATIENT,
                request -> new Answer(edited(request, pattern, text.replace("#", "\r\n")).bytes(), End.CLOSE));
        assertThat(e.getMessage()).contains(why).doesNotContain("attempts");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a header", "the body"})
    void answerThatIsTooLongIsRefused(String what) throws Exception {
        CuFileException e = failure(PATIENT, request -> {
            Answer longer = what.equals("a header")
                    ? edited(request, "content-length", "X-Endless: %s\r\n$0".formatted("x".repeat(1 << 20)))
                    : edited(request, "\r\ncontent-length: [^\r]*", "").edited(answer -> answer + "more");
            return new Answer(longer.bytes(), End.CLOSE);
        });
        assertThat(e.getMessage()).contains(what.equals("a header") ? "the headers of the answer have more than"
                : "longer than the range").doesNotContain("attempts");
    }

    /** Returns an answer with the first bytes of its range, as a server may give them. */
    private static Answer shorter(Answer whole, int most) {
        return whole.edited(text -> {
            int body = text.indexOf("\r\n\r\n") + 4;
            int size = Math.min(most, text.length() - body);
            Matcher range = RANGE.matcher(text);
            return !range.find() ? text
                    : text.substring(0, body)
                            .replaceFirst("(?i)(content-length): \\d+", "$1: " + size)
                            .replaceFirst(Pattern.quote(range.group()), "Content-Range: bytes %s-%s/".formatted(
                                    range.group(1), Integer.parseInt(range.group(1)) + size - 1))
                            + text.substring(body, body + size);
        });
    }

    @Test
    void shorterRangesAreReadOnUntilTheyAreTooShort() throws Exception {
        RangeSource source = object().openSource();
        wire.on(request -> shorter(request.forward(), 40_000));
        assertReads(source, 100_000, 150_000);
        wire.on(request -> shorter(request.forward(), 100));
        CuFileException e = failure(() -> read(source, 100_000, 150_000, Cancellation.NEVER));
        assertThat(e.getMessage()).contains("64 answers in a row had shorter ranges than asked for");
    }

    @Test
    void missingObjectIsNoSuchFile() throws Exception {
        store.put(NAME, BYTES);
        assertThatThrownBy(() -> Files.size(path("none"))).isInstanceOf(NoSuchFileException.class);
        assertThat(path("none")).doesNotExist();
    }

    @Test
    void redirectTakesNoCredentialsElsewhere() throws Exception {
        RangeSource opened = object().openSource();
        List<String> heads = new CopyOnWriteArrayList<>();
        List<String> tags = new CopyOnWriteArrayList<>();
        try (Wire elsewhere = new Wire(store.port(), request -> {
            heads.add(request.head());
            return range(request, tags.getFirst());
        })) {
            wire.on(request -> {
                if (request.header("range").isEmpty()) {
                    return request.forward();
                }
                String text = new String(request.forward().bytes(), StandardCharsets.ISO_8859_1);
                tags.add(text.replaceFirst("(?is).*?\r\netag: ([^\r]*).*", "$1"));
                return Answer.of(307, "Location: http://127.0.0.1:%s/elsewhere".formatted(elsewhere.port()));
            });
            assertReads(path(NAME).openSource(), 0, SIZE);
            assertReads(opened, 100_000, 150_000);
        }
        assertThat(heads).isNotEmpty().allSatisfy(head -> assertThat(head.toLowerCase(Locale.ROOT))
                .doesNotContain("authorization:", "signature", "x-amz-security-token").doesNotContain(store.secrets()));
    }

    /** Returns the answer of a server that asks for no credentials. */
    private static Answer range(Request request, String etag) {
        String[] ends = request.header("range").replace("bytes=", "").split("-");
        int first = Integer.parseInt(ends[0]);
        int end = Math.min(Integer.parseInt(ends[1]), SIZE - 1) + 1;
        String head = "HTTP/1.1 206 x\r\nContent-Range: bytes %s-%s/%s\r\nContent-Length: %s\r\nETag: %s\r\n\r\n"
                .formatted(first, end - 1, SIZE, end - first, etag);
        String body = new String(BYTES, first, end - first, StandardCharsets.ISO_8859_1);
        return new Answer((head + body).getBytes(StandardCharsets.ISO_8859_1), End.KEEP);
    }

    @Test
    void redirectsEnd() throws Exception {
        CuFileException e = failure(PATIENT, request -> Answer.of(302, "Location: /again"));
        assertThat(e.getMessage()).contains("more than 5 redirects");
    }

    @ParameterizedTest
    @CsvSource({"http://169.254.169.254/x, to a link-local address or a metadata service",
            "https://127.0.0.1:1/x, it redirects from http to", "ftp://127.0.0.1:1/x, http"})
    void redirectThatMayLeakIsNotFollowed(String to, String why) throws Exception {
        assumeTrue(to.contains("127.0.0.1") || isAlone(), "a client that follows it would reach a network");
        CuFileException e = failure(PATIENT, request -> Answer.of(307, "Location: " + to));
        assertThat(e.getMessage()).contains(why).doesNotContain("attempts");
    }

    /** Returns whether this process has the network of its own in which {@code .ci/run} runs these tests. */
    private static boolean isAlone() throws SocketException {
        for (NetworkInterface each : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            if (each.isUp() && !each.isLoopback()) {
                return false;
            }
        }
        return true;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void readThatIsCancelledOrInterruptedEnds(boolean isInterrupted) throws Exception {
        RangeSource source = object().openSource();
        CountDownLatch asked = new CountDownLatch(1);
        AtomicBoolean interrupts = new AtomicBoolean(isInterrupted);
        Thread reader = Thread.currentThread();
        wire.on(request -> {
            asked.countDown();
            // once: another request of the same read may come after its end
            if (interrupts.getAndSet(false)) {
                reader.interrupt();
            }
            return Answer.none(End.STALL);
        });
        Cancellation cancellation = isInterrupted ? Cancellation.NEVER : () -> asked.getCount() == 0;
        assertThatThrownBy(() -> read(source, 100_000, 100_000, cancellation)).isInstanceOf(InterruptedException.class);
        Thread.interrupted();
        wire.on(Request::forward);
        assertReads(source, 100_000, 100_000);
    }

    @Test
    void folderHasTheNamesBelowIt() throws Exception {
        needs(Ability.LIST);
        for (String name : List.of("m/a b.bin", "m/c", "m/d", "m/sub/x", "m/ä", "n", "mm/x")) {
            store.put(name, new byte[10]);
        }
        Set<String> failed = ConcurrentHashMap.newKeySet();
        wire.on(request -> failed.add(request.head().lines().findFirst().orElseThrow()) ? Answer.of(503)
                : request.forward());
        try (Stream<Path> entries = Files.list(path("m"))) {
            assertThat(entries.map(entry -> entry.getFileName().toString()))
                    .containsExactlyInAnyOrder("a b.bin", "c", "d", "sub", "ä");
        }
        assertThat(path("m")).isDirectory();
        assertThat(path("m/sub").getParent().resolve("c")).isRegularFile();
        assertThat(path("n")).isRegularFile();
        assertThat(path("mmm")).doesNotExist();
    }

    /** Bytes of an upload, as sources give them: a few at a time. */
    private record Content(byte[] bytes, int failsAt, AtomicLong read) implements RangeSource {
        Content(byte[] bytes, int failsAt) {
            this(bytes, failsAt, new AtomicLong());
        }

        @Override
        public String identity() {
            return "content";
        }

        @Override
        public long size() {
            return bytes.length;
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) throws IOException {
            long count = Math.min(target.byteSize(), 1_000_003);
            if (offset + count > failsAt) {
                throw new IOException("no such content");
            }
            MemorySegment.copy(MemorySegment.ofArray(bytes), offset, target, 0, count);
            read.addAndGet(count);
            return count;
        }
    }

    private Content content(boolean isLarge) {
        return new Content(random(isLarge ? store.largeBytes() : 1000), Integer.MAX_VALUE);
    }

    private void assertNothingIsThere(String name) {
        assertThat(past(name)).doesNotExist();
        assertThat(store.leftovers()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void uploadAppearsWholeAndReplacesNone(boolean isLarge) throws Exception {
        needs(Ability.WRITE);
        AtomicInteger writes = new AtomicInteger();
        AtomicBoolean isEarly = new AtomicBoolean();
        Set<String> failed = ConcurrentHashMap.newKeySet();
        wire.on(request -> {
            if (request.isWrite()) {
                writes.incrementAndGet();
                isEarly.compareAndSet(false, Files.exists(past("up/x")));
            }
            return request.isWrite() && failed.add(request.head().lines().findFirst().orElseThrow())
                    ? Answer.of(429, "Retry-After: 0") : request.forward();
        });
        Content content = content(isLarge);
        path("up/x").create(content);
        assertThat(writes).hasValueGreaterThan(isLarge ? 3 : 1);
        assertThat(isEarly).isFalse();
        assertThat(content.read).as("each byte is read once").hasValue(content.size());
        assertThat(Arrays.mismatch(Files.readAllBytes(past("up/x")), content.bytes)).isEqualTo(-1);
        wire.on(Request::forward);
        CuFileException e = failure(() -> path("up/x").create(new Content(new byte[store.largeBytes()], 1 << 30)));
        assertThat(e.errno()).hasValue(Errno.EEXIST);
        assertThat(store.leftovers()).isEmpty();
        assertThat(Arrays.mismatch(Files.readAllBytes(past("up/x")), content.bytes)).isEqualTo(-1);
        path("up/empty").create(new Content(new byte[0], 1));
        assertThat(Files.size(past("up/empty"))).isZero();
        Files.delete(path("up/x"));
        assertThat(past("up/x")).doesNotExist();
    }

    /** Each request with bytes breaks once, before the server has done it. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void uploadGoesOnAfterBrokenConnections(boolean isLarge) throws Exception {
        needs(Ability.WRITE);
        Set<String> broken = ConcurrentHashMap.newKeySet();
        wire.on(request -> request.method().equals("PUT")
                && broken.add(request.head().lines().findFirst().orElseThrow() + request.header("content-range"))
                        ? Answer.none(End.RESET) : request.forward());
        Content content = content(isLarge);
        path("up/x").create(content);
        assertThat(broken).hasSizeGreaterThan(isLarge ? 1 : 0);
        assertThat(content.read).as("each byte is read once").hasValue(content.size());
        assertThat(Arrays.mismatch(Files.readAllBytes(past("up/x")), content.bytes)).isEqualTo(-1);
        assertThat(store.leftovers()).isEmpty();
    }

    /** Each request that writes is refused once. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void uploadThatFailsLeavesNothing(boolean isLarge) throws Exception {
        needs(Ability.WRITE);
        int refused = 0;
        for (boolean isDone = false; !isDone; refused++) {
            int now = refused;
            AtomicInteger writes = new AtomicInteger();
            wire.on(request -> request.isWrite() && writes.getAndIncrement() == now ? Answer.of(403)
                    : request.forward());
            Throwable failure = catchThrowable(() -> path("up/x").create(content(isLarge)));
            isDone = failure == null;
            if (!isDone) {
                assertThat(failure(() -> {
                    throw failure;
                }).getMessage()).contains("403").doesNotContain("may");
                assertNothingIsThere("up/x");
            }
        }
        assertThat(refused).isGreaterThan(isLarge ? 3 : 1);
        assertThat(Files.size(past("up/x"))).isEqualTo(content(isLarge).size());
    }

    @Test
    void contentThatFailsLeavesNothing() {
        needs(Ability.WRITE);
        Content content = new Content(new byte[store.largeBytes()], store.largeBytes() - 1);
        assertThatThrownBy(() -> path("up/x").create(content)).hasMessageContaining("no such content");
        assertNothingIsThere("up/x");
    }

    @Test
    void uploadThatIsInterruptedLeavesNothing() {
        needs(Ability.WRITE);
        Thread uploader = Thread.currentThread();
        AtomicInteger writes = new AtomicInteger();
        wire.on(request -> {
            int number = request.isWrite() ? writes.incrementAndGet() : 1;
            if (number > 2) {
                return Answer.none(End.STALL); // a part that the server takes while it drops the upload may stay there
            }
            Answer answer = request.forward();
            if (number == 2) {
                uploader.interrupt();
                while (uploader.isInterrupted()) {
                    Thread.onSpinWait(); // until it notices
                }
            }
            return answer;
        });
        assertThatThrownBy(() -> path("up/x").create(content(true))).isInstanceOf(CuFileInterruptedException.class);
        assertThat(Thread.interrupted()).isTrue();
        assertNothingIsThere("up/x");
    }
}
