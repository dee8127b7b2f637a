package io.gds4j;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * What a logger is told during a test, kept from those who would print it.
 *
 * <pre>{@code
 * @RegisterExtension
 * private final Logged logged = Logged.by("io.gds4j");
 * }</pre>
 */
public final class Logged implements BeforeEachCallback, AfterEachCallback {
    /** Collections after which an object that nobody holds is gone, on any machine: a minute of them. */
    public static final int PATIENCE = 1200;

    private final Logger logger;
    private final String about;
    private final Level level;
    private final LinkedBlockingQueue<LogRecord> records = new LinkedBlockingQueue<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord entry) {
            if (entry.getMessage().contains(about)) {
                records.add(entry);
            }
        }

        @Override
        public void flush() {
            // nothing is kept back
        }

        @Override
        public void close() {
            // nothing is open
        }
    };

    private Logged(Logger logger, String about, Level level) {
        this.logger = logger;
        this.about = about;
        this.level = level;
    }

    /** What it tells by default. */
    public static Logged by(String logger) {
        return new Logged(Logger.getLogger(logger), "", Level.INFO);
    }

    /** Only lines that hold a text: others may be of other tests. */
    public Logged about(String text) {
        return new Logged(logger, text, level);
    }

    /** Also what nobody would see by default. */
    public Logged atEveryLevel() {
        return new Logged(logger, about, Level.ALL);
    }

    @Override
    public void beforeEach(ExtensionContext test) {
        logger.setLevel(level);
        logger.setUseParentHandlers(false);
        logger.addHandler(handler);
    }

    @Override
    public void afterEach(ExtensionContext test) {
        logger.removeHandler(handler);
        logger.setUseParentHandlers(true);
        logger.setLevel(null);
    }

    /** What nobody has taken, oldest first. */
    public List<LogRecord> records() {
        return List.copyOf(records);
    }

    /** The same as lines of level and message. */
    public List<String> lines() {
        return records.stream().map(Logged::line).toList();
    }

    private static String line(LogRecord entry) {
        return entry.getLevel() + " " + entry.getMessage();
    }

    /** Collects garbage and takes the next line, if it comes soon: what is forgotten is logged by those whom the collector tells. */
    public Optional<String> afterCollection() throws InterruptedException {
        System.gc();
        return Optional.ofNullable(records.poll(50, TimeUnit.MILLISECONDS)).map(Logged::line);
    }

    /** The same until one comes. */
    public String nextAfterCollection() throws InterruptedException {
        for (int i = 0; i < PATIENCE; i++) {
            Optional<String> line = afterCollection();
            if (line.isPresent()) {
                return line.get();
            }
        }
        throw new AssertionError("nothing was logged");
    }
}
