package io.gds4j.tools;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A tab of Debian's Chromium without a window, by the protocol of its developer tools. */
public final class Chromium implements AutoCloseable {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final long PATIENCE_SECONDS = 60;

    private final Path profile;
    private final Process process;
    private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();
    private final HttpClient http = HttpClient.newHttpClient();
    private final WebSocket socket;
    private final String session;
    private int number;

    private Chromium(Path profile, Process process, String address) throws Exception {
        this.profile = profile;
        this.process = process;
        this.socket = http.newWebSocketBuilder().buildAsync(URI.create(address), new Receiver())
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        String target = call("Target.createTarget", "{\"url\":\"about:blank\"}", null).get("targetId").asText();
        this.session = call("Target.attachToTarget", "{\"targetId\":\"%s\",\"flatten\":true}".formatted(target), null)
                .get("sessionId").asText();
    }

    /** Starts the browser; skips the test with one line where there is none. */
    public static Chromium start(Path profile) throws Exception {
        Optional<Path> program = Stream.of("/usr/bin/chromium", "/usr/bin/chromium-browser")
                .map(Path::of).filter(Files::isExecutable).findFirst();
        assumeTrue(program.isPresent(), "no Chromium: the page is not looked at (apt install chromium)");
        Process process = new ProcessBuilder(
                program.orElseThrow().toString(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic",
                "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
                "--remote-debugging-port=0", "--user-data-dir=" + profile)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        BufferedReader said = process.errorReader(StandardCharsets.UTF_8);
        for (String line = said.readLine(); line != null; line = said.readLine()) {
            if (line.startsWith("DevTools listening on ")) {
                Thread.ofPlatform().daemon().start(() -> said.lines().forEach(ignored -> {
                }));
                return new Chromium(profile, process, line.substring("DevTools listening on ".length()).strip());
            }
        }
        process.destroyForcibly();
        throw new IOException("Chromium has ended");
    }

    /** Shows a page in a window of a width, in light or dark colours. */
    public void open(Path page, int width, boolean dark) throws Exception {
        call("Emulation.setDeviceMetricsOverride",
                "{\"width\":%s,\"height\":900,\"deviceScaleFactor\":1,\"mobile\":false}".formatted(width), session);
        call("Emulation.setEmulatedMedia",
                "{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"%s\"}]}".formatted(
                        dark ? "dark" : "light"),
                session);
        call("Page.navigate", MAPPER.createObjectNode().put("url", page.toUri().toString()).toString(), session);
        evaluate(
                "new Promise(done => document.readyState === 'complete' ? done(1) : addEventListener('load', () => done(1)))");
    }

    /** Returns the value of an expression in the page. */
    public JsonNode evaluate(String expression) throws Exception {
        ObjectNode parameters = MAPPER.createObjectNode().put("expression", expression).put("returnByValue", true)
                .put("awaitPromise", true);
        JsonNode result = call("Runtime.evaluate", parameters.toString(), session);
        if (result.has("exceptionDetails")) {
            throw new AssertionError(result.toString());
        }
        return result.get("result").path("value");
    }

    /** Returns a picture of the whole page, PNG. */
    public byte[] picture() throws Exception {
        JsonNode shot = call("Page.captureScreenshot", "{\"captureBeyondViewport\":true}", session);
        return Base64.getDecoder().decode(shot.get("data").asText());
    }

    private JsonNode call(String method, String parameters, String ofSession) throws Exception {
        ObjectNode message = MAPPER.createObjectNode().put("id", ++number).put("method", method);
        message.set("params", MAPPER.readTree(parameters));
        if (ofSession != null) {
            message.put("sessionId", ofSession);
        }
        socket.sendText(message.toString(), true).get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        while (true) {
            String answer = messages.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            if (answer == null) {
                throw new IOException("Chromium does not answer " + method);
            }
            JsonNode node = MAPPER.readTree(answer);
            if (node.path("id").asInt() == number) {
                if (node.has("error")) {
                    throw new IOException(method + ": " + node.get("error"));
                }
                return node.get("result");
            }
        }
    }

    private final class Receiver implements WebSocket.Listener {
        private final StringBuilder parts = new StringBuilder();

        @Override
        public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
            parts.append(data);
            if (last) {
                messages.add(parts.toString());
                parts.setLength(0);
            }
            from.request(1);
            return null;
        }
    }

    @Override
    public void close() {
        socket.abort();
        http.shutdownNow();
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly().onExit().join();
        try {
            // A link to a folder elsewhere, which JUnit would warn about.
            Files.deleteIfExists(profile.resolve("SingletonSocket"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
