package io.gds4j.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import java.net.URI;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings, URLs and signatures of Azure blobs. No request is sent. */
class AzureOptionsTest {
    private static final String KEY = "aHVzaA==";

    private static String url(AzureOptions options) {
        return AzureStore.of("account", "models", options).url("a b", Map.of("comp", "x/y")).toString();
    }

    @ParameterizedTest
    @CsvSource({"AccountName=account;AccountKey=aHVzaA==;EndpointSuffix=core.chinacloudapi.cn, "
            + "https://account.blob.core.chinacloudapi.cn/models/a%20b?comp=x%2Fy",
            "DefaultEndpointsProtocol=http;AccountName=account;AccountKey=aHVzaA==;EndpointSuffix=local, "
                    + "http://account.blob.local/models/a%20b?comp=x%2Fy",
            "BlobEndpoint=http://127.0.0.1:1/account/;AccountName=account;SharedAccessSignature=sv=1&sig=hush, "
                    + "http://127.0.0.1:1/account/models/a%20b?comp=x%2Fy&sv=1&sig=hush",
            "BlobEndpoint=https://account.blob.core.windows.net;SharedAccessSignature=?sig=hush, "
                    + "https://account.blob.core.windows.net/models/a%20b?comp=x%2Fy&sig=hush",
            "accountname=account, https://account.blob.core.windows.net/models/a%20b?comp=x%2Fy"})
    void connectionStringNamesServerAndCredentials(String text, String expected) {
        AzureOptions options = AzureOptions.fromEnvironment(Map.of(
                "AZURE_STORAGE_CONNECTION_STRING", text, "AZURE_STORAGE_ACCOUNT", "other"));
        assertThat(url(options)).isEqualTo(expected);
        assertThat(options.signer().account()).isEqualTo("account");
        assertThat(options.signer().key()).isEqualTo(text.contains("AccountKey") ? KEY : "");
        assertThat(options + " " + options.signer()).doesNotContain("hush", KEY);
    }

    @Test
    void variablesNameAnAccountAndItsCredentials() {
        AzureOptions none = AzureOptions.fromEnvironment(Map.of());
        assertThat(url(none)).isEqualTo("https://account.blob.core.windows.net/models/a%20b?comp=x%2Fy");
        assertThat(none.signer().account()).isEmpty();
        assertThat(none.signer().headers("GET", URI.create("https://x/y"), "", Map.of()))
                .containsOnlyKeys("x-ms-version");
        AzureOptions key = AzureOptions.fromEnvironment(Map.of("AZURE_STORAGE_ACCOUNT", "account",
                "AZURE_STORAGE_KEY", KEY, "AZURE_STORAGE_SAS_TOKEN", "sig=hush"));
        assertThat(key.signer().key()).isEqualTo(KEY);
        assertThat(key.sas()).isEmpty();
        AzureOptions tokens = none.withTokens(() -> "token-hush");
        assertThat(tokens.signer().headers("GET", URI.create("https://x/y"), "", Map.of()))
                .containsOnlyKeys("x-ms-version", "Authorization").containsEntry("Authorization", "Bearer token-hush");
        assertThat(tokens + " " + tokens.signer()).doesNotContain("hush");
        AzureOptions entra = AzureOptions.fromEnvironment(Map.of("AZURE_TENANT_ID", "t", "AZURE_CLIENT_ID", "c",
                "AZURE_CLIENT_SECRET", "hush"));
        assertThatThrownBy(() -> entra.signer().headers("GET", URI.create("https://x/y"), "", Map.of()))
                .hasMessageContaining("io.gds4j:gds-azure").hasMessageNotContaining("hush");
        assertThatThrownBy(() -> AzureFiles.path(URI.create("az://another/models/x"), key))
                .hasMessageContaining("the credentials are of the storage account account, not of another");
    }

    @ParameterizedTest
    @CsvSource({"AZURE_STORAGE_KEY, hush!, is not Base64", "AZURE_STORAGE_SAS_TOKEN, hush, has no sig",
            "AZURE_STORAGE_SAS_TOKEN, 'sig=hush x', has no sig", "AZURE_STORAGE_SAS_TOKEN, sig=hush%zz, has no sig",
            "AZURE_STORAGE_ACCOUNT, hush/x, characters",
            "AZURE_STORAGE_CONNECTION_STRING, AccountName=account;BlobEndpoint=hush, is not an http",
            "AZURE_STORAGE_CONNECTION_STRING, AccountName=account;BlobEndpoint=http://u:hush@x, without user",
            "AZURE_STORAGE_CONNECTION_STRING, AccountName=account;BlobEndpoint=http://hush hush, is not an http"})
    void settingsThatAreWrongAreRefusedWithoutTheirText(String name, String value, String why) {
        Map<String, String> variables = new java.util.HashMap<>(Map.of("AZURE_STORAGE_ACCOUNT", "account"));
        variables.put(name, value);
        assertThatThrownBy(() -> AzureOptions.fromEnvironment(variables)).isInstanceOf(CuFileException.class)
                .hasMessageContaining(why).hasMessageNotContaining("hush").hasNoCause();
    }

    @ParameterizedTest
    @ValueSource(strings = {"az://account", "az://account/", "az:account/models", "az://account/Hush/x",
            "az://user:hush@account/models/x", "az://account/models/x?sig=hush", "az://account/models/x#hush",
            "az://account/models/a//hush", "az://a/models/hush", "s3://account/models/hush", "az://account/hush--x/y",
            "abfss://models@account.hush.net/x",
            "abfss://models:hush@account.dfs.core.windows.net/x", "abfss://models@account.dfs.core.windows.net/x?hush",
            "abfss://account.dfs.core.windows.net/hush", "az://models@account.dfs.core.windows.net/hush"})
    void otherUrlsAreRefusedWithoutTheirText(String url) {
        AzureOptions options = AzureOptions.fromEnvironment(Map.of());
        assertThatThrownBy(() -> AzureFiles.path(URI.create(url), options)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("not a URL like az://ACCOUNT/CONTAINER/BLOB").hasMessageNotContaining("hush");
    }

    /** The example of a list in Azure's description of Shared Key. */
    @Test
    void textToSignIsThatOfThePublishedExample() {
        URI uri = URI.create("https://myaccount.blob.core.windows.net/mycontainer"
                + "?restype=container&comp=metadata&timeout=20");
        assertThat(new AzureSigner("myaccount", KEY).text("GET", uri, Map.of("Content-Length", "0",
                "x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT", "x-ms-version", "2015-02-21")))
                .isEqualTo("GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
                        + "x-ms-version:2015-02-21\n/myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20");
    }

    @ParameterizedTest
    @CsvSource({"abfss://models@account.dfs.core.windows.net/a%20b/c, models, windows.net, /a%20b/c",
            "ABFS://$web@account.dfs.core.chinacloudapi.cn/x, $web, chinacloudapi.cn, /x",
            "abfss://models@account.dfs.core.windows.net, models, windows.net, ''"})
    void dataLakeIsAnotherNameOfAContainer(String url, String container, String cloud, String rest) {
        HttpPath path = (HttpPath) AzureFiles.path(URI.create(url), AzureOptions.fromEnvironment(Map.of()));
        assertThat(path.toString()).startsWith("az://account/" + container + rest);
        assertThat(path.getFileSystem().store().request(path.toUri()))
                .hasToString("https://account.blob.core.%s/%s%s".formatted(cloud, container, rest));
    }

    @Test
    void pathsAreThoseOfTheUrl() {
        AzureOptions options = AzureOptions.fromEnvironment(Map.of());
        var path = AzureFiles.path(URI.create("AZ://account/$root/a%20b/c"), options);
        assertThat(path).hasToString("az://account/$root/a%20b/c");
        assertThat(path.getParent()).hasToString("az://account/$root/a%20b");
        assertThat(AzureFiles.path(URI.create("az://account/models"), options).resolve("x"))
                .hasToString("az://account/models/x");
    }
}
