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
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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

    @Test
    void processOfAProfileIsRun() throws IOException {
        Path process =
                Files.writeString(home.resolve("process"), "#!/bin/sh\necho '{\"Version\": 1, \"AccessKeyId\": \"P\","
                        + " \"SecretAccessKey\": \"s\", \"SessionToken\": \"t\", \"Expiration\": \"" + END + "\"}'\n");
        assertThat(process.toFile().setExecutable(true)).isTrue();
        variables.put("AWS_PROFILE", "mine");
        assertThat(options("[profile mine]\ncredential_process = " + process + "\n").credentials().get())
                .isEqualTo(new S3Credentials("P", "s", Optional.of("t"), Optional.of(END)));
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
