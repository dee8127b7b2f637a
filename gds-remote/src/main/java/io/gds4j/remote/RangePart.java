package io.gds4j.remote;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.lang.foreign.MemorySegment;
import java.net.http.HttpResponse;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A range that is being read: one request after the other until all bytes are there. A failed request continues behind the bytes
 * that have arrived. Used by the thread that reads; only the body is filled by others.
 */
final class RangePart {
    private final HttpSource source;
    private final long offset;
    private final MemorySegment target;
    private final boolean usesMore;
    private final Runnable wake;
    private final Attempts attempts;
    private long received;
    private long retryAt = System.nanoTime();
    private boolean restarted;
    private boolean waiting;
    private @Nullable Request sent;

    /** A request that is under way. */
    private record Request(Client client, Place place, RangeBody body,
            CompletableFuture<HttpResponse<String>> answer) {
    }

    /** @param usesMore whether more connections would let it be shorter */
    RangePart(HttpSource source, long offset, MemorySegment target, boolean usesMore, Runnable wake) {
        this.source = source;
        this.usesMore = usesMore;
        this.offset = offset;
        this.target = target;
        this.wake = wake;
        this.attempts = new Attempts(source.options(), source.uri(), this::failure);
    }

    boolean isDone() {
        return received == target.byteSize();
    }

    /**
     * Continues: takes an answer, sends a request, or fails.
     *
     * @throws CuFileException if the range cannot be read
     */
    void step() {
        Request request = sent;
        if (request != null && request.answer.isDone()) {
            take(request);
            request = null;
        }
        if (isDone()) {
            return;
        }
        attempts.progress(request == null ? received : received + request.body.received());
        if (request == null && System.nanoTime() - retryAt >= 0) {
            begin();
        }
    }

    /** Sends a request, or waits for a connection, which is no lack of progress. */
    private void begin() {
        if (waiting) {
            source.connections().forget(this);
        }
        Optional<Client> free = source.connections().tryAcquire(this);
        waiting = free.isEmpty();
        if (waiting) {
            attempts.restartClock();
        } else {
            send(free.get());
        }
    }

    void wake() {
        wake.run();
    }

    private void send(Client through) {
        RangeBody into = new RangeBody(target.asSlice(received));
        long start = position();
        long last = last();
        // What the client keeps of a request must not lead to this part, and so to the memory of the reader.
        ObjectVersion version = source.version();
        Runnable ended = wake;
        Place place = source.place();
        boolean isSent = false;
        try {
            CompletableFuture<HttpResponse<String>> answer = source.send(
                    through, place, start, target.byteSize() - received,
                    info -> {
                        AnswerHead head = AnswerHead.of(info);
                        return problem(version, head, start, last).isEmpty() ? into.atMost(bytes(head))
                                : RangeBody.text();
                    });
            sent = new Request(through, place, into, answer);
            isSent = true;
            answer.whenComplete((response, failure) -> ended.run());
        } finally {
            if (!isSent) {
                into.detach();
                source.connections().release(through, 0, usesMore);
            }
        }
    }

    private void take(Request request) {
        sent = null;
        CompletableFuture<HttpResponse<String>> answer = request.answer;
        RangeBody filled = request.body;
        source.connections().release(request.client, filled.received(), usesMore);
        filled.detach();
        long start = position();
        received += filled.received();
        restarted &= filled.received() == 0; // a place that served bytes may expire, too
        if (answer.isCompletedExceptionally()) {
            attempts.progress(received);
            pause(attempts.failed(answer.exceptionNow()));
            return;
        }
        HttpResponse<String> response = answer.resultNow();
        if (filled.isTooLong()) {
            throw failure(Errno.EIO, "the body is longer than the range", null);
        }
        AnswerHead head = AnswerHead.of(response);
        int status = head.status();
        if (source.redirected(request.place, response, offset, target.byteSize())) {
            attempts.redirected();
            return;
        }
        Optional<String> problem = problem(source.version(), head, start, last());
        if (problem.isPresent()) {
            String why = status == 206 || status == 200 ? problem.get()
                    : RemoteFailure.meaning(head, response.body());
            int errno =
                    ObjectVersion.isChange(problem.get()) ? Errno.ESTALE : RemoteFailure.errno(status, response.body());
            if (Attempts.isTransient(status, response.body()) || source.connections().signer()
                    .corrects(response, RemoteFailure.code(response.body()))) {
                pause(attempts.failed(why, errno, null, head.retryAfter()));
                return;
            }
            if (!restarted && source.restarted(request.place, response)) {
                restarted = true;
                pause(attempts.failed(why, errno, null, 0));
                return;
            }
            throw failure(errno, why, null);
        }
        attempts.progress(received);
        long missing = bytes(head) - filled.received();
        if (missing > 0) {
            pause(attempts.failed("the body ends %s bytes early".formatted(missing), Errno.EIO, null, 0));
        } else if (!isDone()) {
            attempts.shorter();
        }
    }

    private void pause(long nanos) {
        retryAt = System.nanoTime() + nanos;
    }

    /** Returns the bytes of the range that an answer has. */
    private static long bytes(AnswerHead head) {
        return head.range().map(range -> range.last() - range.first() + 1).orElse(0L);
    }

    /** Returns what is wrong with an answer; empty if its body is the range or its beginning. */
    private static Optional<String> problem(
            ObjectVersion version, AnswerHead head, long start, long last) {
        int status = head.status();
        if (status == 200) {
            return Optional.of("status 200: the server sent the whole object instead of the range");
        }
        if (status != 206) {
            return Optional.of(RemoteFailure.meaning(status));
        }
        return version.mismatch(head, start, last);
    }

    private long last() {
        return offset + target.byteSize() - 1;
    }

    private long position() {
        return offset + received;
    }

    private CuFileException failure(int errno, String why, @Nullable Throwable cause) {
        return RemoteFailure.of(source.uri(), offset, target.byteSize(), errno, why, cause);
    }

    /** Ends a request in flight. Afterwards nothing writes to the memory. */
    void abandon() {
        Request request = sent;
        sent = null;
        if (request != null) {
            request.body.detach();
            request.answer.cancel(true);
            source.connections().giveUp(request.client, request.body.received());
        }
        if (waiting) {
            source.connections().forget(this);
        }
    }
}
