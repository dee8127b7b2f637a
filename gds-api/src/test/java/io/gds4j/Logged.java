package io.gds4j;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Records what a logger receives during a test, and keeps it from other handlers. A test expects the warnings that it causes by
 * this, so that a build prints none.
 *
 * <pre>{@code
 * @RegisterExtension
 * private final Logged logged = Logged.by("io.gds4j");
 * }</pre>
 */
public final class Logged implements BeforeEachCallback, AfterEachCallback {
    /** Largest number of collections to wait for an unreachable object; about a minute. */
    public static final int PATIENCE = 1200;

    private static final Formatter FORMATTER = new SimpleFormatter();

    private final Logger logger;
    private final List<String> about;
    private final Level level;
    private final LinkedBlockingQueue<LogRecord> records = new LinkedBlockingQueue<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord entry) {
            if (about.stream().anyMatch(message(entry)::contains)) {
                records.add(entry);
            } else {
                for (Handler other : Logger.getLogger("").getHandlers()) {
                    other.publish(entry);
                }
            }
        }

        @Override
        public void flush() {
            // Records need no flush.
        }

        @Override
        public void close() {
            // There is nothing to close.
        }
    };

    private Logged(Logger logger, List<String> about, Level level) {
        this.logger = logger;
        this.about = about;
        this.level = level;
    }

    /** Records messages of level INFO and above. */
    public static Logged by(String logger) {
        return new Logged(Logger.getLogger(logger), List.of(""), Level.INFO);
    }

    /** Records only messages that contain one of these texts. Others go where they go without this. */
    public Logged about(String... texts) {
        return new Logged(logger, List.of(texts), level);
    }

    /** Records messages of every level. */
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

    /** Returns the records that no call has taken, oldest first. */
    public List<LogRecord> records() {
        return List.copyOf(records);
    }

    /** Returns {@link #records} as lines of level and message. */
    public List<String> lines() {
        return records.stream().map(Logged::line).toList();
    }

    private static String line(LogRecord entry) {
        return entry.getLevel() + " " + message(entry);
    }

    private static String message(LogRecord entry) {
        return FORMATTER.formatMessage(entry);
    }

    /** Collects garbage, then takes the next line if it comes within 50 ms. Cleaners log forgotten objects. */
    public Optional<String> afterCollection() throws InterruptedException {
        System.gc();
        return Optional.ofNullable(records.poll(50, TimeUnit.MILLISECONDS)).map(Logged::line);
    }

    /** Collects garbage until a line comes, and takes it. */
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
