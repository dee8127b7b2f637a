package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** AWS's configuration, read as AWS's tools read it. */
class AwsConfigurationTest {
    private static final String KEYS = "aws_access_key_id = A\naws_secret_access_key = s/+=1\n";
    private static final S3Credentials FOUND = S3Credentials.of("A", "s/+=1");

    @TempDir
    Path home;

    private final Map<String, String> variables = new HashMap<>(Map.of("AWS_EC2_METADATA_DISABLED", "true"));

    private S3Options options(String credentials, String config) throws IOException {
        Path folder = Files.createDirectories(home.resolve(".aws"));
        Files.writeString(folder.resolve("credentials"), credentials);
        Files.writeString(folder.resolve("config"), config);
        variables.put("HOME", home.toString());
        return S3Options.fromEnvironment(variables);
    }

    @ParameterizedTest
    @ValueSource(strings = {
            "[default]\n  aws_access_key_id = A\n  aws_secret_access_key = s/+=1\n",
            "\ufeff[default]\r\naws_access_key_id=A\r\naws_secret_access_key=s/+=1  \r\n",
            "[default]\nAWS_Access_Key_Id: A\nAWS_SECRET_ACCESS_KEY : s/+=1\n",
            "# keys\n; of mine\n[ default ] # mine\n\n\taws_access_key_id = A # old\n\taws_secret_access_key = s/+=1 ; x\n",
            "[other]\naws_access_key_id = B\n[default]\ns3 =\n  aws_access_key_id = C\n" + KEYS,
            "[default]\n" + KEYS + "[default]\nregion = r\n"})
    void keysAreFoundAsAwsToolsFindThem(String credentials) throws IOException {
        assertThat(options(credentials, "").credentials().get()).isEqualTo(FOUND);
    }

    @ParameterizedTest
    @CsvSource({"[default], default", "[profile default], default", "[profile default], ' '",
            "[profile 'my own'], my own",
            "[profile \"my own\"], my own", "[  profile   x ], x"})
    void profilesOfTheConfigurationHaveNames(String section, String name) throws IOException {
        variables.put("AWS_PROFILE", name);
        assertThat(options("", section + "\n" + KEYS + "region = eu-west-9\n").credentials().get()).isEqualTo(FOUND);
        assertThat(options("", section + "\n" + KEYS + "region = eu-west-9\n").region()).isEqualTo("eu-west-9");
    }

    @Test
    void sectionOfTheNameAloneIsNoProfileOfTheConfiguration() throws IOException {
        variables.put("AWS_PROFILE", "x");
        S3Options options = options("", "[x]\n" + KEYS);
        assertThatThrownBy(() -> options.credentials().get())
                .hasMessageContaining("the profile 'x', which is neither in")
                .hasMessageContaining(home.resolve(".aws/config").toString());
    }

    @Test
    void endpointOfTheProfileIsTheServer() throws IOException {
        String config = "[default]\nendpoint_url = http://localhost:9000\n";
        S3Options options = options("[default]\n" + KEYS, config);
        assertThat(options.endpoint()).contains(URI.create("http://localhost:9000"));
        assertThat(options.pathStyle()).isTrue();
        assertThat(options("", "[default]\nservices = mine\nendpoint_url = http://x\n[services mine]\ndynamodb =\n"
                + "  endpoint_url = http://y\ns3 =\n  endpoint_url = http://localhost:9001\n").endpoint())
                .contains(URI.create("http://localhost:9001"));
        variables.put("AWS_ENDPOINT_URL_S3", "http://localhost:9002");
        assertThat(options("", config).endpoint()).contains(URI.create("http://localhost:9002"));
        variables.remove("AWS_ENDPOINT_URL_S3");
        variables.put("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "TRUE");
        assertThat(options("", config).endpoint()).isEmpty();
        variables.put("AWS_ENDPOINT_URL", "http://my_host:9000");
        assertThatThrownBy(() -> options("", config)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("my_host");
    }

    @ParameterizedTest
    @ValueSource(strings = {"sso_session = x", "sso_account_id = 1", "role_arn = arn:x\nsource_profile = y",
            "credential_process = /bin/x", "web_identity_token_file = /x"})
    void waysOfTheSdkNameTheArtifactThatKnowsThem(String setting) throws IOException {
        S3Options options = options("", "[default]\n" + setting + "\n");
        assertThatThrownBy(() -> options.credentials().get()).isInstanceOf(CuFileException.class)
                .hasMessageContaining("io.gds4j:gds-aws").hasMessageContaining(setting.split(" ")[0]);
    }

    @Test
    void webIdentityComesAfterTheKeysOfTheEnvironment() throws IOException {
        variables.put("AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/token");
        variables.put("AWS_ROLE_ARN", "arn:aws:iam::1:role/x");
        S3Options options = options("[default]\n" + KEYS, "");
        assertThatThrownBy(() -> options.credentials().get()).hasMessageContaining("AWS_WEB_IDENTITY_TOKEN_FILE")
                .hasMessageContaining("gds-aws");
        variables.put("AWS_ACCESS_KEY_ID", "E");
        variables.put("AWS_SECRET_ACCESS_KEY", "s");
        assertThat(options("", "").credentials().get().accessKey()).isEqualTo("E");
    }

    @Test
    void processOfAProfileComesAfterItsKeys() throws IOException {
        assertThat(options("[default]\n" + KEYS, "[default]\ncredential_process = /bin/x\n").credentials().get())
                .isEqualTo(FOUND);
    }

    @Test
    void containerServiceIsOnTheMachine() throws IOException {
        variables.put("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://%s/keys".formatted(RangeServer.UNKNOWN));
        S3Options options = options("", "");
        assertThatThrownBy(() -> options.credentials().get())
                .hasMessageContaining("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    }

    @Test
    void suppliersAreAskedForEachRequest() {
        S3Options options = S3Options.fromEnvironment(Map.of("HOME", home.toString()))
                .withCredentials(() -> new S3Credentials("X", "s", Optional.of("t"), Optional.empty()));
        assertThat(options.credentials().get().accessKey()).isEqualTo("X");
        assertThat(options).asString().doesNotContain("X,");
    }

    @Test
    void builderFollowsTheEndpointUnlessTold() {
        URI minio = URI.create("http://minio:9000");
        S3Options options = S3Options.fromEnvironment().withEndpoint(minio).withRegion("eu-west-1");

        assertThat(options.pathStyle()).isTrue();
        assertThat(options.endpoint()).contains(minio);
        assertThat(options.withPathStyle(false).pathStyle()).isFalse();
        assertThat(options.withRegion("eu-west-2").region()).isEqualTo("eu-west-2");
        assertThatThrownBy(() -> S3Options.fromEnvironment().withEndpoint(URI.create("ftp://minio")))
                .isInstanceOf(CuFileException.class).hasMessageContaining("the endpoint");
        assertThatThrownBy(() -> S3Options.fromEnvironment().withRegion("eu west"))
                .isInstanceOf(CuFileException.class).hasMessageContaining("the region");
    }
}
