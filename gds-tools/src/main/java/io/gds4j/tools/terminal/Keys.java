package io.gds4j.tools.terminal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The keys that a user presses, one by one and without an echo, while a command draws a screen. There are none without a terminal, and
 * in the background, where the kernel would stop a process that reads them.
 */
final class Keys implements AutoCloseable {
    /** Fields of /proc/self/stat behind the name: group of the process, and the group that the terminal serves. */
    private static final int GROUP = 2;
    private static final int FOREGROUND = 5;

    private final BlockingQueue<Integer> pressed = new LinkedBlockingQueue<>();
    private final String settings;
    /** Restores the terminal on a signal. */
    private final Thread hook = new Thread(this::restore, "gds-keys-restore");

    private Keys(String settings) {
        this.settings = settings;
        if (!settings.isEmpty()) {
            Runtime.getRuntime().addShutdownHook(hook);
            TerminalQueries.stty("-icanon", "-echo");
            Thread.ofPlatform().daemon().name("gds-keys").start(this::read);
        }
    }

    /** Returns the keys that the user of the terminal presses. */
    static Keys ofTerminal() {
        return new Keys(isInForeground() ? TerminalQueries.stty("-g").strip() : "");
    }

    /** Returns no keys. */
    static Keys none() {
        return new Keys("");
    }

    private static boolean isInForeground() {
        try {
            String stat = Files.readString(Path.of("/proc/self/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            return fields[GROUP].equals(fields[FOREGROUND]);
        } catch (IOException | IndexOutOfBoundsException e) {
            return false;
        }
    }

    private void read() {
        try (InputStream terminal = Files.newInputStream(Path.of("/dev/tty"))) {
            for (int key = terminal.read(); key >= 0; key = terminal.read()) {
                pressed.add(key);
            }
        } catch (IOException e) {
            // the terminal is gone
        }
    }

    /**
     * Waits for the next key.
     *
     * @param nanos longest wait; 0 or less returns at once
     * @return the key; empty if none was pressed
     */
    Optional<Integer> next(long nanos) throws InterruptedException {
        return Optional.ofNullable(pressed.poll(nanos, TimeUnit.NANOSECONDS));
    }

    private void restore() {
        TerminalQueries.stty(settings);
    }

    @Override
    public void close() {
        if (!settings.isEmpty() && ShutdownState.remove(hook)) {
            restore();
        }
    }
}
