package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Which hosts a redirect may lead to, however they are spelled. All requests go to a server on loopback, as to a proxy: no spelling lets
 * a client try another address. Hosts without an address have a label that no server of names is asked for.
 */
@Tag("slow")
@Timeout(120)
class RedirectHostsTest {
    private static final HttpOptions OPTIONS = HttpOptions.DEFAULTS
            .withPatience(Duration.ofSeconds(20), 3, Duration.ofMillis(1));
    private static final byte[] BYTES = RangeServer.random(1000);
    private static final String SETTING = "gds4j.http";

    private final RangeServer server = new RangeServer();
    private final String before = System.getProperty(SETTING, "");

    RedirectHostsTest() {
        server.put("/object.bin", BYTES);
        server.on((exchange, request) -> {
            String path = exchange.getRequestURI().getPath();
            boolean first = path.startsWith("/to/");
            if (first) {
                byte[] host = path.substring(4).getBytes(StandardCharsets.UTF_8);
                exchange.getResponseHeaders().set(
                        "Location", "http://%s/object.bin".formatted(new String(host, StandardCharsets.ISO_8859_1)));
                exchange.sendResponseHeaders(302, -1);
            }
            return first;
        });
    }

    @AfterEach
    void stop() {
        System.setProperty(SETTING, before);
        server.close();
    }

    /** Spellings that no parser reads otherwise than Java's, by the place that they lead to, and those that some do. */
    private enum Kind {
        LINK("169.254.169.254", "100.100.100.200", "168.63.129.16", "[fe80::1]", "[fd00:ec2::254]", "[fd20:ce::254]",
                "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[::a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]",
                "[64:ff9b::169.254.169.254]", "[2002:a9fe:a9fe::1]"),
        INNER("127.0.0.1", "127.255.255.254", "0.0.0.0", "localhost", "LOCALHOST", "10.1.2.3", "172.16.0.1",
                "192.168.0.1", "100.64.0.1", "192.0.0.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
                "user@127.0.0.1", "[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::127.0.0.1]", "[::ffff:127.0.0.1]",
                "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::a00:1]", "[2002:7f00:1::]",
                "[2002:a00:1::1]", "[fd00::1]", "[fec0::1]", "[ff02::1]"),
        PUBLIC("192.0.2.1", "[2001:db8::1]", "[::ffff:192.0.2.1]", RangeServer.UNKNOWN, RangeServer.UNKNOWN + "."),
        REFUSED("0x7f000001", "0X7F000001", "0x7f.0.0.1", "0x7f.1", "0177.0.0.1", "017700000001", "127.1", "127.0.1",
                "127.0.0.01", "127.00.0.1", "127.0.0.0x1", "2130706433", "127.0.0.1.", "127..0.1", "256.0.0.1",
                "127.0.0.1.1", "0", "00", "0x", "0x0", "0b1", "a.0x7f", "0xA9FEA9FE", "0xa9.0xfe.0xa9.0xfe",
                "0251.0376.0251.0376", "025177524776", "2852039166", "169.254.43518", "169.16689662", "0xA9FE.43518",
                "169.254.169.0376", "169.254.169.254.", "[fe80::1%25lo]", "[fe80::1%lo]", "[v1.fe]", "[127.0.0.1]",
                "[::ffff:0177.0.0.1]", "b\u00fccher.invalid", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021",
                "\u2460\u2461\u2466.0.0.1", "loc%61lhost", "127%2e0%2e0%2e1", "%31%32%37.0.0.1", "127.0.0.1%00.invalid",
                "my_host", "-a.invalid", "");

        private final List<String> hosts;

        Kind(String... hosts) {
            this.hosts = List.of(hosts);
        }

        static Stream<String> all() {
            return Stream.of(values()).flatMap(kind -> kind.hosts.stream());
        }
    }

    @Test
    void thereAreSpellingsEnough() {
        assertThat(Kind.all().distinct()).hasSizeGreaterThanOrEqualTo(60);
    }

    @ParameterizedTest
    @ValueSource(strings = {"any", "jdk"})
    void spellingsThatParsersReadInOtherWaysAreRefused(String client) {
        System.setProperty(SETTING, client);
        for (String host : Kind.REFUSED.hosts) {
            assertThatThrownBy(() -> HttpSource.open(from(RangeServer.UNKNOWN, host), server.asProxy(allowing())))
                    .as(host).isInstanceOf(CuFileException.class).hasMessageNotContaining("\n")
                    .hasMessageMatching("(?s).*(its redirect is not followed: |a bad Location).*");
            assertThat(server.requests()).as(host).isEqualTo(server.exchanges.size());
        }
        assertThat(server.exchanges).hasSize(Kind.REFUSED.hosts.size())
                .allMatch(exchange -> exchange.getRequestURI().getPath().startsWith("/to/"));
    }

    @ParameterizedTest
    @MethodSource("io.gds4j.remote.RedirectHostsTest#refused")
    void spellingThatIsRefusedIsAskedForByNoClient(String host) {
        String text = "http://%s:%s/object.bin".formatted(host, server.uri("/").getPort());
        for (String client : List.of("any", "jdk")) {
            System.setProperty(SETTING, client);
            assertThatThrownBy(() -> HttpSource.open(URI.create(text), server.asProxy(OPTIONS))).as(host)
                    .isInstanceOfAny(CuFileException.class, IllegalArgumentException.class)
                    .hasMessageNotContaining("status");
        }
        assertThat(server.requests()).isZero();
    }

    static List<String> refused() {
        return Kind.REFUSED.hosts.stream().filter(host -> !host.contains("%lo")).toList();
    }

    @ParameterizedTest
    @ValueSource(strings = {"any", "jdk"})
    void redirectToAMetadataServiceIsNeverFollowed(String client) {
        System.setProperty(SETTING, client);
        for (String host : Kind.LINK.hosts) {
            for (String origin : List.of("127.0.0.1", RangeServer.UNKNOWN)) {
                assertThatThrownBy(() -> HttpSource.open(from(origin, host), server.asProxy(OPTIONS))).as(host)
                        .hasMessageContaining("it redirects to a link-local address or a metadata service, http://")
                        .hasMessageNotContaining("attempts");
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"any", "jdk"})
    void redirectFromAPublicToAnInnerAddressIsNotFollowed(String client) throws Exception {
        System.setProperty(SETTING, client);
        for (String host : Kind.INNER.hosts) {
            for (String origin : List.of("192.0.2.1", RangeServer.UNKNOWN)) {
                assertThatThrownBy(() -> HttpSource.open(from(origin, host), server.asProxy(OPTIONS))).as(host)
                        .hasMessageContaining("it redirects from a public to an inner address, http://")
                        .hasMessageNotContaining("attempts");
            }
            assertReads("127.0.0.1", host, OPTIONS);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"any", "jdk"})
    void otherRedirectsAreFollowed(String client) throws Exception {
        System.setProperty(SETTING, client);
        for (String host : Kind.PUBLIC.hosts) {
            assertReads("127.0.0.1", host, OPTIONS);
            assertReads("192.0.2.1", host, OPTIONS);
        }
        for (Kind kind : List.of(Kind.LINK, Kind.INNER)) {
            for (String host : kind.hosts) {
                assertReads(RangeServer.UNKNOWN, host, allowing());
            }
        }
    }

    /** Only a proxy may know a host that has no address here. */
    @ParameterizedTest
    @ValueSource(strings = {"any", "jdk"})
    void unknownHostIsAskedForThroughAProxyOnly(String client) {
        System.setProperty(SETTING, client);
        URI uri = server.uri("/to/" + RangeServer.UNKNOWN);
        assertThatThrownBy(() -> HttpSource.open(uri, OPTIONS))
                .hasMessageContaining("the host is unknown (3 attempts)");
        assertThat(server.requests()).isEqualTo(1);
        // what is left to the client might be known a moment later
        assertThatThrownBy(() -> Place.of(uri).redirected(from(RangeServer.UNKNOWN, "host"), OPTIONS)
                .addresses(OPTIONS)).isInstanceOf(UnknownHostException.class);
    }

    private static HttpOptions allowing() {
        return OPTIONS.withRedirects(5, HttpOptions.RedirectTarget.INNER_ADDRESS);
    }

    private static URI from(String origin, String host) {
        return URI.create("http://" + origin + "/to/" + ObjectName.escaped(host));
    }

    private void assertReads(String origin, String host, HttpOptions options) throws Exception {
        assertThat(Files.readAllBytes(HttpFiles.path(from(origin, host), server.asProxy(options)))).as(host)
                .isEqualTo(BYTES);
    }
}
