package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.internal.lifetime.Uninterruptibly;
import java.util.ArrayDeque;
import java.util.Deque;

/** A board that the copies of a stream use one after the other. Thread-safe. */
final class StreamBoard {
    private final PieceBoard board;

    /** Numbers of the requests that are not over. */
    private final Deque<Integer> requests = new ArrayDeque<>();

    StreamBoard(PieceBoard board) {
        this.board = board;
    }

    PieceBoard board() {
        return board;
    }

    /** Begins a request behind the others and returns its number. */
    synchronized int begin() {
        int request = board.beginBehind();
        requests.add(request);
        return request;
    }

    /** Waits until the requests before this one are over. */
    void awaitFirst(int request) {
        Uninterruptibly.await(() -> untilFirst(request));
    }

    private synchronized void untilFirst(int request) throws InterruptedException {
        while (requests.getFirst() != request) {
            wait();
        }
    }

    /**
     * A request is over: its kernel has ended or was never launched.
     *
     * @param places places of the board that hold words of it
     */
    synchronized void end(int request, int places) {
        board.forget(places);
        requests.remove(request);
        notifyAll();
    }
}
