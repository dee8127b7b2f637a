package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.sun.net.httpserver.HttpExchange;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** S3 servers that stall, are slow or answer something else, and programs that are interrupted. */
@Tag("slow")
@Timeout(60)
class S3FaultTest {
    private static final HttpOptions OPTIONS = HttpOptions.DEFAULTS
            .withPatience(Duration.ofSeconds(20), 3, Duration.ofMillis(1));
    private static final HttpOptions HASTY = OPTIONS.withPatience(Duration.ofMillis(200), 1, Duration.ZERO);

    @TempDir
    Path folder;

    private final S3Server server = new S3Server();

    @AfterEach
    void stop() {
        server.close();
    }

    private Path path(String key, HttpOptions http) {
        return S3Files.path(URI.create("s3://models/" + key), server.options().withHttp(http));
    }

    /** The client's own timeout ends with the headers. */
    @Test
    void answerThatStallsIsAFailure() {
        CountDownLatch end = new CountDownLatch(1);
        server.on((exchange, request) -> {
            exchange.sendResponseHeaders(200, 100);
            exchange.getResponseBody().write(new byte[10]);
            exchange.getResponseBody().flush();
            try {
                end.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return true;
        });
        try {
            assertThatThrownBy(() -> Files.list(path("m/", HASTY))).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("no progress for 0.2s");
        } finally {
            end.countDown();
        }
    }

    @Test
    void slowUploadHasTimeForItsBytes() throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[15 << 20]);
        server.on((exchange, request) -> {
            for (int i = 0; i < 4; i++) {
                exchange.getRequestBody().readNBytes(3 << 20);
                try {
                    TimeUnit.MILLISECONDS.sleep(300);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            exchange.getRequestBody().readAllBytes();
            exchange.getResponseHeaders().set("ETag", "\"a\"");
            exchange.sendResponseHeaders(200, -1);
            return true;
        });
        S3Options patient = server.options().withPartBytes(S3Options.PART)
                .withHttp(OPTIONS.withPatience(Duration.ofSeconds(1), 1, Duration.ZERO));
        S3Files.upload(file, S3Files.path(URI.create("s3://models/a"), patient));
        assertThat(server.requests).hasSize(1);
    }

    /** The thread is interrupted after the server has made the upload, and before its id arrives. */
    @Test
    void uploadThatBeginsDuringAnInterruptIsAborted() throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[17 << 16]);
        CuFileInterruptedException failure = interruptedAtItsBeginning(file, new CountDownLatch(0));
        for (int i = 1; i < 3 && failure.detail().contains("may stay"); i++) { // a busy machine answers late
            server.uploads.clear();
            failure = interruptedAtItsBeginning(file, new CountDownLatch(0));
        }
        assertThat(failure.detail()).doesNotContain("may stay");
        assertThat(server.uploads).isEmpty();
        assertThat(server.requests.getLast()).startsWith("DELETE");
    }

    @Test
    void uploadThatMayHaveBegunIsNamed() throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[17 << 16]);
        CountDownLatch ended = new CountDownLatch(1);
        assertThat(interruptedAtItsBeginning(file, ended))
                .hasMessageContaining("an upload without parts may stay at the server: bucket models, key a");
        ended.countDown();
    }

    /** The server makes an upload, but its id does not arrive. */
    @ParameterizedTest
    @ValueSource(strings = {"cut", "stall", "empty"})
    void uploadWhoseIdIsLostIsNamed(String fault) throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[17 << 16]);
        CountDownLatch ended = new CountDownLatch(1);
        server.on((exchange, request) -> {
            switch (fault) {
                case "cut" -> exchange.close();
                case "stall" -> await(ended);
                default -> S3Server.answer(exchange, 200, "<InitiateMultipartUploadResult/>");
            }
            return true;
        });
        assertThatThrownBy(() -> S3Files.upload(file, path("a", HASTY))).isInstanceOf(CuFileException.class)
                .hasMessageContaining("an upload without parts may stay at the server: bucket models, key a");
        ended.countDown();
    }

    /** The server makes an upload, its id is lost, and the repetition makes another one. */
    @Test
    void uploadWhoseIdIsLostBeforeAnotherBeginsIsLogged() throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[17 << 16]);
        AtomicBoolean lost = new AtomicBoolean();
        server.on((exchange, request) -> {
            boolean first = beginsUpload(exchange) && lost.compareAndSet(false, true);
            if (first) {
                server.uploads.put("lost", new ConcurrentSkipListMap<>());
                exchange.close();
            }
            return first;
        });
        List<String> logged = logged(() -> S3Files.upload(file, path("a%1Bb", OPTIONS)));
        assertThat(server.objects).containsOnlyKeys("a\u001bb");
        assertThat(logged).containsExactly(
                "an upload was begun twice, because an answer was missing or an error; an upload without parts may stay at the server: bucket models, key a\\u001bb");

        assertThat(logged(() -> S3Files.upload(file, path("b", OPTIONS)))).isEmpty();
        server.on((exchange, request) -> {
            boolean busy = beginsUpload(exchange) && lost.compareAndSet(true, false);
            if (busy) {
                S3Server.answer(exchange, 503, "<Error><Code>SlowDown</Code></Error>");
            }
            return busy;
        });
        assertThat(logged(() -> S3Files.upload(file, path("c", OPTIONS)))).as("refused, not lost").isEmpty();
    }

    /** The server makes an upload, answers with an error of its own, and makes another one for the repetition. */
    @ParameterizedTest
    @ValueSource(ints = {500, 502, 503, 504})
    void uploadThatAnErrorHidesIsNamed(int status) throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[17 << 16]);
        AtomicBoolean refuses = new AtomicBoolean();
        AtomicBoolean failed = new AtomicBoolean();
        server.on((exchange, request) -> {
            boolean first = beginsUpload(exchange) && failed.compareAndSet(false, true);
            if (first) {
                server.uploads.put("hidden", new ConcurrentSkipListMap<>());
                S3Server.answer(exchange, status, "<Error><Code>InternalError</Code></Error>");
            } else if (refuses.get()) {
                S3Server.answer(exchange, 403, "<Error><Code>AccessDenied</Code></Error>");
            }
            return first || refuses.get();
        });
        String named = "an upload without parts may stay at the server: bucket models, key a";
        assertThat(logged(() -> S3Files.upload(file, path("a", OPTIONS))))
                .containsExactly("an upload was begun twice, because an answer was missing or an error; " + named);
        assertThat(server.objects).containsOnlyKeys("a");

        refuses.set(true);
        failed.set(false);
        assertThatThrownBy(() -> S3Files.upload(file, path("a", OPTIONS))).hasMessageContaining("status 403")
                .hasMessageContaining(named);
        assertThat(server.uploads).containsOnlyKeys("hidden");
    }

    /** Portals, proxies and servers of files answer so, and store nothing. */
    @ParameterizedTest
    @CsvSource({"200, '', ''", "200, '<html>Please log in</html>', ''", "200, '<html>Please log in</html>', x",
            "204, '', ''",
            "201, '', x"})
    void answerThatIsNotOfS3IsNoSuccess(int status, String body, String tag) throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[10]);
        server.on((exchange, request) -> {
            boolean isPut = exchange.getRequestMethod().equals("PUT");
            if (isPut) {
                exchange.getRequestBody().readAllBytes();
                if (!tag.isEmpty()) {
                    exchange.getResponseHeaders().set("ETag", tag);
                }
                byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
                exchange.getResponseBody().write(bytes);
            }
            return isPut;
        });
        for (Action each : List.<Action>of(() -> S3Files.upload(file, path("a", OPTIONS)),
                () -> S3Files.uploadNew(file, path("a", OPTIONS)))) {
            assertThatThrownBy(each::run).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("status " + status).hasMessageContaining(body)
                    .hasMessageContaining("where a store answers with status 200, an ETag and no text");
        }
        assertThat(server.objects).isEmpty();
    }

    /** The object is there, and its mark proves whose it is. */
    @Test
    void markProvesWhatTheAnswerDoesNotSay() throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[10]);
        server.on((exchange, request) -> {
            boolean isPut = exchange.getRequestMethod().equals("PUT");
            if (isPut) {
                server.serveUnanswered(exchange);
                exchange.sendResponseHeaders(204, -1);
            }
            return isPut;
        });
        S3Files.uploadNew(file, path("a", OPTIONS));
        assertThat(server.objects).containsOnlyKeys("a");
    }

    /** The first answer is lost, the repetition is refused, and the server does not tell what is there. */
    @Test
    void objectThatAnEarlierAttemptMayHaveStoredIsNamed() throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[17 << 16]);
        server.on((exchange, request) -> {
            boolean completes = exchange.getRequestMethod().equals("POST") && !beginsUpload(exchange)
                    && !server.uploads.isEmpty();
            boolean looks = exchange.getRequestMethod().equals("HEAD");
            if (completes) {
                server.serveUnanswered(exchange);
                exchange.close();
            } else if (looks) {
                exchange.sendResponseHeaders(403, -1);
            }
            return completes || looks;
        });
        assertThatThrownBy(() -> S3Files.upload(file, path("a", OPTIONS))).isInstanceOf(CuFileException.class)
                .hasMessageContaining("status 404").hasMessageContaining("the object may be there all the same");
        assertThat(server.objects).containsOnlyKeys("a");
    }

    /**
     * The server stores the object and ends the kept connection. libcurl repeated the request without a word, so that its answer was that of
     * the repetition.
     */
    @ParameterizedTest
    @CsvSource({"true, there is such an object already", "false, status 403"})
    void objectThatARequestOfAKeptConnectionStoredIsNamed(boolean isNew, String refusal) throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[10]);
        S3Files.upload(file, path("before", OPTIONS));
        AtomicBoolean lost = new AtomicBoolean();
        server.on((exchange, request) -> {
            boolean stores = exchange.getRequestMethod().equals("PUT") && lost.compareAndSet(false, true);
            boolean looks = exchange.getRequestMethod().equals("HEAD");
            boolean refuses = !stores && !looks && !isNew;
            if (stores) {
                server.serveUnanswered(exchange);
                exchange.close();
            } else if (looks) {
                exchange.sendResponseHeaders(403, -1);
            } else if (refuses) {
                S3Server.answer(exchange, 403, "<Error><Code>AccessDenied</Code></Error>");
            }
            return stores || looks || refuses;
        });
        Path target = path("a", OPTIONS);
        Action upload = isNew ? () -> S3Files.uploadNew(file, target) : () -> S3Files.upload(file, target);
        assertThatThrownBy(upload::run).isInstanceOf(CuFileException.class)
                .hasMessageContaining(isNew ? "status 412" : refusal)
                .hasMessageContaining("the object may be there all the same");
        assertThat(server.objects).containsOnlyKeys("a", "before");
    }

    /** versitygw refuses a long body before it has read it, and its answer may get lost. */
    @Test
    void objectOfAnotherWriterExistsWhateverBecameOfTheFirstAnswer() throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[10]);
        S3Files.upload(file, path("a", OPTIONS));
        AtomicBoolean lost = new AtomicBoolean();
        server.on((exchange, request) -> {
            boolean loses = exchange.getRequestMethod().equals("PUT") && lost.compareAndSet(false, true);
            if (loses) {
                exchange.close();
            }
            return loses;
        });
        CuFileException e =
                catchThrowableOfType(CuFileException.class, () -> S3Files.uploadNew(file, path("a", OPTIONS)));
        assertThat(e).hasMessageContaining("there is such an object already").hasMessageNotContaining("may be");
        assertThat(e.errno()).hasValue(Errno.EEXIST);
    }

    /** S3 refuses a writer while another one stores the same object, and wants a whole object again, but not the end of parts. */
    @ParameterizedTest
    @CsvSource({"10, 1, 2, ''", "10, 9, 3, status 409", "17825792, 1, 1, status 409"})
    void conflictOfWritersIsRepeatedWhereS3WantsIt(int size, int conflicts, int requests, String refusal)
            throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[size]);
        AtomicInteger asked = new AtomicInteger();
        server.on((exchange, request) -> {
            boolean refuses = exchange.getRequestHeaders().containsKey("If-None-Match")
                    && asked.incrementAndGet() <= conflicts;
            if (refuses) {
                S3Server.answer(exchange, 409, "<Error><Code>ConditionalRequestConflict</Code></Error>");
            }
            return refuses;
        });
        if (refusal.isEmpty()) {
            S3Files.uploadNew(file, path("a", OPTIONS));
            assertThat(server.objects).containsOnlyKeys("a");
        } else {
            assertThatThrownBy(() -> S3Files.uploadNew(file, path("a", OPTIONS))).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("another writer stores the object at the same time")
                    .hasMessageContaining(refusal);
            assertThat(server.objects).isEmpty();
        }
        assertThat(server.uploads).isEmpty();
        assertThat(asked).hasValue(requests);
    }

    /** A portal says "yes" to everything. */
    @Test
    void whatWasNotDeletedAsS3DoesIsNamed() throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[17 << 16]);
        server.on((exchange, request) -> {
            boolean begins = beginsUpload(exchange);
            if (!begins) {
                S3Server.answer(exchange, 200, "<html>Please log in</html>");
            }
            return !begins;
        });
        assertThatThrownBy(() -> S3Files.upload(file, path("a", OPTIONS)))
                .hasMessageContaining("where a store answers with status 200, an ETag")
                .hasMessageContaining("its parts stay at the server: bucket models, key a, upload id id/1+&");
        assertThatThrownBy(() -> S3Files.delete(path("a", OPTIONS)))
                .hasMessageContaining("where a store answers with status 204");
    }

    private static boolean beginsUpload(HttpExchange exchange) {
        return String.valueOf(exchange.getRequestURI().getQuery()).startsWith("uploads");
    }

    interface Action {
        void run() throws IOException;
    }

    static List<String> logged(Action action) throws IOException {
        List<String> lines = new CopyOnWriteArrayList<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord entry) {
                lines.add(entry.getMessage());
            }

            @Override
            public void flush() {
                // nothing is kept back
            }

            @Override
            public void close() {
                // nothing is open
            }
        };
        Logger logger = Logger.getLogger("io.gds4j.remote");
        logger.addHandler(handler);
        logger.setUseParentHandlers(false);
        try {
            action.run();
        } finally {
            logger.setUseParentHandlers(true);
            logger.removeHandler(handler);
        }
        return lines;
    }

    @Test
    void uploadThatDidNotBeginIsNotNamed() throws IOException {
        Path file = Files.write(folder.resolve("file"), new byte[17 << 16]);
        Path target = path("a", OPTIONS.withPatience(Duration.ofSeconds(2), 1, Duration.ZERO));
        server.on((exchange, request) -> {
            S3Server.answer(exchange, 403, "<Error><Code>AccessDenied</Code></Error>");
            return true;
        });
        assertThatThrownBy(() -> S3Files.upload(file, target)).hasMessageNotContaining("may stay");
        server.close();
        assertThatThrownBy(() -> S3Files.upload(file, target)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("ConnectException").hasMessageNotContaining("may stay");
    }

    /** A read that stalls has the only connection. The program that deletes may be ending. */
    @Test
    void interruptedProgramDoesNotWaitForAConnection() throws Exception {
        server.objects.put("a", new byte[8 << 20]);
        HttpOptions one = OPTIONS.withRequests(1 << 20, 1);
        Path object = path("a", one);
        RangeSource source = ((SourcePath) object).openSource();
        CountDownLatch reads = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        server.on((exchange, request) -> {
            reads.countDown();
            await(ended);
            return false;
        });
        Thread reader = Thread.startVirtualThread(() -> {
            try {
                source.read(0, MemorySegment.ofArray(new byte[8 << 20]), Cancellation.NEVER);
            } catch (IOException | InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        reads.await();
        long begun = System.nanoTime();
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> S3Files.delete(object)).hasMessageContaining("all connections are in use");
        assertThat(Thread.interrupted()).isTrue();
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(10));
        ended.countDown();
        reader.join();
    }

    /** Interrupts an upload before the server answers with its id, which it does once the latch allows. */
    private CuFileInterruptedException interruptedAtItsBeginning(Path file, CountDownLatch mayAnswer) {
        Thread uploader = Thread.currentThread();
        server.on((exchange, request) -> {
            if (beginsUpload(exchange)) {
                uploader.interrupt();
                while (uploader.isInterrupted()) {
                    Thread.onSpinWait(); // until it notices
                }
                await(mayAnswer);
            }
            return false;
        });
        CuFileInterruptedException failure = catchThrowableOfType(
                CuFileInterruptedException.class, () -> S3Files.upload(file, path("a", OPTIONS)));
        assertThat(Thread.interrupted()).isTrue();
        assertThat(server.objects).isEmpty();
        return failure;
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The client sends the port in {@code Host} only if it is not that of the scheme, and the signature covers {@code Host}. */
    @ParameterizedTest
    @ValueSource(strings = {"http://store.invalid", "http://store.invalid:80", "http://store.invalid:81"})
    void signatureCoversTheHostAsItIsSent(String endpoint) throws IOException {
        server.objects.put("a", new byte[10]);
        HttpOptions proxied = OPTIONS.withProxy(
                ProxySelector.of(new InetSocketAddress("127.0.0.1", server.endpoint().getPort())));
        S3Options options = server.options().withHttp(proxied).withEndpoint(URI.create(endpoint));
        assertThat(Files.size(S3Files.path(URI.create("s3://models/a"), options))).isEqualTo(10);
    }

    /** S3 sends spaces while it completes an upload. They kept the connection open, but counted as no progress. */
    @ParameterizedTest
    @CsvSource({"1500, 18", "200, 1000"})
    void uploadMayTakeLongToCompleteButNotForEver(int stallMillis, int spaces) throws IOException {
        HttpOptions patient = OPTIONS.withPatience(Duration.ofMillis(stallMillis), 1, Duration.ZERO);
        Path large = Files.write(folder.resolve("large"), new byte[17 << 16]);
        server.on((exchange, request) -> {
            boolean isPart = exchange.getRequestMethod().equals("PUT");
            if (isPart) {
                exchange.getRequestBody().readAllBytes();
                exchange.getResponseHeaders().set("ETag", "\"part\"");
                exchange.sendResponseHeaders(200, -1);
            }
            boolean completes = exchange.getRequestMethod().equals("POST")
                    && String.valueOf(exchange.getRequestURI().getQuery()).contains("uploadId=");
            if (completes) {
                exchange.getRequestBody().readAllBytes();
                exchange.sendResponseHeaders(200, 0);
                for (int i = 0; i < spaces; i++) {
                    exchange.getResponseBody().write(' ');
                    exchange.getResponseBody().flush();
                    LockSupport.parkNanos(Duration.ofMillis(100).toNanos());
                }
                exchange.getResponseBody().write(S3Server.COMPLETED.getBytes(StandardCharsets.UTF_8));
            }
            return isPart || completes;
        });
        if (spaces < 1000) {
            S3Files.upload(large, path("slow", patient));
        } else {
            assertThatThrownBy(() -> S3Files.upload(large, path("slow", patient)))
                    .hasMessageContaining("no progress for 0.2s");
        }
    }

    @Test
    void listOfAnotherFolderIsAnError() {
        server.on((exchange, request) -> {
            S3Server.answer(exchange, 200, "<ListBucketResult><Contents><Key>x</Key></Contents></ListBucketResult>");
            return true;
        });
        assertThatThrownBy(() -> Files.list(path("folder/", OPTIONS))).isInstanceOf(CuFileException.class)
                .hasMessageContaining("objects of another folder");
    }

    @Test
    void credentialsThatCannotBeSentAreRefused() {
        for (String token : new String[]{"hush\r", "hush hush", "hush\u00e4"}) {
            assertThat(catchThrowable(() -> new S3Credentials("A", "s", Optional.of(token), Optional.empty())))
                    .isInstanceOf(CuFileException.class).hasMessageContaining("visible ASCII")
                    .hasMessageNotContaining("hush").hasNoCause();
            assertThatThrownBy(() -> S3Credentials.of(token, "s")).hasMessageNotContaining("hush");
        }
    }
}
