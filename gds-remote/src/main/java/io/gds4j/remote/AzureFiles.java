package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.source.SourcePath;
import java.net.URI;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Blobs of Azure storage accounts as paths, for what takes paths: the loader and {@code CuFileDriver.openFile}.
 *
 * <pre>{@code
 * Path path = AzureFiles.path(URI.create("az://account/container/llama/"), AzureOptions.fromEnvironment());
 * Checkpoint checkpoint = Checkpoint.open(path);
 * }</pre>
 *
 * @since 0.1
 */
public final class AzureFiles {
    private static final Pattern CONTAINER =
            Pattern.compile("/((?:[a-z0-9](?:-?[a-z0-9]){2,62})|\\$root|\\$web)((?:/.*)?)");

    /** A container of Data Lake Storage, as Hadoop names it: the user is the container. */
    private static final Pattern LAKE = Pattern.compile(
            "([^@/]+)@([a-z0-9]{3,24})\\.dfs\\.(core\\.(?:windows\\.net|chinacloudapi\\.cn|usgovcloudapi\\.net))");

    private AzureFiles() {
    }

    /**
     * Returns the path of a blob, of a container, or of a folder, which is a prefix of names. Sends nothing yet. The path and those resolved from it
     * share connections, and open each blob once: its size and version are those of the first use.
     *
     * @param uri {@code az://account/container/blob}, or the same as {@code abfss://container@account.dfs.core.windows.net/blob}; a slash at the end
     *            says that it is a folder
     * @param options settings
     * @return the path; its text is the URL. {@link SourcePath#create} and {@code Files.delete} change blobs; other methods of {@code Files} that
     *         write are refused
     * @throws CuFileException INVALID_VALUE for another URL, a blob with empty names, or credentials of another account
     */
    public static SourcePath path(URI uri, AzureOptions options) {
        Objects.requireNonNull(options, "options");
        Matcher lake = LAKE.matcher(String.valueOf(uri.getRawAuthority()));
        if (String.valueOf(uri.getScheme()).matches("(?i)abfss?") && lake.matches()) {
            URI same = URI.create("az://%s/%s%s".formatted(
                    lake.group(2), lake.group(1), uri.toString().substring(uri.toString().indexOf('@') + 1)
                            .replaceFirst("[^/?#]*", "")));
            return path(same, options.endpoint().isPresent() ? options : options.withEndpoint(
                    URI.create("https://%s.blob.%s".formatted(lake.group(2), lake.group(3)))));
        }
        String account = uri.getRawAuthority() == null ? "" : uri.getRawAuthority();
        Matcher rest = CONTAINER.matcher(uri.getRawPath() == null ? "" : uri.getRawPath());
        if (!"az".equalsIgnoreCase(uri.getScheme()) || !AzureOptions.ACCOUNT.matcher(account).matches()
                || !rest.matches()) {
            throw notAllowed("");
        }
        String names = ObjectName.plain(uri, rest.group(2), "name", AzureFiles::notAllowed);
        AzureStore store = AzureStore.of(account, rest.group(1), options);
        return new HttpFileSystem(store).path(URI.create("az://" + account + names));
    }

    /** The message has nothing of the URL, which may be a password. */
    private static CuFileException notAllowed(String why) {
        return CuFileException.invalid("AzureFiles.path",
                "not a URL like az://ACCOUNT/CONTAINER/BLOB or abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/BLOB"
                        + why);
    }
}
