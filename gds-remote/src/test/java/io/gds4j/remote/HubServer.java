package io.gds4j.remote;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** A hub as its documentation describes it, and a store at another port that {@code resolve} redirects to. */
final class HubServer implements AutoCloseable {
    static final String TOKEN = "hf_hush";
    static final String FIRST = "1".repeat(40);
    static final String SECOND = "2".repeat(40);

    final RangeServer hub = new RangeServer();
    final RangeServer store = new RangeServer();

    /** The files of each commit of {@code models/org/model}. */
    private final Map<String, Map<String, byte[]>> commits = new ConcurrentHashMap<>();
    private final Map<String, String> revisions = new ConcurrentHashMap<>(Map.of("main", FIRST));

    /** Most siblings of a revision, and files of a page of its tree. */
    volatile int most = 1000;

    /** What links to the next page have in front. */
    volatile String pagesAt = "";

    /** The answer to each page of a tree; empty for a true one. */
    volatile String page = "";

    /** The answer to each list; empty for a true one. */
    volatile String list = "";

    /** Port that files are redirected to; 0 for that of the store. */
    volatile int storePort;

    /** What the hub answers to questions for files: status and code; empty for none. */
    volatile String refusal = "";

    HubServer() {
        hub.on((exchange, request) -> {
            answer(exchange, exchange.getRequestURI().getRawPath());
            return true;
        });
    }

    void put(String commit, String name, byte[] bytes) {
        commits.computeIfAbsent(commit, any -> new ConcurrentHashMap<>()).put(name, bytes);
        store.put("/blobs/" + commit + "/" + name, bytes);
    }

    void move(String revision, String commit) {
        revisions.put(revision, commit);
    }

    URI endpoint() {
        return hub.uri("");
    }

    private void answer(HttpExchange exchange, String path) throws IOException {
        if (path.startsWith("/api/models/org/old/")) {
            redirect(exchange, path.replace("/old/", "/model/"));
        } else if (path.startsWith("/api/models/org/away/")) {
            redirect(exchange, store.uri("/list").toString());
        } else if (path.startsWith("/api/models/org/model/revision/")) {
            String revision = path.substring(path.lastIndexOf('/') + 1).replace("%2F", "/");
            list(exchange, commits.containsKey(revision) ? revision : revisions.getOrDefault(revision, ""));
        } else if (path.startsWith("/api/models/org/model/tree/")) {
            tree(exchange, path, exchange.getRequestURI().getQuery());
        } else if (path.startsWith("/api/")) {
            refuse(exchange, "401 RepoNotFound");
        } else if (!refusal.isEmpty()) {
            refuse(exchange, refusal);
        } else {
            URI place = store.uri(path.replaceFirst("^/org/(model|old)/resolve/", "/blobs/"));
            redirect(exchange, place.toString().replace(
                    ":" + place.getPort() + "/", ":" + (storePort == 0 ? place.getPort() : storePort) + "/"));
        }
    }

    private void list(HttpExchange exchange, String commit) throws IOException {
        if (commit.isEmpty()) {
            refuse(exchange, "404 RevisionNotFound");
            return;
        }
        String siblings = new TreeMap<>(commits.get(commit)).keySet().stream().limit(most)
                .map("{\"size\":[{}],\"rfilename\":\"%s\"}"::formatted).collect(Collectors.joining(","));
        String json = list.isEmpty() ? "{\"id\":\"org/model\",\"config\":{\"sha\":1},\"sha\":\"%s\",\"siblings\":[%s]}"
                .formatted(commit, siblings) : list;
        answer(exchange, json.getBytes(StandardCharsets.UTF_8));
    }

    /** Answers with a page of the files of a commit. Each query but the first has a cursor, the number of the page. */
    private void tree(HttpExchange exchange, String path, String query) throws IOException {
        int number = query.contains("&cursor=") ? Integer.parseInt(query.replaceFirst(".*&cursor=(\\d+).*", "$1")) : 0;
        List<String> all = new TreeMap<>(commits.get(path.substring(path.lastIndexOf('/') + 1))).keySet().stream()
                .toList();
        int end = Math.min(all.size(), (number + 1) * most);
        if (end < all.size() || pagesAt.endsWith("endless")) {
            exchange.getResponseHeaders().set("Link",
                    "<%s%s?recursive=true&cursor=%s>; rel=\"next\"".formatted(pagesAt, path, number + 1));
        }
        String files = all.subList(Math.min(end, number * most), end).stream()
                .map("{\"type\":\"file\",\"oid\":\"1\",\"size\":1,\"lfs\":{\"path\":\"x\"},\"path\":\"%s\"}"::formatted)
                .collect(Collectors.joining(","));
        String json = page.isEmpty()
                ? "[{\"type\":\"directory\",\"path\":\"folder\"}%s%s]".formatted(files.isEmpty() ? "" : ",", files)
                : page;
        answer(exchange, json.getBytes(StandardCharsets.UTF_8));
    }

    private static void answer(HttpExchange exchange, byte[] bytes) throws IOException {
        exchange.sendResponseHeaders(200, bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    private static void redirect(HttpExchange exchange, String to) throws IOException {
        exchange.getResponseHeaders().set("Location", to);
        exchange.sendResponseHeaders(302, -1);
    }

    private static void refuse(HttpExchange exchange, String answer) throws IOException {
        if (answer.length() > 3) {
            exchange.getResponseHeaders().set("X-Error-Code", answer.substring(4));
        }
        exchange.sendResponseHeaders(Integer.parseInt(answer.substring(0, 3)), -1);
    }

    /** Returns the credentials that a server got, without repetitions. */
    static List<String> credentials(RangeServer server) {
        return server.exchanges.stream()
                .map(exchange -> String.valueOf(exchange.getRequestHeaders().getFirst("Authorization"))).distinct()
                .toList();
    }

    /** Returns the paths that a server was asked for. */
    static List<String> paths(RangeServer server) {
        return server.exchanges.stream().map(exchange -> exchange.getRequestURI().getRawPath()).toList();
    }

    @Override
    public void close() {
        hub.close();
        store.close();
    }
}
