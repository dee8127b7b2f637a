package io.gds4j.remote;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.SystemReason;
import java.io.IOException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.URI;
import java.net.UnknownHostException;
import java.net.http.HttpConnectTimeoutException;
import java.nio.channels.FileChannel;
import java.nio.channels.UnresolvedAddressException;
import java.nio.file.Path;
import java.security.KeyStoreException;
import java.security.cert.CertPathValidatorException;
import java.security.cert.CertificateException;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.jspecify.annotations.Nullable;

/** Makes the exceptions of this module: one line with the URL and the range. */
final class RemoteFailure {
    private static final Pattern CODE = Pattern.compile("<Code>([A-Za-z0-9]{1,64})</Code>");
    private static final Pattern REGION = Pattern.compile("<Region>([A-Za-z0-9-]{1,64})</Region>");

    /** Codes about who asks, not about what for. */
    private static final Pattern WHO_ASKS =
            Pattern.compile("User|AccessKey|Signature|ExpiredToken|InvalidToken|RequestTimeTooSkewed");
    private static final Pattern FORBIDDEN = Pattern.compile("status 403: the server refuses access(, AccessDenied)?$");

    /** The name of a class of the JDK before the words of its exception. */
    private static final Pattern CLASS = Pattern.compile("(?:[a-z]+\\.)+[A-Z]\\w+: ");
    private static final String NO_STATUS = "Invalid status line";
    private static final String NO_ANSWER = "the answer has no valid status line";

    private RemoteFailure() {
    }

    static CuFileException of(URI uri, long offset, long size, int errno, String why, @Nullable Throwable cause) {
        CuFileException.Builder builder = CuFileException.builder("GET")
                .error(CuFileError.IO_ERROR)
                .errno(errno)
                .range(offset, size)
                .detail("%s, bytes %s to %s: %s".formatted(ObjectName.shown(uri), offset, offset + size - 1, why));
        return cause == null ? builder.build() : builder.cause(cause).build();
    }

    /** Returns what an answer that is no success says: its status, the code of an S3 server, and the bucket's region. */
    static String meaning(AnswerHead head, @Nullable String body) {
        int status = head.status();
        Optional<String> ofHub = meaningOfHub(head.hubCode());
        if (ofHub.isPresent()) {
            return "status %s: %s".formatted(status, ofHub.get());
        }
        if (head.refusesToken()) {
            return "status 401: the server refuses the token: it is wrong, or has expired";
        }
        String code = code(body);
        String text = code.equals("NoSuchBucket") ? "status %s: there is no such bucket".formatted(status)
                : code.equals("ContainerNotFound") ? "status %s: there is no such container".formatted(status)
                        : WHO_ASKS.matcher(code).find()
                                ? "status %s: the server refuses access, %s".formatted(status, code)
                                : meaning(status) + (code.isEmpty() ? "" : ", " + code);
        String remark = switch (code) {
            case "RequestTimeTooSkewed" -> ": the clock of this machine is wrong";
            case "ConditionalRequestConflict" -> ": another writer stores the object at the same time";
            default -> "";
        };
        return text + remark + region(head, body);
    }

    /** Returns what a code of the Hugging Face hub means, and what helps; empty for another code. */
    private static Optional<String> meaningOfHub(String code) {
        return switch (code) {
            case "GatedRepo" -> Optional.of("the repository is gated: accept its terms on its page of the hub, and set"
                    + " HF_TOKEN to a token of that account");
            case "RepoNotFound" -> Optional.of("there is no such repository, or it is private: check its name, and set"
                    + " HF_TOKEN to a token that may read it");
            case "RevisionNotFound" -> Optional.of("the repository has no such branch, tag or commit");
            case "EntryNotFound" -> Optional.of("the revision has no such file");
            case "DisabledRepo" -> Optional.of("the hub has disabled the repository");
            default -> Optional.empty();
        };
    }

    /** Returns the region that an answer names because requests must go there; empty if it names none. */
    private static String region(AnswerHead head, @Nullable String body) {
        if (body == null || head.status() / 100 != 3 && head.status() != 400) {
            return "";
        }
        Matcher matcher = REGION.matcher(body);
        String told = matcher.find() ? matcher.group(1) : "";
        return head.bucketRegion()
                .or(() -> told.isEmpty() ? Optional.empty() : Optional.of(told))
                .map(", the bucket is in region %s: set AWS_REGION"::formatted).orElse("");
    }

    /** Returns the code of an S3 server's error; empty if the body has none, or is missing: the JDK has none of a proxy's tunnel. */
    static String code(@Nullable String body) {
        Matcher matcher = CODE.matcher(body == null ? "" : body);
        return matcher.find() ? matcher.group(1) : "";
    }

    /** Returns whether the server knows who asks, and refuses: not for a wrong signature, an old token or a wrong clock. */
    static boolean isForbidden(CuFileException failure) {
        return FORBIDDEN.matcher(failure.detail()).find();
    }

    /** Returns whether a request did not leave: there was no connection. */
    static boolean isUnsent(Throwable failure) {
        for (Throwable each = failure; each != null; each = each.getCause()) {
            if (each instanceof ConnectException || each instanceof UnresolvedAddressException
                    || each instanceof UnknownHostException || each instanceof SSLHandshakeException
                    || each instanceof SSLPeerUnverifiedException
                    || each instanceof HttpConnectTimeoutException || each instanceof Place.Refused) {
                return true;
            }
        }
        return false;
    }

    /** Returns whether a request failed because nothing can be opened. Native libraries and resolvers of names give other reasons then. */
    private static boolean lacksDescriptors(Throwable why) {
        for (Throwable each = why; each != null; each = each.getCause()) {
            if (each instanceof IOException known && SystemReason.TOO_MANY_FILES.in(known)) {
                return true;
            }
        }
        try {
            FileChannel.open(Path.of("/dev/null")).close();
            return false;
        } catch (IOException e) {
            return SystemReason.TOO_MANY_FILES.in(e);
        }
    }

    /** Returns how an answer breaks HTTP; empty for another failure. Both clients write what the JDK does, with text of the server. */
    static String broken(Throwable failure) {
        String text = String.valueOf(failure.getMessage());
        if (text.startsWith("unexpected content length header with 204")) {
            return AnswerHead.BODY_OF_204;
        }
        if (failure instanceof NumberFormatException) {
            return AnswerHead.WRONG_LENGTH; // the JDK reads that of status 204 itself
        }
        return !(failure instanceof ProtocolException) ? ""
                : text.startsWith("Header size too big") ? AnswerHead.TOO_LONG
                        : text.startsWith("Invalid header")
                                ? "a header of the answer has a character that is not allowed"
                                : text.startsWith("Too many interim responses")
                                        ? "more than 8 interim answers (status 1xx)"
                                        : text.startsWith("Unexpected 101") ? "status 101, for which no request asked"
                                                : text.startsWith(NO_STATUS) ? NO_ANSWER : text;
    }

    /** Returns whether something else than HTTP came: what a request before left behind, or that of another server. */
    static boolean isNoAnswer(Throwable failure) {
        return NO_ANSWER.equals(broken(failure));
    }

    /** Returns why there was no answer. */
    static String reason(Throwable why, URI uri, HttpOptions options) {
        if (lacksDescriptors(why)) {
            return "this process has no file descriptor left: too many open files, ulimit -n is the limit";
        }
        for (Throwable each = why; each != null; each = each.getCause()) {
            if (each instanceof UnresolvedAddressException || each instanceof UnknownHostException) {
                return "the host is unknown";
            }
            if (each instanceof KeyStoreException || each instanceof Place.Refused) {
                return String.valueOf(each.getMessage());
            }
            if (each instanceof CertificateException || each instanceof CertPathValidatorException) {
                return "the server's certificate is refused: %s; %s".formatted(
                        CLASS.matcher(String.valueOf(each.getMessage())).replaceAll(""),
                        options.certificates().map(file -> "those of %s are trusted".formatted(file))
                                .orElseGet(() -> "the JVM's truststore, HttpOptions.withTls or withCertificates names"
                                        + " others" + JvmTls.remark()));
            }
        }
        String broken = broken(why);
        if (!broken.isEmpty()) {
            return broken;
        }
        // The JDK writes "(certificate_required) Received fatal alert: certificate_required".
        String text = why.getClass().getSimpleName() + (why.getMessage() == null ? ""
                : ": " + why.getMessage().replaceFirst("^\\([a-z_]+\\) (?=Received fatal alert)", ""));
        if (!(why instanceof ConnectException)) {
            return text.endsWith("got: 407") ? text + ", the proxy wants credentials" : text;
        }
        return text + options.proxyOf(uri)
                .map(proxy -> ": the proxy %s:%s does not answer".formatted(proxy.getHostString(), proxy.getPort()))
                .orElse(why.getMessage() == null ? ": no server answers there" : "");
    }

    /** Returns the errno of an answer. Servers have status 400, 403 and 404 for credentials that they do not take. */
    static int errno(int status, @Nullable String body) {
        return WHO_ASKS.matcher(code(body)).find() ? Errno.EACCES
                : code(body).equals("BlobAlreadyExists") ? Errno.EEXIST : errno(status);
    }

    private static int errno(int status) {
        return switch (status) {
            case 401, 403, 407 -> Errno.EACCES;
            case 404, 410 -> Errno.ENOENT;
            case 412 -> Errno.ESTALE;
            case 501 -> Errno.ENOSYS;
            case 408, 504 -> Errno.ETIMEDOUT;
            default -> Errno.EIO;
        };
    }

    static String meaning(int status) {
        return switch (status) {
            case 401 -> "status 401: the server wants credentials";
            case 403 -> "status 403: the server refuses access";
            case 404, 410 -> "status %s: there is no such object".formatted(status);
            case 407 -> "status 407: the proxy wants credentials";
            case 412 -> "status 412: the object changed while it was read";
            case 416 -> "status 416: the object has no such range";
            case 429 -> "status 429: too many requests";
            default -> "status " + status;
        };
    }
}
