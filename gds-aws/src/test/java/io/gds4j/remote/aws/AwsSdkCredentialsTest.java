package io.gds4j.remote.aws;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.gds4j.error.CuFileException;
import io.gds4j.remote.S3Credentials;
import io.gds4j.remote.S3Options;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;

/** What the AWS SDK finds reaches gds-remote. */
class AwsSdkCredentialsTest {
    private static final Instant END = Instant.parse("2999-01-01T00:00:00Z");

    @TempDir
    Path home;

    private final Map<String, String> variables = new HashMap<>(Map.of("AWS_EC2_METADATA_DISABLED", "true"));

    private S3Options options(String config) throws IOException {
        Files.writeString(Files.createDirectories(home.resolve(".aws")).resolve("config"), config);
        variables.put("HOME", home.toString());
        return S3Options.fromEnvironment(variables);
    }

    @Test
    void credentialsOfAnyProviderAreThoseOfItsSdk() {
        assertThat(AwsSdkCredentials.of(StaticCredentialsProvider.create(AwsBasicCredentials.create("A", "s"))).get())
                .isEqualTo(S3Credentials.of("A", "s"));
        assertThat(AwsSdkCredentials.of(StaticCredentialsProvider.create(AwsSessionCredentials.builder()
                .accessKeyId("A").secretAccessKey("s").sessionToken("t").expirationTime(END).build())).get())
                .isEqualTo(new S3Credentials("A", "s", Optional.of("t"), Optional.of(END)));
    }

    /** Equal credentials share connections. */
    @Test
    void credentialsOfTheSameProviderAreEqual() {
        StaticCredentialsProvider one = StaticCredentialsProvider.create(AwsBasicCredentials.create("A", "s"));
        StaticCredentialsProvider other = StaticCredentialsProvider.create(AwsBasicCredentials.create("B", "s"));
        assertThat(AwsSdkCredentials.of(one)).isEqualTo(AwsSdkCredentials.of(one))
                .isNotEqualTo(AwsSdkCredentials.of(other)).hasToString("AwsSdkCredentials[hidden]");
    }

    @Test
    void processOfAProfileIsRun() throws IOException {
        Path process = process("process", "P");
        variables.put("AWS_PROFILE", "mine");
        assertThat(options("[profile mine]\ncredential_process = " + process + "\n").credentials().get())
                .isEqualTo(new S3Credentials("P", "s", Optional.of("t"), Optional.of(END)));
    }

    /** Its files were parsed at each signed request. */
    @Test
    void filesAreReadAgainIfTheyChanged() throws IOException {
        Path first = process("first", "P");
        String text = "[default]\ncredential_process = %s\n";
        S3Options options = options(text.formatted(first));
        assertThat(options.credentials().get().accessKey()).isEqualTo("P");
        Path config = home.resolve(".aws/config");
        FileTime time = Files.getLastModifiedTime(config);
        Files.writeString(config, text.formatted(first).replace("credential_process", "credential_nothing"));
        Files.setLastModifiedTime(config, time);
        assertThat(options.credentials().get().accessKey()).as("same file, size and time").isEqualTo("P");
        Files.writeString(config, text.formatted(process("second", "Q")));
        assertThat(options.credentials().get().accessKey()).isEqualTo("Q");
        Files.delete(config);
        assertThatThrownBy(() -> options.credentials().get()).hasMessageContaining("no S3 credentials");
    }

    private Path process(String name, String key) throws IOException {
        Path process = Files.writeString(home.resolve(name),
                "#!/bin/sh\necho '{\"Version\": 1, \"AccessKeyId\": \"" + key
                        + "\", \"SecretAccessKey\": \"s\", \"SessionToken\": \"t\", \"Expiration\": \"" + END
                        + "\"}'\n");
        assertThat(process.toFile().setExecutable(true)).isTrue();
        return process;
    }

    /** The SDK finds the tokens of single sign-on below {@code HOME}, so another process asks. */
    @Test
    void tokenOfSingleSignOnBecomesTheCredentialsOfItsRole() throws Exception {
        List<String> asked = new CopyOnWriteArrayList<>();
        HttpServer portal = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        portal.createContext("/federation/credentials", exchange -> {
            try (exchange) {
                asked.add(exchange.getRequestHeaders().getFirst("x-amz-sso_bearer_token") + " "
                        + exchange.getRequestURI().getQuery());
                byte[] answer =
                        "{\"roleCredentials\": {\"accessKeyId\": \"O\", \"secretAccessKey\": \"s\", \"sessionToken\":"
                                .concat(" \"t\", \"expiration\": %s}}".formatted(END.toEpochMilli()))
                                .getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(200, answer.length);
                exchange.getResponseBody().write(answer);
            }
        });
        portal.start();
        String role = "sso_account_id = 123456789012\nsso_role_name = reader\n";
        options("[profile session]\nsso_session = work\n" + role + "[sso-session work]\nsso_region = eu-west-1\n"
                + "sso_start_url = https://work.invalid/start\n[profile old]\nsso_region = eu-west-1\n"
                + "sso_start_url = https://old.invalid/start\n" + role);
        token("work", "tokenOfSession");
        token("https://old.invalid/start", "tokenOfOld");
        try {
            assertThat(child(portal.getAddress().getPort(), "session", "old")).isEqualTo("O s t\nO s t\n");
        } finally {
            portal.stop(0);
        }
        assertThat(asked).hasSize(2).allSatisfy(line -> assertThat(line).contains("=123456789012", "=reader"));
        assertThat(asked.getFirst()).startsWith("tokenOfSession ");
        assertThat(asked.getLast()).startsWith("tokenOfOld ");
    }

    /** Writes a token where {@code aws sso login} leaves it. */
    private void token(String of, String text) throws Exception {
        String name = HexFormat.of().formatHex(
                MessageDigest.getInstance("SHA-1").digest(of.getBytes(StandardCharsets.UTF_8)));
        Files.writeString(Files.createDirectories(home.resolve(".aws/sso/cache")).resolve(name + ".json"),
                "{\"accessToken\": \"%s\", \"expiresAt\": \"%s\"}".formatted(text, END));
    }

    private String child(int port, String... profiles) throws Exception {
        String path = Stream.of("java.class.path", "jdk.module.path").map(name -> System.getProperty(name, ""))
                .filter(each -> !each.isEmpty()).collect(Collectors.joining(":"));
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1", "-cp",
                path + ":" + Path.of("target/test-classes").toAbsolutePath(), Printer.class.getName()));
        command.addAll(List.of(profiles));
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(home.resolve("stderr").toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("AWS_"));
        builder.environment().put("HOME", home.toString());
        builder.environment().put("AWS_EC2_METADATA_DISABLED", "true");
        builder.environment().put("AWS_ENDPOINT_URL_SSO", "http://127.0.0.1:" + port);
        Process process = builder.start();
        String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(Files.readString(home.resolve("stderr"))).isZero();
        return printed;
    }

    /** Prints the credentials of profiles. */
    static final class Printer {
        private Printer() {
        }

        public static void main(String[] profiles) {
            for (String profile : profiles) {
                Map<String, String> variables = new HashMap<>(System.getenv());
                variables.put("AWS_PROFILE", profile);
                S3Credentials found = S3Options.fromEnvironment(variables).credentials().get();
                System.out.printf("%s %s %s%n", found.accessKey(), found.secretKey(),
                        found.sessionToken().orElseThrow());
            }
        }
    }

    @Test
    void processThatFailsIsOneLineWithoutItsOutput() throws IOException {
        Path process = Files.writeString(home.resolve("process"), "#!/bin/sh\necho hush; exit 1\n");
        assertThat(process.toFile().setExecutable(true)).isTrue();
        S3Options options = options("[default]\ncredential_process = " + process + "\n");
        assertThatThrownBy(() -> options.credentials().get()).isInstanceOf(CuFileException.class)
                .hasMessageContaining("the AWS SDK gives no S3 credentials").hasMessageNotContaining("hush")
                .hasMessageNotContaining("\n").hasNoCause();
    }

    /** As in a pod of Kubernetes with IRSA: a token in a file becomes credentials of a role. */
    @Test
    void webIdentityBecomesTheCredentialsOfItsRole() throws IOException {
        List<String> asked = new ArrayList<>();
        HttpServer sts = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        sts.createContext("/", exchange -> {
            try (exchange) {
                asked.add(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
                byte[] answer = ("<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
                        + "<AccessKeyId>W</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
                        + "<Expiration>" + END + "</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
                        + "</AssumeRoleWithWebIdentityResponse>").getBytes(StandardCharsets.UTF_8);
                exchange.getResponseHeaders().set("Content-Type", "text/xml");
                exchange.sendResponseHeaders(200, answer.length);
                exchange.getResponseBody().write(answer);
            }
        });
        sts.start();
        System.setProperty("aws.endpointUrlSts", "http://127.0.0.1:" + sts.getAddress().getPort());
        System.setProperty("aws.region", "eu-west-1");
        try {
            variables.put("AWS_WEB_IDENTITY_TOKEN_FILE", Files.writeString(home.resolve("token"), "jwt7").toString());
            variables.put("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/reader");
            assertThat(options("").credentials().get())
                    .isEqualTo(new S3Credentials("W", "s", Optional.of("t"), Optional.of(END)));
            assertThat(asked).singleElement().asString().contains("jwt7", "role%2Freader");
        } finally {
            System.clearProperty("aws.endpointUrlSts");
            System.clearProperty("aws.region");
            sts.stop(0);
        }
    }
}
