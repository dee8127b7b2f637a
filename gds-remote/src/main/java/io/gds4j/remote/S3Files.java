package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Objects of S3 servers as paths, for what takes paths: the loader and {@code CuFileDriver.openFile}.
 *
 * <pre>{@code
 * Path path = S3Files.path(URI.create("s3://bucket/llama/"), S3Options.fromEnvironment());
 * Checkpoint checkpoint = Checkpoint.open(path);
 * }</pre>
 *
 * @since 0.1
 */
public final class S3Files {
    /** Names of buckets and access points that AWS serves by other requests, or at other servers. */
    private static final Pattern OTHER_REQUESTS = Pattern.compile(".+--(x|xa|op)-s3");

    private S3Files() {
    }

    /**
     * Returns the path of an object, or of a folder, which is a prefix of keys. Sends nothing yet. The path and those resolved
     * from it share connections, and open each object once: its size and version are those of the first use.
     *
     * @param uri {@code s3://bucket/key}, or the same with {@code s3a} or {@code s3n} as Hadoop writes it; a slash at the end says that it is a folder
     * @param options settings
     * @return the path; its text is the URL. {@link #upload(Path, Path)}, {@link SourcePath#create} and {@code Files.delete} change objects; other
     *         methods of {@code Files} that write are refused
     * @throws CuFileException INVALID_VALUE for another URL, or a key with empty names
     */
    public static SourcePath path(URI uri, S3Options options) {
        Objects.requireNonNull(uri, "uri");
        String bucket = uri.getRawAuthority() == null ? "" : uri.getRawAuthority();
        if (bucket.startsWith("arn:")) {
            throw notAllowed(uri, "; an access point is named by its alias, such as NAME-...-s3alias");
        }
        if (!String.valueOf(uri.getScheme()).matches("(?i)s3[an]?") || !bucket.matches("[A-Za-z0-9._-]{1,255}")) {
            throw notAllowed(uri, "");
        }
        if (options.endpoint().isEmpty() && OTHER_REQUESTS.matcher(bucket).matches()) {
            throw CuFileException.invalid(
                    "S3Files.path",
                    "the bucket %s is one of S3 Express or Outposts, which are not supported".formatted(bucket));
        }
        String key = ObjectName.plain(uri, uri.getRawPath(), "key", why -> notAllowed(uri, why));
        S3Names names = new S3Names(bucket, options);
        HttpConnections connections = HttpConnections.of(names.url("", Map.of()), options.http(),
                S3Signer.of(options.region(), options.credentials()), options.credentials());
        return new HttpFileSystem(new S3Store(names, connections)).path(URI.create("s3://" + bucket + key));
    }

    private static CuFileException notAllowed(URI uri, String why) {
        return CuFileException.invalid(
                "S3Files.path", "not a URL like s3://bucket/key: " + ObjectName.shown(uri) + why);
    }

    /**
     * Uploads a file. The object appears complete or not at all: files above 16 MiB are sent in parts, which a failure removes.
     *
     * @param file the file
     * @param target path of the object, made by {@link #path} or {@link AzureFiles#path}
     * @throws IOException if the file cannot be read, or was written since the upload began
     * @throws CuFileException INVALID_VALUE for another kind of path; IO_ERROR if the server refuses
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static void upload(Path file, Path target) throws IOException {
        upload("S3Files.upload", target, false, upload -> upload.run(file));
    }

    /**
     * Uploads the bytes of a source without a copy on the disk: from memory of the program, for example. The object appears complete or
     * not at all, as that of {@link #upload(Path, Path)}. Needs memory for 4 parts: 64 MiB up to 156 GiB, above that 1/2500 of the
     * content.
     *
     * @param content the bytes; up to 4 threads read them, each byte once. An exception of it ends the upload
     * @param target path of the object, made by {@link #path} or {@link AzureFiles#path}
     * @throws IOException if the content cannot be read, or has another version than when the upload began
     * @throws CuFileException as {@link #upload(Path, Path)}
     */
    public static void upload(RangeSource content, Path target) throws IOException {
        upload("S3Files.upload", target, false, upload -> upload.run(content));
    }

    /**
     * Uploads a file as {@link #upload(Path, Path)} does, but leaves an object that exists already as it is. Servers that do not know
     * {@code If-None-Match} replace it.
     *
     * @param file the file
     * @param target path of the object, made by {@link #path} or {@link AzureFiles#path}
     * @throws IOException if the file cannot be read, or was written since the upload began
     * @throws CuFileException INVALID_VALUE for another kind of path; IO_ERROR with errno EEXIST if there is such an object, with
     *         another one if the server refuses
     */
    public static void uploadNew(Path file, Path target) throws IOException {
        upload("S3Files.uploadNew", target, true, upload -> upload.run(file));
    }

    static void uploadNew(RangeSource content, Path target) throws IOException {
        upload("SourcePath.create", target, true, upload -> upload.run(content));
    }

    /** Sends what an upload is to send. */
    private interface Sending {
        void of(S3Upload upload) throws IOException;
    }

    private static void upload(String function, Path target, boolean onlyNew, Sending sending) throws IOException {
        UploadTarget object = object(function, target);
        try {
            sending.of(new S3Upload(object, onlyNew));
        } finally {
            forget(target);
        }
    }

    /**
     * Deletes an object. That there is none is no error. A thread that is interrupted attempts it once, for at most half a second.
     *
     * @param target path of the object, made by {@link #path} or {@link AzureFiles#path}
     * @throws CuFileException INVALID_VALUE for another kind of path; IO_ERROR if the server refuses
     */
    public static void delete(Path target) {
        UploadTarget deleted = object("S3Files.delete", target);
        try {
            deleted.requests().tidy(requests -> requests.delete(deleted.url(Map.of()), deleted.deleted()));
        } catch (CuFileException e) {
            if (!e.isNotFound() || deleted instanceof S3Target) {
                throw e;
            }
        } finally {
            forget(target);
        }
    }

    private static UploadTarget object(String function, Path target) {
        return Optional.of(target)
                .filter(path -> path instanceof HttpPath && path.getNameCount() > 0)
                .flatMap(path -> ((HttpPath) path).getFileSystem().store().target(path.toAbsolutePath().toUri()))
                .orElseThrow(() -> CuFileException.invalid(function, "not the path of an S3 object: " + target));
    }

    private static void forget(Path object) {
        HttpPath path = (HttpPath) object;
        path.getFileSystem().forget(path);
    }
}
