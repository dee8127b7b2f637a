package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import java.net.URI;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Settings of Azure blobs. Immutable; each {@code with} method returns a copy.
 *
 * <pre>{@code
 * AzureOptions options = AzureOptions.fromEnvironment().withAccountKey("account", key);
 * Path model = AzureFiles.path(URI.create("az://account/models/llama.safetensors"), options);
 * }</pre>
 *
 * @since 0.1
 */
public final class AzureOptions {
    static final Pattern ACCOUNT = Pattern.compile("[a-z0-9]{3,24}");

    private static final Pattern SAS =
            Pattern.compile("(?=(?:.*&)?sig=)(?:[A-Za-z0-9._~=&:/+*,!-]|%[0-9A-Fa-f]{2}){1,4096}+");

    private final Optional<URI> endpoint;
    private final AzureSigner signer;
    private final String sas;
    private final HttpOptions http;
    private final int partBytes;

    private AzureOptions(Optional<URI> endpoint, AzureSigner signer, String sas, HttpOptions http, int partBytes) {
        this.endpoint = endpoint;
        this.signer = signer;
        this.sas = sas;
        this.http = http;
        this.partBytes = partBytes;
    }

    /**
     * Returns the settings that Azure's tools would use: account, key or shared access signature and endpoint of
     * {@code AZURE_STORAGE_CONNECTION_STRING}, else {@code AZURE_STORAGE_ACCOUNT} with {@code AZURE_STORAGE_KEY} or
     * {@code AZURE_STORAGE_SAS_TOKEN}, else {@code AZURE_TENANT_ID} and {@code AZURE_CLIENT_ID} with {@code AZURE_CLIENT_SECRET},
     * {@code AZURE_CLIENT_CERTIFICATE_PATH} or {@code AZURE_FEDERATED_TOKEN_FILE}, which need an {@link AccessTokenProvider}. Without any of these
     * requests are not signed: containers may be public. Nothing else is asked for credentials.
     *
     * @return the settings
     * @throws CuFileException INVALID_VALUE if a variable is not valid
     */
    public static AzureOptions fromEnvironment() {
        return fromEnvironment(System.getenv());
    }

    /**
     * As {@link #fromEnvironment()}, with other variables.
     *
     * @param variables names and values of environment variables
     * @return the settings
     * @throws CuFileException INVALID_VALUE if a variable is not valid
     */
    public static AzureOptions fromEnvironment(Map<String, String> variables) {
        AzureOptions none = new AzureOptions(
                Optional.empty(), new AzureSigner("", ""), "", HttpOptions.DEFAULTS, S3Options.PART);
        String text = variables.getOrDefault("AZURE_STORAGE_CONNECTION_STRING", "").strip();
        if (text.isEmpty()) {
            AzureOptions plain = none.with(variables.getOrDefault("AZURE_STORAGE_ACCOUNT", ""),
                    variables.getOrDefault("AZURE_STORAGE_KEY", ""),
                    variables.getOrDefault("AZURE_STORAGE_SAS_TOKEN", ""));
            return plain.signer.key().isEmpty() && plain.sas.isEmpty() && isApplication(variables)
                    ? plain.with(Bearer.of("az", variables, "AZURE_CLIENT_ID", "gds-azure")) : plain;
        }
        Map<String, String> settings = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        for (String setting : text.split(";")) {
            int equals = setting.indexOf('=');
            if (equals > 0) {
                settings.put(setting.substring(0, equals).strip(), setting.substring(equals + 1).strip());
            }
        }
        String server = settings.getOrDefault("BlobEndpoint", "");
        String account = settings.getOrDefault("AccountName", server.replaceFirst("https?://([a-z0-9]+)[.].*", "$1"));
        if (server.isEmpty()) {
            server = "%s://%s.blob.%s".formatted(settings.getOrDefault("DefaultEndpointsProtocol", "https"), account,
                    settings.getOrDefault("EndpointSuffix", "core.windows.net"));
        }
        try {
            return none.with(account, settings.getOrDefault("AccountKey", ""),
                    settings.getOrDefault("SharedAccessSignature", "")).withEndpoint(URI.create(server));
        } catch (IllegalArgumentException e) {
            throw invalid("the endpoint of AZURE_STORAGE_CONNECTION_STRING is not an http or https URL");
        }
    }

    private AzureOptions with(String account, String key, String token) {
        return !key.isEmpty() ? withAccountKey(account, key)
                : !token.isEmpty() ? withSharedAccessSignature(account, token)
                        : account.isEmpty() ? this
                                : new AzureOptions(endpoint, new AzureSigner(checked(account), ""), "", http,
                                        partBytes);
    }

    /** Returns whether variables name an application and how it signs in. */
    private static boolean isApplication(Map<String, String> variables) {
        return variables.keySet().containsAll(List.of("AZURE_TENANT_ID", "AZURE_CLIENT_ID"))
                && Stream.of("AZURE_CLIENT_SECRET", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_FEDERATED_TOKEN_FILE")
                        .anyMatch(name -> !variables.getOrDefault(name, "").isEmpty());
    }

    private static String checked(String account) {
        if (!ACCOUNT.matcher(account).matches()) {
            throw invalid(
                    "the name of the storage account has other characters than a to z and digits, or not 3 to 24");
        }
        return account;
    }

    private static CuFileException invalid(String why) {
        return CuFileException.invalid("AzureOptions", why);
    }

    /** {@return http or https URL of the account at another server than Azure's; empty for Azure's} */
    public Optional<URI> endpoint() {
        return endpoint;
    }

    /** {@return settings of the requests} */
    public HttpOptions http() {
        return http;
    }

    AzureSigner signer() {
        return signer;
    }

    /** Returns the parameters of a query that are credentials; empty for none. */
    String sas() {
        return sas;
    }

    int partBytes() {
        return partBytes;
    }

    /**
     * Returns a copy with the key of an account, which signs each request (Shared Key).
     *
     * @param account name of the storage account; the key is used for no other
     * @param key the key in Base64, as Azure shows it
     * @return the copy
     * @throws CuFileException INVALID_VALUE if the name or the key is not valid
     */
    public AzureOptions withAccountKey(String account, String key) {
        try {
            Base64.getDecoder().decode(key.strip());
        } catch (IllegalArgumentException e) {
            throw invalid("the key of the storage account is not Base64");
        }
        return new AzureOptions(endpoint, new AzureSigner(checked(account), key.strip()), "", http, partBytes);
    }

    /**
     * Returns a copy with a shared access signature, which each request has in its query.
     *
     * @param account name of the storage account; the signature is used for no other
     * @param token the parameters, with or without a question mark in front
     * @return the copy
     * @throws CuFileException INVALID_VALUE if the name or the signature is not valid
     */
    public AzureOptions withSharedAccessSignature(String account, String token) {
        String parameters = token.strip().replaceFirst("^\\?", "");
        if (!SAS.matcher(parameters).matches()) {
            throw invalid("the shared access signature has no sig, or characters that no query has");
        }
        return new AzureOptions(endpoint, new AzureSigner(checked(account), ""), parameters, http, partBytes);
    }

    /**
     * Returns a copy with tokens of Microsoft Entra, in the place of a key or shared access signature. They go to the account's server only, and
     * appear in no message.
     *
     * @param tokens asked at each request; thread-safe, and keeps a token while it is valid
     * @return the copy
     */
    public AzureOptions withTokens(Supplier<String> tokens) {
        return with(new Bearer(Objects.requireNonNull(tokens, "tokens")));
    }

    private AzureOptions with(Bearer tokens) {
        return new AzureOptions(endpoint, new AzureSigner(signer.account(), "", tokens), "", http, partBytes);
    }

    /**
     * Returns a copy with another server.
     *
     * @param url http or https URL of the account there, such as {@code http://127.0.0.1:10000/devstoreaccount1}
     * @return the copy
     * @throws CuFileException INVALID_VALUE if it is not, or has a user or a query
     */
    public AzureOptions withEndpoint(URI url) {
        URI plain = ObjectName.server(url).orElseThrow(
                () -> invalid("the endpoint is not an http or https URL without user and query"));
        return new AzureOptions(Optional.of(plain), signer, sas, http, partBytes);
    }

    /**
     * Returns a copy with other settings of requests.
     *
     * @param options the settings
     * @return the copy
     */
    public AzureOptions withHttp(HttpOptions options) {
        return new AzureOptions(endpoint, signer, sas, Objects.requireNonNull(options, "options"), partBytes);
    }

    /** Sets the size of blocks, for servers of tests. */
    AzureOptions withPartBytes(int bytes) {
        return new AzureOptions(endpoint, signer, sas, http, bytes);
    }

    /** Returns a text without credentials. */
    @Override
    public String toString() {
        return "AzureOptions[endpoint=%s, account=%s, http=%s]".formatted(
                endpoint.map(ObjectName::shown).orElse("Azure"), signer.account(), http);
    }
}
