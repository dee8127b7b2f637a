package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** Asks the hub for the commit and the files of a revision. Used by one thread. */
final class HubListing {
    /** Longest answer: about 200,000 files. */
    private static final int MAX_BYTES = 16 << 20;

    /** Fewest siblings that may be not all: the hub cuts them short at some thousands, and has 1,000 files on a page of the tree. */
    private static final int MANY = 1000;
    private static final int MAX_PAGES = 1000;

    private final HubNames names;
    private final HttpConnections connections;
    private final byte[] json = new byte[MAX_BYTES];
    private URI uri;
    private Place place;
    private Attempts attempts;

    HubListing(HubNames names, HttpConnections connections) {
        this.names = names;
        this.connections = connections;
        begin(names.list());
    }

    private void begin(URI asked) {
        uri = asked;
        place = Place.of(asked);
        attempts = new Attempts(connections.options(), asked, this::failure);
    }

    /** Reads an answer, the first bytes of {@link #json}. */
    @FunctionalInterface
    private interface Answer<T> {
        /** @throws IOException if it is another text; the message says what is wrong, in one line */
        T read(AnswerHead head, int length) throws IOException;
    }

    HubRevision get() {
        HubRevision found = ask((head, length) -> revision(length));
        return found.files().size() >= MANY ? tree(found.commit()) : found;
    }

    private HubRevision revision(int length) throws IOException {
        HubRevision found = HubRevision.parse(json, length);
        if (HubNames.isCommit(names.revision()) && !found.commit().equals(names.revision())) {
            throw new IOException("it has another commit");
        }
        return found;
    }

    /** Returns all files of a commit, which come by pages. */
    private HubRevision tree(String commit) {
        NavigableSet<String> files = new TreeSet<>();
        begin(names.tree(commit, "recursive=true"));
        for (int pages = 0; pages < MAX_PAGES; pages++) {
            Optional<String> next = ask((head, length) -> {
                HubRevision.addFiles(json, length, files);
                return head.nextPage();
            });
            if (next.isEmpty()) {
                return new HubRevision(commit, files);
            }
            // At this server, whatever the link says: the token goes there.
            begin(names.tree(commit, next.get()));
        }
        throw failure(Errno.EFBIG, "the list of files has more than %s pages".formatted(MAX_PAGES), null);
    }

    private <T> T ask(Answer<T> answer) {
        try {
            return attempts.run(() -> attempt(answer));
        } catch (InterruptedException e) {
            throw S3Requests.interrupted("GET", uri, e);
        }
    }

    /** Returns what the answer has; empty after a redirect, which a repository with a new name has. */
    private <T> Optional<T> attempt(Answer<T> answer)
            throws InterruptedException, ExecutionException, Attempts.Passing {
        RangeBody body = new RangeBody(MemorySegment.ofArray(json));
        HttpResponse<String> response = connections.send(
                HttpSource.request(connections, uri, place.uri(), "", Map.of()).build(), place,
                info -> info.statusCode() == 200 ? body : RangeBody.text(), body::received, attempts);
        Optional<Place> to = HttpSource.redirect(uri, place, response, connections.options(), 0, MAX_BYTES);
        if (to.isPresent()) {
            attempts.redirected();
            place = to.get();
            return Optional.empty();
        }
        AnswerHead head = AnswerHead.of(response);
        int status = head.status();
        if (status != 200) {
            String why = RemoteFailure.meaning(head, response.body())
                    + (status == 401 && head.hubCode().isEmpty() ? "; HF_TOKEN names those of the hub" : "");
            if (Attempts.isTransient(status)) {
                throw new Attempts.Passing(why, RemoteFailure.errno(status, ""), head.retryAfter());
            }
            throw failure(RemoteFailure.errno(status, ""), why, null);
        }
        if (body.isTooLong()) {
            throw failure(Errno.EFBIG, "the list of files has more than %s bytes".formatted(MAX_BYTES), null);
        }
        try {
            return Optional.of(answer.read(head, (int) body.received()));
        } catch (IOException e) {
            throw failure(Errno.EIO, "the list of files is refused: " + e.getMessage(), null);
        }
    }

    private CuFileException failure(int errno, String why, @Nullable Throwable cause) {
        return S3Requests.failure("GET", uri, errno, why + connections.remark(place.uri(), cause), cause);
    }
}
