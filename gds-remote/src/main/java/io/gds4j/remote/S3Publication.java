package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The request that makes an object appear. Its answer may get lost, and a repetition fails then: the mark of the object tells.
 *
 * @param onlyNew whether an object that exists already is left as it is, which is an error
 */
record S3Publication(UploadTarget target, boolean onlyNew) {
    /** Longest time to look for an object if the program is ending. */
    private static final Duration GLANCE = Duration.ofMillis(200);

    /** Sends that request, and returns the answer. */
    @FunctionalInterface
    interface Last {
        /** @param mayBeDone see {@link S3Requests#send} */
        HttpResponse<byte[]> send(Map<String, String> headers, Runnable mayBeDone);
    }

    /** What became of the object. */
    private sealed interface Outcome {
    }

    /** The server said so, or the object has the mark. */
    private record Stored() implements Outcome {
    }

    /** The server refused it, each time that it was asked, or it was removed again. */
    private record Refused(CuFileException why) implements Outcome {
    }

    /** An answer is missing or says nothing, and nothing proves that the object is there. */
    private record Unknown(CuFileException why, Place place) implements Outcome {
    }

    /** What the server tells of the object, and how a message says it if the object may be that of this upload. */
    private enum Place {
        OURS("the object is there"),
        ANOTHER("another object is there, but this one may be there later"),
        NONE("the object is not there, but may be there later"),
        DAMAGED("an object of this upload with other bytes is there"),
        UNTOLD("the object may be there all the same: the server does not tell");

        private final String text;

        Place(String text) {
            this.text = text;
        }
    }

    /**
     * Returns when the object is there.
     *
     * @throws CuFileException if the server does not prove that it is; it tells if it may be
     */
    void publish(String method, URI uri, Map<String, String> fixed, Last last) {
        Map<String, String> headers = new HashMap<>(fixed);
        if (onlyNew) {
            headers.put("If-None-Match", "*");
        }
        switch (outcome(method, uri, last, headers)) {
            case Stored _ -> {
                // as it should be
            }
            case Refused(CuFileException why) -> throw isThereAlready(why)
                    ? S3Requests.exists(method, uri, why)
                    : why;
            case Unknown(CuFileException why, Place place) -> throw S3Target.told(why, place.text);
        }
    }

    private Outcome outcome(String method, URI uri, Last last, Map<String, String> headers) {
        AtomicBoolean doubt = new AtomicBoolean();
        try {
            HttpResponse<byte[]> answer = last.send(headers, () -> doubt.set(true));
            if (target.isStored(method, answer)) {
                return target.mismatch(answer).<Outcome>map(why -> new Unknown(
                        S3Requests.failure(method, uri, Errno.EIO, why, null), Place.DAMAGED)).orElseGet(Stored::new);
            }
            CuFileException unlike = S3Requests.unlike(method, uri, answer, target.stored(method));
            Place place = look(target.requests().once(), unlike);
            return judged(unlike, place, doubt.get() || place == Place.UNTOLD);
        } catch (CuFileInterruptedException e) {
            return interrupted(e, doubt.get());
        } catch (CuFileException e) {
            if (headers.containsKey("If-None-Match") && e.errno().orElse(0) == Errno.ENOSYS) {
                Map<String, String> unconditional = new HashMap<>(headers);
                unconditional.remove("If-None-Match");
                return outcome(method, uri, last, unconditional);
            }
            return judged(e, look(target.requests().once(), e), doubt.get());
        }
    }

    private Outcome judged(CuFileException why, Place place, boolean doubt) {
        // Servers refuse a long body by an answer that may get lost; an earlier attempt has not replaced the object either.
        boolean exists = place == Place.ANOTHER && isThereAlready(why);
        return place == Place.OURS ? new Stored()
                : place == Place.DAMAGED || doubt && !exists ? new Unknown(why, place) : new Refused(why);
    }

    private boolean isThereAlready(CuFileException why) {
        return onlyNew && (why.errno().orElse(0) == Errno.ESTALE || why.errno().orElse(0) == Errno.EEXIST);
    }

    /** Deletes a new object if it appeared although the thread was interrupted meanwhile. */
    private Outcome interrupted(CuFileInterruptedException why, boolean doubt) {
        if (!doubt) {
            return new Refused(why);
        }
        if (!onlyNew) {
            return new Unknown(why, Place.UNTOLD);
        }
        Place[] place = {Place.UNTOLD};
        try {
            target.requests().tidy(asking -> {
                place[0] = look(asking.once(GLANCE), why);
                if (place[0] == Place.OURS) {
                    asking.delete(target.url(Map.of()), target.deleted());
                }
            });
            return place[0] == Place.OURS ? new Refused(why) : new Unknown(why, place[0]);
        } catch (CuFileException e) {
            why.addSuppressed(e);
            return new Unknown(why, place[0]);
        }
    }

    /** Asks the server whose object is there. A failure to tell is added to that of the upload. */
    private Place look(S3Requests asking, CuFileException failure) {
        try {
            HttpResponse<byte[]> answer = asking.send("HEAD", target.url(Map.of()), new byte[0]);
            return answer.headers().firstValue(target.markHeader())
                    .map(mark -> !mark.equals(target.mark()) ? Place.ANOTHER
                            : target.mismatch(answer).isPresent() ? Place.DAMAGED : Place.OURS)
                    .orElse(Place.UNTOLD);
        } catch (CuFileException e) {
            if (e.isNotFound()) {
                return Place.NONE;
            }
            failure.addSuppressed(e);
            return Place.UNTOLD;
        }
    }
}
