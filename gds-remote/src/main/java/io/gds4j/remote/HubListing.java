package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.URI;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** Asks the hub for the commit and the files of a revision. Used by one thread. */
final class HubListing {
    /** Longest list: about 200,000 files. */
    private static final int MAX_BYTES = 16 << 20;

    private final HubNames names;
    private final HttpConnections connections;
    private final URI uri;
    private final Attempts attempts;
    private Place place;

    HubListing(HubNames names, HttpConnections connections) {
        this.names = names;
        this.connections = connections;
        uri = names.list();
        place = Place.of(uri);
        attempts = new Attempts(connections.options(), uri, this::failure);
    }

    HubRevision get() {
        try {
            return attempts.run(this::attempt);
        } catch (InterruptedException e) {
            throw S3Requests.interrupted("GET", uri, e);
        }
    }

    /** Returns the revision; empty after a redirect, which a repository with a new name has. */
    private Optional<HubRevision> attempt() throws InterruptedException, ExecutionException, Attempts.Passing {
        byte[] json = new byte[MAX_BYTES];
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
            HubRevision found = HubRevision.parse(json, (int) body.received());
            if (HubNames.isCommit(names.revision()) && !found.commit().equals(names.revision())) {
                throw new IOException("it has another commit");
            }
            return Optional.of(found);
        } catch (IOException e) {
            throw failure(Errno.EIO, "the list of files is refused: " + e.getMessage(), null);
        }
    }

    private CuFileException failure(int errno, String why, @Nullable Throwable cause) {
        return S3Requests.failure("GET", uri, errno, why + connections.remark(place.uri(), cause), cause);
    }
}
