package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileException;
import io.gds4j.source.Cancellation;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What headers of answers mean: the same to libcurl and to the client of the JDK. */
@Tag("slow")
@Timeout(120)
class AnswerHeadTest {
    private static final byte[] BYTES = RangeServer.random(1000);
    private static final HttpOptions OPTIONS = HttpOptions.DEFAULTS.withRequests(64 << 10, 2)
            .withPatience(Duration.ofSeconds(30), 3, Duration.ofMillis(1));
    private static final HttpOptions ONCE = OPTIONS.withPatience(Duration.ofSeconds(30), 1, Duration.ofMillis(1));

    private enum Length {
        RIGHT, NONE, SHORT, TWO, TEXT;

        String header() {
            return switch (this) {
                case RIGHT -> "Content-Length: 1000\r\n";
                case NONE -> "";
                case SHORT -> "Content-Length: 999\r\n";
                case TWO -> "Content-Length: 1000\r\nContent-Length: 999\r\n";
                case TEXT -> "Content-Length: 1000, 1000\r\n";
            };
        }
    }

    private enum Range {
        RIGHT, NONE, OTHER;

        String header() {
            return switch (this) {
                case RIGHT -> "Content-Range: bytes 0-999/1000\r\n";
                case NONE -> "";
                case OTHER -> "Content-Range: bytes 1-1000/1001\r\n";
            };
        }
    }

    private record Cell(int status, Length length, String coding, String encoding, Range range, String version) {
        byte[] answer() throws IOException {
            boolean chunked = coding.endsWith("chunked");
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            out.write(RawServer.ascii("%s %d x\r\nETag: \"v\"\r\n%s%s%s%s\r\n%s".formatted(
                    version, status, length.header(), header("Transfer-Encoding", coding),
                    header("Content-Encoding", encoding), range.header(), chunked ? "3e8\r\n" : "")));
            out.write(BYTES);
            out.write(RawServer.ascii(chunked ? "\r\n0\r\n\r\n" : ""));
            return out.toByteArray();
        }

        private static String header(String name, String value) {
            return value.isEmpty() ? "" : "%s: %s\r\n".formatted(name, value);
        }

        /** Returns what a message tells; empty if the object is read. */
        String refusal() {
            if (length == Length.TEXT) {
                return "the Content-Length of the answer is wrong";
            }
            if (status == 204) {
                return coding.isEmpty() && length == Length.NONE ? "status 204," : "status 204 with a body";
            }
            if (coding.contains("gzip")) {
                return "the transfer coding of the answer is unknown: " + coding;
            }
            boolean chunked = !coding.isEmpty();
            if (chunked && length != Length.NONE) {
                return "both Transfer-Encoding and Content-Length";
            }
            if (length == Length.TWO) {
                return "the Content-Length of the answer is wrong";
            }
            return switch (status) {
                case 404 -> "status 404: there is no such object";
                case 416 -> "status 416: the object has no such range";
                case 200 -> !chunked && length == Length.NONE ? "the server has no ranges"
                        : encoding.isEmpty() ? "" : "the body is encoded: gzip";
                default -> range == Range.NONE ? "status 206 without Content-Range"
                        : range == Range.OTHER ? "wrong Content-Range 'bytes 1-1000/1001'"
                                : !encoding.isEmpty() ? "the body is encoded: gzip"
                                        : length == Length.SHORT ? "the body ends 1 bytes early" : "";
            };
        }

        byte[] object() {
            return status == 200 && length == Length.SHORT ? Arrays.copyOf(BYTES, 999) : BYTES;
        }
    }

    private static List<Cell> table() {
        List<Cell> cells = new ArrayList<>();
        for (int status : new int[]{200, 204, 206, 404, 416}) {
            for (Length length : Length.values()) {
                for (String coding : List.of("", "chunked", "gzip", "gzip, chunked")) {
                    for (String encoding : List.of("", "gzip")) {
                        for (Range range : Range.values()) {
                            cells.add(new Cell(
                                    status, length, coding, encoding, range, "HTTP/1." + cells.size() % 2));
                        }
                    }
                }
            }
        }
        return cells;
    }

    /** A use of a client. */
    @FunctionalInterface
    private interface Use<T> {
        T of(HttpConnections connections) throws Exception;
    }

    /** Returns what happens by libcurl, where there is one, and by the JDK. */
    private static <T> Map<String, T> byEachClient(HttpOptions options, Use<T> use) throws Exception {
        Map<String, T> all = new HashMap<>();
        String chosen = System.getProperty("gds4j.http", "");
        for (String client : List.of("any", "jdk")) {
            System.setProperty("gds4j.http", client);
            try {
                all.put(client, use.of(new HttpConnections(options, Signer.NONE, System::nanoTime)));
            } finally {
                System.setProperty("gds4j.http", chosen);
            }
        }
        return all;
    }

    private static byte[] read(HttpSource source) throws InterruptedException {
        byte[] all = new byte[(int) source.size()];
        source.read(0, MemorySegment.ofArray(all), Cancellation.NEVER);
        return all;
    }

    /** Returns the size of the object, or why it is not read, without the port. */
    private static String told(URI uri, HttpConnections connections) {
        try {
            return read(HttpSource.open(uri, connections)).length + " bytes";
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        } catch (CuFileException e) {
            assertThat(e.getMessage()).doesNotContainPattern("[\\x00-\\x1f\\x7f]").hasSizeLessThan(500);
            return e.getMessage().replaceAll("127.0.0.1:\\d+", "HOST");
        }
    }

    @Test
    void bothClientsReadTheSameObjectOrRefuseItForTheSameReason() throws Exception {
        List<Cell> table = table();
        try (RawServer server = new RawServer((request, out) -> out.write(
                table.get(Integer.parseInt(request.substring(5, request.indexOf(' ', 5)))).answer()))) {
            byEachClient(ONCE, connections -> {
                for (int i = 0; i < table.size(); i++) {
                    Cell cell = table.get(i);
                    URI uri = server.uri("/" + i);
                    if (cell.refusal().isEmpty()) {
                        assertThat(read(HttpSource.open(uri, connections))).describedAs("%s", cell)
                                .isEqualTo(cell.object());
                    } else {
                        assertThat(told(uri, connections)).describedAs("%s", cell).contains(cell.refusal());
                    }
                }
                return true;
            });
        }
        assertThat(table).hasSize(600);
    }

    private static String head(String more) {
        return "HTTP/1.1 206 x\r\nETag: \"v\"\r\nContent-Range: bytes 0-999/1000\r\nContent-Length: 1000\r\n" + more;
    }

    private static Stream<Arguments> heads() {
        String lines = Stream.iterate(0, i -> i + 1).limit(100_000).map("X%s: a\r\n"::formatted)
                .reduce(new StringBuilder(), StringBuilder::append, (a, b) -> a).toString();
        String interim = "HTTP/1.1 102 x\r\nETag: \"other\"\r\nContent-Length: 7\r\n\r\n";
        String character = "a header of the answer has a character that is not allowed";
        return Stream.of(
                Arguments.of(head("X: \tü\t;\u0085\r\nY:\r\n: no name\r\nZ: \u0001\u000b\r\n"), "1000 bytes"),
                Arguments.of(head("X: a\r\n b\r\n\tc\r\n"), "1000 bytes"),
                Arguments.of(interim.repeat(8) + head(""), "1000 bytes"),
                Arguments.of(interim.repeat(9) + head(""), "more than 8 interim answers"),
                Arguments.of("HTTP/1.1 101 x\r\nUpgrade: h2c\r\n\r\n" + head(""), "status 101, for which no request"),
                Arguments.of(head("X: a\u0001b\r\n"), character),
                Arguments.of(head("X: a\u0000b\r\n"), character),
                Arguments.of(head("X: a\u007f\r\n"), character),
                Arguments.of(head("X: a\r\n b\u000bc\r\n"), character),
                Arguments.of(head("\u0001: x\r\n"), character),
                Arguments.of(head("X : x\r\n"), character),
                Arguments.of(head("X(: x\r\n"), character),
                Arguments.of(head("X: " + "a".repeat(90_000) + "\r\n"), "1000 bytes"),
                Arguments.of(head("X: " + "a".repeat(99_000) + "\r\n"), AnswerHead.TOO_LONG),
                Arguments.of(head("X: " + "a".repeat(10_000_000) + "\r\n"), AnswerHead.TOO_LONG),
                Arguments.of(head(lines.substring(0, 60_000)) + "\r\n", "1000 bytes"),
                Arguments.of(head(lines.substring(0, 90_000)) + "\r\n", AnswerHead.TOO_LONG),
                Arguments.of(head(lines), AnswerHead.TOO_LONG));
    }

    @ParameterizedTest
    @MethodSource("heads")
    void headersAreReadOrRefusedAtOnceByBothClients(String head, String expected) throws Exception {
        try (RawServer server = new RawServer((request, out) -> {
            out.write(RawServer.ascii(head + "\r\n"));
            out.write(BYTES);
        })) {
            Map<String, String> told =
                    byEachClient(OPTIONS, connections -> told(server.uri("/object"), connections));
            assertThat(told.values()).allSatisfy(each -> assertThat(each).contains(expected));
            assertThat(told.get("any")).isEqualTo(told.get("jdk"));
            assertThat(server.requests).hasSize(2);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"HTTP/1.1 abc x", "HTTP/1.1 099 x", "HTTP/2 206 x", "ICY 206 x", "SSH-2.0-OpenSSH"})
    void somethingElseThanHttpIsRepeatedByBothClients(String line) throws Exception {
        try (RawServer server = new RawServer((request, out) -> out.write(
                RawServer.ascii(head("\r\n").replace("HTTP/1.1 206 x", line))))) {
            Map<String, String> told =
                    byEachClient(OPTIONS, connections -> told(server.uri("/object"), connections));
            assertThat(told.values()).allSatisfy(
                    each -> assertThat(each).contains("the answer has no valid status line (3 attempts)"));
            assertThat(server.requests).hasSize(6);
        }
    }

    /** Each part needs several answers. The last answers of another version are refused. */
    @ParameterizedTest
    @CsvSource({"50000, ''", "2000, ''", "500, had shorter ranges than asked for", "50000, the object changed"})
    void shorterRangesAreReadOn(int most, String refusal) throws Exception {
        byte[] object = RangeServer.random(400_007);
        try (RawServer server = new RawServer((request, out) -> {
            int[] range = RawServer.range(request, object.length);
            int last = Math.min(range[1], range[0] + most - 1);
            boolean changes = refusal.contains("changed") && range[0] > 300_000;
            out.write(RawServer.ascii(
                    "HTTP/1.1 206 x\r\nETag: \"%s\"\r\nContent-Range: bytes %s-%s/%s\r\nContent-Length: %s\r\n\r\n"
                            .formatted(changes ? "w" : "v", range[0], last, object.length, last - range[0] + 1)));
            out.write(object, range[0], last - range[0] + 1);
        })) {
            byEachClient(ONCE, connections -> {
                if (refusal.isEmpty()) {
                    assertThat(read(HttpSource.open(server.uri("/object"), connections))).isEqualTo(object);
                } else {
                    assertThat(told(server.uri("/object"), connections)).contains(refusal);
                }
                return true;
            });
        }
    }

    /** What a server says about the time of a signature; requests until the object is read or refused. */
    @ParameterizedTest
    @CsvSource({"-86400, RequestTimeTooSkewed, 2", "86400, SignatureDoesNotMatch, 2", "86400, '', 2",
            "0, RequestTimeTooSkewed, 1", "86400, AccessDenied, 1"})
    void wrongClockIsCorrectedByThatOfTheServer(long seconds, String code, int requests) throws Exception {
        S3Signer.ServerClock clock = new S3Signer.ServerClock(() -> Instant.now().plusSeconds(seconds));
        Signer signer = new S3Signer("us-east-1", "s3", () -> S3Credentials.of("id", "secret"), clock);
        try (RawServer server = new RawServer((request, out) -> {
            Instant sent = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmssX").parse(
                    request.replaceAll("(?is).*\nx-amz-date: (\\w+).*", "$1"), Instant::from);
            if (requests == 2 && Duration.between(sent, Instant.now()).abs().toMinutes() < 15) {
                out.write(RawServer.ascii(head("\r\n")));
                out.write(BYTES);
            } else {
                out.write(RawServer.ascii("HTTP/1.1 403 x\r\nDate: %s\r\n\r\n<Code>%s</Code>".formatted(
                        DateTimeFormatter.RFC_1123_DATE_TIME.format(Instant.now().atOffset(ZoneOffset.UTC)), code)));
            }
        })) {
            HttpConnections connections = new HttpConnections(OPTIONS, signer, System::nanoTime);
            List<String> logged = S3FaultTest.logged(() -> assertThat(told(server.uri("/object"), connections))
                    .contains(requests == 2 ? "1000 bytes" : "status 403: the server refuses access"));
            assertThat(logged).as("a word for each correction").hasSize(requests - 1);
            assertThat(server.requests).hasSize(requests);
            told(server.uri("/object"), connections);
            assertThat(server.requests).hasSize(requests + 1);
        }
    }

    /** Times that cannot be read, of a program that signs by itself and of a server far ahead: no reason to sign again. */
    @ParameterizedTest
    @CsvSource({"tomorrow, 'Sat, 01 Jan 2000 00:00:00 GMT'", "+100000101T000000Z, 'Fri, 31 Dec 9999 23:59:59 GMT'",
            "'', 'Sat, 01 Jan 2000 00:00:00 GMT'"})
    void timeThatTheProgramSignedCorrectsNoClock(String time, String ofServer) throws Exception {
        Signer signer = S3Signer.of("us-east-1", () -> S3Credentials.ANONYMOUS);
        try (RawServer server = new RawServer((request, out) -> out.write(RawServer.ascii(
                "HTTP/1.1 403 x\r\nDate: %s\r\n\r\n<Code>RequestTimeTooSkewed</Code>".formatted(ofServer))))) {
            byEachClient(ONCE.withHeader("x-amz-date", time), connections -> {
                HttpConnections signing = new HttpConnections(connections.options(), signer, System::nanoTime);
                assertThat(told(server.uri("/object"), signing)).contains("status 403: the server refuses access");
                return true;
            });
        }
    }

    @Test
    void brokenBodyIsNoSignOfAPortOfTls() throws Exception {
        try (RawServer server = new RawServer((request, out) -> out.write(RawServer.ascii(
                "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\nthis is no length\r\n")))) {
            byEachClient(ONCE, connections -> {
                assertThat(told(server.uri("/object"), connections)).contains("(1 attempts)")
                        .doesNotContain("wants https");
                return true;
            });
        }
    }
}
