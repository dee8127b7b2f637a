package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import java.net.URI;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A revision of a repository of the hub, and its URLs.
 *
 * @param root its URL as programs write it, without a slash at the end
 * @param kind {@code models} or {@code datasets}
 * @param id owner and name of the repository
 * @param revision branch, tag, pull request or commit
 */
record HubNames(String root, String kind, String id, String revision, URI endpoint) {

    private static final String NAME = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}";
    private static final Pattern URL = Pattern.compile(
            "(hf://(datasets/)?+(%s/%s)(?:@(refs/(?:convert|pr)/[^/]+|[^/]+))?)((?:/.*)?)".formatted(NAME, NAME),
            Pattern.CASE_INSENSITIVE);

    /** What git allows in no name of a branch, and names that a folder of the cache must not have. */
    private static final Pattern NO_REVISION = Pattern.compile(
            "[\\x00-\\x20\\x7f~^:?*\\[\\\\]|\\.\\.|//|^[/.-]|/\\.|[/.]$");
    private static final Pattern COMMIT = Pattern.compile("[0-9a-f]{40}");

    /** A revision and what follows it in a URL: nothing, or a slash and escaped names. */
    record Place(HubNames names, String rest) {
    }

    /** @throws CuFileException INVALID_VALUE for another URL; the message has nothing of it, which may be a password */
    static Place of(URI uri, URI endpoint) {
        Matcher matcher = URL.matcher(ObjectName.ascii(uri).toString());
        if (!matcher.matches() || uri.getRawQuery() != null || uri.getRawFragment() != null) {
            throw notAllowed("");
        }
        String id = matcher.group(3);
        String revision = Optional.ofNullable(matcher.group(4)).map(
                text -> ObjectName.unescaped(text).orElse("")).orElse("main");
        if (id.contains("--") || id.contains("..") || revision.isEmpty() || NO_REVISION.matcher(revision).find()) {
            throw notAllowed(id.contains("--") || id.contains("..") ? "; a name has neither -- nor .."
                    : "; the revision is none of git");
        }
        String kind = matcher.group(2) == null ? "models" : "datasets";
        return new Place(
                new HubNames("hf" + matcher.group(1).substring(2), kind, id, revision, endpoint),
                matcher.group(5));
    }

    private static CuFileException notAllowed(String why) {
        return CuFileException.invalid("HubFiles.path",
                "not a URL like hf://ORG/MODEL, hf://ORG/MODEL@REVISION/FILE or hf://datasets/ORG/NAME/FILE" + why);
    }

    static boolean isCommit(String revision) {
        return COMMIT.matcher(revision).matches();
    }

    /** Returns the URL that tells the commit and the files of the revision. */
    URI list() {
        return at("/api/%s/%s/revision/%s".formatted(kind, id, ObjectName.escaped(revision).replace("/", "%2F")));
    }

    /** Returns the URL of a page of a commit's files. */
    URI tree(String commit, String query) {
        return at("/api/%s/%s/tree/%s?%s".formatted(kind, id, commit, query));
    }

    /** Returns the URL of a file of a commit. */
    URI file(String commit, String name) {
        return at("%s/%s/resolve/%s/%s".formatted(
                kind.equals("models") ? "" : "/" + kind, id, commit, ObjectName.escaped(name)));
    }

    private URI at(String path) {
        return URI.create(endpoint + path);
    }

    /** Returns the name of the repository's folder in the cache. */
    String folder() {
        return kind + "--" + id.replace("/", "--");
    }

    /** Returns the name of a file from its URL of {@link #root}; as it is if its escapes are no text. */
    String name(URI uri) {
        String rest = uri.toString().substring(Math.min(root.length() + 1, uri.toString().length()));
        return ObjectName.unescaped(rest.endsWith("/") ? rest.substring(0, rest.length() - 1) : rest).orElse(rest);
    }
}
