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

    /** True if words of a request were left that is over. */
    private boolean left;

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
        board.forget(left ? PieceBoard.PIECES : places);
        left = false;
        requests.remove(request);
        notifyAll();
    }

    /** A request is over, but CUDA may have its kernel: that has to find the words that end it. The next request's end drops them. */
    synchronized void abandon(int request) {
        left = true;
        requests.remove(request);
        notifyAll();
    }
}
