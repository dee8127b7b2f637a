package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpHeaders;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which answers are a range of the version that a source reads. */
class ObjectVersionTest {
    private static final String MONDAY = "Mon, 23 Nov 2026 10:00:00 GMT";
    private static final String TUESDAY = "Tue, 24 Nov 2026 10:00:00 GMT";

    /** Reads headers as {@code name: value; name: value}. */
    private static AnswerHead headers(String text) {
        Map<String, List<String>> all = new TreeMap<>();
        Arrays.stream(text.split("; ")).filter(line -> !line.isEmpty()).map(line -> line.split(": ", 2))
                .forEach(line -> all.merge(line[0], List.of(line[1]), (a, b) -> List.of(a.get(0), b.get(0))));
        return new AnswerHead(206, HttpHeaders.of(all, (name, value) -> true));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            bytes 0-9/10                  | 0 9 10
            BYTES 3-3/4                   | 3 3 4
            ' bytes 5-8/100 '             | 5 8 100
            bytes 0-999999999999999998/999999999999999999 | 0 999999999999999998 999999999999999999
            bytes 5-4/10                  | none
            bytes 0-10/10                 | none
            bytes 9-9/9                   | none
            bytes 0-9/*                   | none
            bytes */10                    | none
            items 0-9/10                  | none
            bytes 0-9/1000000000000000000 | none
            bytes 0-9/10 and more         | none
            ''                            | none
            """)
    void rangeIsParsedIfItIsOne(String header, String range) {
        assertThat(ContentRange.parse(header)
                .map(got -> got.first() + " " + got.last() + " " + got.total()).orElse("none")).isEqualTo(range);
    }

    @ParameterizedTest
    @CsvSource({"bytes */0, 0", "' Bytes */17 ', 17", "bytes */-1, -1", "bytes 0-1/17, -1", "bytes */, -1", "'', -1"})
    void answer416TellsTheSize(String header, long total) {
        assertThat(ContentRange.totalOfUnsatisfied(header)).isEqualTo(total);
    }

    @ParameterizedTest(name = "{0} then {1}: {2}")
    @CsvSource(delimiter = '|', textBlock = """
            # first answer, of 1000 bytes | headers of the answer for bytes 100 to 199        | mismatch
            ETag: "a"                     | ETag: "a"; Content-Range: bytes 100-199/1000      | ''
            ETag: "a"                     | ETag: "a"                                         | status 206 without Content-Range
            ETag: "a"                     | ETag: "a"; Content-Range: words                   | wrong Content-Range 'words'
            ETag: "a"                     | ETag: "a"; Content-Range: bytes 99-199/1000       | Content-Range is 'bytes 99-199/1000' instead of bytes 100-199/1000
            ETag: "a"                     | ETag: "a"; Content-Range: bytes 101-199/1000      | Content-Range is 'bytes 101-199/1000' instead of bytes 100-199/1000
            ETag: "a"                     | ETag: "a"; Content-Range: bytes 100-198/1000      | ''
            ETag: "a"                     | ETag: "a"; Content-Range: bytes 100-200/1000      | Content-Range is 'bytes 100-200/1000' instead of bytes 100-199/1000
            ETag: "a"                     | ETag: "a"; Content-Range: bytes 100-199/1001      | the object changed: it had 1000 bytes, now it has 1001
            ETag: "a"                     | ETag: "b"; Content-Range: bytes 100-199/1000      | the object changed: its ETag was "a", now it is "b"
            ETag: "a"                     | Content-Range: bytes 100-199/1000                 | the object changed: its ETag was "a", now it is
            ''                            | ETag: "b"; Content-Range: bytes 100-199/1000      | the object changed: its ETag was , now it is "b"
            ETag: "a"; Last-Modified: 1   | ETag: "a"; Last-Modified: 2; Content-Range: bytes 100-199/1000 | ''
            Last-Modified: 1              | Last-Modified: 1; Content-Range: bytes 100-199/1000 | ''
            Last-Modified: 1              | Last-Modified: 2; Content-Range: bytes 100-199/1000 | the object changed: Last-Modified was 1, now it is 2
            ''                            | Content-Range: bytes 100-199/1000                 | ''
            x-goog-generation: 1          | x-goog-generation: 1; Content-Range: bytes 100-199/1000 | ''
            x-goog-generation: 1          | Content-Range: bytes 100-199/1000                 | ''
            x-goog-generation: 1          | x-goog-generation: 2; Content-Range: bytes 100-199/1000 | the object changed: its generation was 1, now it is 2
            ETag: "a"                     | ETag: "a"; Content-Encoding: gzip; Content-Range: bytes 100-199/1000 | the body is encoded: gzip
            """)
    void everyAnswerAgreesWithTheFirst(String first, String then, String mismatch) {
        String got = ObjectVersion.of(1000, headers(first)).mismatch(headers(then), 100, 199).orElse("");
        assertThat(got.strip()).isEqualTo(mismatch);
        assertThat(ObjectVersion.isChange(got)).isEqualTo(mismatch.startsWith("the object changed"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            ''                                                   | ''
            Content-Encoding: identity                           | ''
            Content-Encoding: Identity , AWS-chunked,,           | ''
            Content-Encoding: gzip                               | gzip
            Content-Encoding: aws-chunked, br                    | br
            Content-Encoding: identity; Content-Encoding: deflate | deflate
            """)
    void onlyEncodingsThatChangeTheBytesAreRefused(String text, String encoding) {
        assertThat(headers(text).encoded().orElse(""))
                .isEqualTo(encoding.isEmpty() ? "" : "the body is encoded: " + encoding);
    }

    @ParameterizedTest
    @CsvSource({"'\"a\"', true", "'W/\"a\"', false", "'', false"})
    void onlyStrongTagsCanBeDemanded(String etag, boolean demanded) {
        assertThat(new ObjectVersion(1, etag, "", "").canBeDemanded()).isEqualTo(demanded);
    }

    @Test
    void timeOfTheVersionIsThatOfTheServer() {
        assertThat(new ObjectVersion(1, "", MONDAY, "").modified()).contains(Instant.parse("2026-11-23T10:00:00Z"));
        assertThat(new ObjectVersion(1, "", TUESDAY, "").modified()).contains(Instant.parse("2026-11-24T10:00:00Z"));
        assertThat(new ObjectVersion(1, "", "", "").modified()).isEmpty();
        assertThat(new ObjectVersion(1, "", "yesterday", "").modified()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 99, 100, 101, 5000})
    void textsOfServersAreShortInMessages(int length) {
        String shown = AnswerHead.shortened("x".repeat(length));
        assertThat(shown).isEqualTo("x".repeat(Math.min(length, 100)) + (length > 100 ? "..." : ""));
    }

    @ParameterizedTest
    @CsvSource({"'', 0", "0, 0", "7, 7", "' 7 ', 7", "3600, 3600", "3601, 3600", "999999999, 3600", "9999999999, 3600",
            "99999999999999999999, 3600", "000000007, 7", "1e9, 0",
            "-1, 0", "soon, 0"})
    void pauseThatAServerAsksForHasALimit(String text, long seconds) {
        assertThat(headers("Retry-After: " + text).retryAfter()).isEqualTo(seconds * 1_000_000_000);
        assertThat(headers("").retryAfter()).isZero();
    }

    @Test
    void pauseThatAServerAsksForMayEndAtATime() {
        ZonedDateTime then = ZonedDateTime.now(ZoneOffset.UTC).plusSeconds(100);
        Duration pause = Duration.ofNanos(
                headers("Retry-After: " + then.format(DateTimeFormatter.RFC_1123_DATE_TIME)).retryAfter());
        assertThat(pause).isBetween(Duration.ofSeconds(40), Duration.ofSeconds(101));
        assertThat(headers("Retry-After: " + MONDAY).retryAfter()).as("passed").isZero();
    }

    @ParameterizedTest(name = "status {0}, {1}")
    @CsvSource(delimiter = '|', textBlock = """
            # status | headers | why the length of the body is unknown
            206 | ''                                            | ''
            206 | Content-Length: 10                            | ''
            206 | Content-Length: 10; Content-Length: 10        | ''
            206 | Content-Length: 10; Content-Length: 11        | the Content-Length of the answer is wrong
            206 | Content-Length: 9223372036854775807           | ''
            206 | Content-Length: 9223372036854775808           | the Content-Length of the answer is wrong
            206 | Content-Length: ten                           | the Content-Length of the answer is wrong
            206 | Transfer-Encoding: Chunked                    | ''
            206 | Transfer-Encoding: gzip                       | the transfer coding of the answer is unknown: gzip
            206 | Transfer-Encoding: gzip; Transfer-Encoding: chunked | the transfer coding of the answer is unknown: gzip, chunked
            206 | Transfer-Encoding: chunked; Content-Length: 1 | the answer has both Transfer-Encoding and Content-Length
            204 | ''                                            | ''
            204 | Content-Length: 0                             | ''
            204 | Content-Length: 1                             | status 204 with a body
            204 | Transfer-Encoding: chunked                    | status 204 with a body
            """)
    void headersTellTheLengthOfTheBody(int status, String text, String fault) {
        AnswerHead head = new AnswerHead(status, headers(text).headers());
        assertThat(head.fault().orElse("")).isEqualTo(fault);
        if (fault.isEmpty()) {
            assertThat(head.tellsEnd()).isEqualTo(!text.isEmpty());
        }
    }

    @Test
    void bodyThatEndsWithItsConnectionTellsNoEnd() {
        assertThat(headers("Transfer-Encoding: gzip").tellsEnd()).isFalse();
        assertThat(headers("Content-Length: 0").tellsEnd()).isTrue();
    }

    /** @param more bytes beyond the limit */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void headersHaveALimit(int more) {
        String line = "x".repeat((96 << 10) - 4 + more);
        assertThat(headers("Name: " + line).fault()).isEqualTo(
                more == 0 ? Optional.empty() : Optional.of(AnswerHead.TOO_LONG));
        // with 32 for each header they have 256 KiB
        String half = "x".repeat((64 << 10) - 32 - 2);
        String three = "A1: %s; A2: %s; A3: %s; A4: ".formatted(half, half, half);
        assertThat(headers(three + half + "x".repeat(more)).fault()).isEqualTo(
                more == 0 ? Optional.empty() : Optional.of(AnswerHead.TOO_LONG));
    }

    @Test
    void headersOfFailuresAreRead() {
        AnswerHead none = headers("");
        AnswerHead head =
                headers("x-goog-generation: 17; X-Error-Code: GatedRepo; x-amz-bucket-region: eu-west-9; Date: "
                        + MONDAY);
        assertThat(head.generation()).isEqualTo("17");
        assertThat(none.generation()).isEmpty();
        assertThat(head.hubCode()).isEqualTo("GatedRepo");
        assertThat(head.bucketRegion()).contains("eu-west-9");
        assertThat(headers("x-amz-bucket-region: <html>").bucketRegion()).isEmpty();
        assertThat(head.date()).contains(Instant.parse("2026-11-23T10:00:00Z"));
        assertThat(none.date()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"401, 'Bearer error=\"invalid_token\"', true", "401, Bearer, false",
            "403, 'Bearer error=\"invalid_token\"', false"})
    void tokenIsRefusedByNameOnly(int status, String header, boolean refused) {
        assertThat(new AnswerHead(status, headers("WWW-Authenticate: " + header).headers()).refusesToken())
                .isEqualTo(refused);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
            "<https://h/tree/1?recursive=true&cursor=a%3D=>; rel=\"next\" | recursive=true&cursor=a%3D=",
            "<https://h/a?x=1>; rel=prev, </a?x=2>; title=t; rel=next | x=2", "<https://h/a?x=1>; rel=\"prev\" | ''",
            "<https://h/a?x=1>; rel=nextpage | ''", "<https://h/a>; rel=next | ''", "<https://h/a?x y>; rel=next | ''"})
    void nextPageIsTheQueryOfItsLink(String link, String query) {
        HttpHeaders headers = HttpHeaders.of(Map.of("Link", List.of(link)), (name, value) -> true);
        assertThat(new AnswerHead(200, headers).nextPage().orElse("")).isEqualTo(query);
    }

    /** Otherwise the first request after the pause came too early. */
    @Test
    void pauseLastsUntilTheTimeThatTheServerNames() {
        ZonedDateTime then = ZonedDateTime.now(ZoneOffset.UTC).plusSeconds(100).truncatedTo(ChronoUnit.SECONDS);
        String header = "Retry-After: " + then.format(DateTimeFormatter.RFC_1123_DATE_TIME);
        Duration pause = Duration.ofNanos(headers(header).retryAfter());
        assertThat(pause).isGreaterThanOrEqualTo(Duration.between(Instant.now(), then));
    }
}
