package io.gds4j.remote;

import io.gds4j.remote.contract.Wire;
import io.gds4j.remote.contract.Wire.Answer;
import io.gds4j.remote.contract.Wire.End;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Stands between a client and a server of S3 on loopback, and lets requests fail before or after the server has done them. */
final class FaultyProxy implements AutoCloseable {
    /** What happens to a request. */
    enum Fault {
        NONE, RESET, END, ERROR, REFUSAL, PAGE, EMPTY, DONE_RESET, DONE_END, DONE_ERROR, DONE_EMPTY, DONE_NO_CONTENT,
        DONE_CUT;

        boolean isDone() {
            return this == NONE || name().startsWith("DONE");
        }
    }

    /** Chooses the fault of a request. */
    @FunctionalInterface
    interface Plan {
        /** Returns the fault of a request of a kind: begin, part, complete, abort, put, look, delete. */
        Fault of(String kind);
    }

    private static final List<Integer> ERRORS = List.of(500, 502, 503, 504);

    private final Wire wire;
    final List<String> happened = new CopyOnWriteArrayList<>();

    FaultyProxy(int behind, Plan plan) throws IOException {
        wire = new Wire(behind, request -> {
            String kind = kind(request);
            Fault fault = plan.of(kind);
            happened.add(kind + (fault == Fault.NONE ? "" : ":" + fault));
            return answer(kind, fault, fault.isDone() ? request.forward() : Answer.none(End.CLOSE));
        });
    }

    URI uri() {
        return URI.create("http://127.0.0.1:" + wire.port());
    }

    private Answer answer(String kind, Fault fault, Answer done) {
        return switch (fault) {
            case NONE -> done;
            case ERROR, DONE_ERROR -> answer(kind, ERRORS.get(Math.floorMod(happened.size(), ERRORS.size())),
                    "<Error><Code>InternalError</Code></Error>");
            case REFUSAL -> answer(kind, 403, "<Error><Code>AccessDenied</Code></Error>");
            case PAGE -> answer(kind, 200, "<html>Please log in</html>");
            case EMPTY, DONE_EMPTY -> answer(kind, 200, "");
            case DONE_NO_CONTENT -> text("HTTP/1.1 204 x\r\n\r\n", End.KEEP);
            case DONE_CUT -> text("HTTP/1.1 200 x\r\nContent-Length: 500\r\n\r\n<Comp", End.CLOSE);
            case RESET, DONE_RESET -> Answer.none(End.RESET);
            case END, DONE_END -> Answer.none(End.CLOSE);
        };
    }

    private static Answer answer(String kind, int status, String body) {
        return text("HTTP/1.1 %s x\r\nContent-Length: %s\r\n\r\n%s".formatted(
                status, body.length(), kind.equals("look") ? "" : body), End.KEEP);
    }

    private static Answer text(String text, End end) {
        return new Answer(text.getBytes(StandardCharsets.US_ASCII), end);
    }

    private static String kind(Wire.Request request) {
        boolean isPart = request.head().substring(0, request.head().indexOf('\r')).contains("uploadId=");
        return switch (request.method()) {
            case "POST" -> isPart ? "complete" : "begin";
            case "PUT" -> isPart ? "part" : "put";
            case "DELETE" -> isPart ? "abort" : "delete";
            default -> "look";
        };
    }

    @Override
    public void close() throws IOException {
        wire.close();
    }
}
