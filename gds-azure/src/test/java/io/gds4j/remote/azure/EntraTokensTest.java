package io.gds4j.remote.azure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.azure.core.credential.AccessToken;
import com.azure.core.credential.TokenCredential;
import com.azure.core.http.HttpClient;
import com.azure.core.http.HttpHeaders;
import com.azure.core.http.HttpRequest;
import com.azure.core.http.HttpResponse;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.remote.AzureFiles;
import io.gds4j.remote.AzureOptions;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What Azure's identity library gets reaches gds-remote. The library's requests are answered here: none leaves. */
class EntraTokensTest {
    @TempDir
    Path folder;

    private final List<String> asked = new CopyOnWriteArrayList<>();
    private int status = 200;

    private Map<String, String> variables(String name, String value) {
        Map<String, String> variables = new HashMap<>(Map.of("AZURE_TENANT_ID", "11111111-2222-3333-4444-555555555555",
                "AZURE_CLIENT_ID", "66666666-2222-3333-4444-555555555555"));
        variables.put(name, value);
        return variables;
    }

    private HttpClient answering() {
        return request -> {
            String body = request.getBodyAsBinaryData() == null ? "" : request.getBodyAsBinaryData().toString();
            asked.add(request.getUrl() + " " + body);
            String host = "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555";
            return Mono.just(new Answer(request, status, status != 200
                    ? "{\"error\": \"invalid_client\", \"error_description\": \"AADSTS7000215: refused\\nhush\"}"
                    : request.getUrl().getPath().endsWith("/token")
                            ? "{\"token_type\": \"Bearer\", \"expires_in\": 3599, \"access_token\": \"token-%s\"}"
                                    .formatted(asked.size())
                            : "{\"tenant_discovery_endpoint\": \"%s/v2.0/x\", \"api-version\": \"1.1\", \"metadata\": []}"
                                    .formatted(host)));
        };
    }

    private Supplier<String> tokens(Map<String, String> variables) {
        return EntraTokens.of(EntraTokens.credential(variables, Optional.of(answering())));
    }

    private String lastForm() {
        return asked.getLast().split(" ", 2)[1];
    }

    @Test
    void secretOfAnApplicationBecomesATokenForStorage() {
        Supplier<String> tokens = tokens(variables("AZURE_CLIENT_SECRET", "secret-hush"));
        assertThat(asked).isEmpty();
        String token = tokens.get();
        assertThat(token).startsWith("token-");
        assertThat(lastForm()).contains("secret-hush", "storage.azure.com%2F.default", "client_credentials");
        int requests = asked.size();
        assertThat(tokens.get()).isEqualTo(token);
        assertThat(asked).as("the token is kept").hasSize(requests);
        assertThat(asked).allSatisfy(url -> assertThat(url).startsWith("https://login.microsoftonline.com/"));
        assertThat(tokens).hasToString("EntraTokens[hidden]");
    }

    @Test
    void tokenOfAWorkloadIsExchanged() throws Exception {
        Path file = Files.writeString(folder.resolve("token"), "jwt7");
        assertThat(tokens(variables("AZURE_FEDERATED_TOKEN_FILE", file.toString())).get()).startsWith("token-");
        assertThat(lastForm()).contains("client_assertion=jwt7");
    }

    @Test
    void refusedCredentialsAreOneLineWithoutSecrets() {
        status = 401;
        Supplier<String> tokens = tokens(variables("AZURE_CLIENT_SECRET", "secret-hush"));
        assertThatThrownBy(tokens::get).isInstanceOf(CuFileException.class)
                .satisfies(e -> assertThat(((CuFileException) e).errno()).hasValue(Errno.EACCES))
                .hasMessageContaining("Azure's identity library gets no token").hasMessageNotContaining("hush")
                .hasMessageNotContaining("\n").hasNoCause();
    }

    @Test
    void tokenIsAskedForAgainBeforeItExpires() {
        AtomicInteger count = new AtomicInteger();
        OffsetDateTime[] end = {OffsetDateTime.now().plusMinutes(4)};
        TokenCredential credential = context -> Mono.just(new AccessToken("t" + count.incrementAndGet(), end[0]));
        Supplier<String> tokens = EntraTokens.of(credential);
        assertThat(tokens.get()).isEqualTo("t1");
        end[0] = OffsetDateTime.now().plusHours(1);
        assertThat(tokens.get()).isEqualTo("t2");
        assertThat(tokens.get()).isEqualTo("t2");
        assertThat(tokens).isEqualTo(EntraTokens.of(credential)).isNotEqualTo(EntraTokens.of(context -> Mono.empty()));
    }

    /** The environment without a way to sign in leads to no managed identity, whose address is one of metadata. */
    @Test
    void environmentNamesCredentials() {
        AzureOptions with = AzureOptions.fromEnvironment(variables("AZURE_CLIENT_CERTIFICATE_PATH", "/none/hush.pem"))
                .withEndpoint(URI.create("http://127.0.0.1:9"));
        assertThatThrownBy(() -> Files.size(AzureFiles.path(URI.create("az://account/models/x"), with)))
                .isInstanceOf(CuFileException.class).hasMessageContaining("Azure's identity library gets no token");
    }

    /** An answer of a server. */
    private static final class Answer extends HttpResponse {
        private final int status;
        private final byte[] body;

        Answer(HttpRequest request, int status, String body) {
            super(request);
            this.status = status;
            this.body = body.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public int getStatusCode() {
            return status;
        }

        @Override
        @Deprecated
        public String getHeaderValue(String name) {
            return getHeaders().getValue(com.azure.core.http.HttpHeaderName.fromString(name));
        }

        @Override
        public HttpHeaders getHeaders() {
            return new HttpHeaders().set(com.azure.core.http.HttpHeaderName.CONTENT_TYPE, "application/json");
        }

        @Override
        public Flux<ByteBuffer> getBody() {
            return Flux.just(ByteBuffer.wrap(body));
        }

        @Override
        public Mono<byte[]> getBodyAsByteArray() {
            return Mono.just(body);
        }

        @Override
        public Mono<String> getBodyAsString() {
            return getBodyAsString(StandardCharsets.UTF_8);
        }

        @Override
        public Mono<String> getBodyAsString(Charset charset) {
            return Mono.just(new String(body, charset));
        }
    }
}
