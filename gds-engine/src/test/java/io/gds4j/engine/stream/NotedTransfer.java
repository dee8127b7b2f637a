package io.gds4j.engine.stream;

import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.StreamRequest;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A transfer that counts uses of its file and keeps log lines. */
final class NotedTransfer implements StreamTransfer {
    /** The result of an operation that has not ended. */
    static final long UNTOUCHED = -77;

    private static final BackendFile FILE = (BackendFile) Proxy.newProxyInstance(
            BackendFile.class.getClassLoader(), new Class<?>[]{BackendFile.class}, (proxy, method, arguments) -> {
                throw new AssertionError("the order asks nothing of a file");
            });

    final List<String> logged = new CopyOnWriteArrayList<>();
    private final boolean staged;
    private int uses;

    NotedTransfer(boolean staged) {
        this.staged = staged;
    }

    /** Makes a request whose cells are in the arena. */
    static StreamRequest request(Arena arena, MemoryRange memory, long size, long fileOffset, long stream) {
        return new StreamRequest(
                FILE, memory, cell(arena, size), cell(arena, fileOffset), cell(arena, 0), cell(arena, UNTOUCHED),
                stream);
    }

    private static MemorySegment cell(Arena arena, long value) {
        return arena.allocateFrom(ValueLayout.JAVA_LONG, value);
    }

    static long result(StreamRequest request) {
        return request.bytesDone().get(ValueLayout.JAVA_LONG, 0);
    }

    /** Returns the uses of the file that have not ended. */
    synchronized int uses() {
        return uses;
    }

    @Override
    public synchronized void begin() {
        uses++;
    }

    @Override
    public synchronized void end() {
        uses--;
    }

    @Override
    public boolean isStaged(MemoryRange memory) {
        return staged;
    }

    @Override
    public void log(String message, RuntimeException failure) {
        logged.add(message);
    }
}
