package io.gds4j.compat;

import io.gds4j.CuFileHandle;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.random.RandomWork;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Gathered reads while the requests of all boards are counted from 1 again, which takes a caller 35 hours to reach. Sets the counts by
 * reflection: no program can.
 */
public final class BoardsNearTheWrap implements RandomWork {
    private static final int READS = 40;
    private static final int BYTES = 512 << 10;
    private static final int ROOM = 2 << 20;

    @Override
    public boolean isAlone() {
        return true;
    }

    @Override
    public long run(Place place) throws Exception {
        if (!place.kinds().contains(MemoryKind.CUDA_DEVICE)) {
            return 0;
        }
        GuardedFile file = GuardedFile.create(place.directory().resolve("wrap"), ROOM, place.random().nextLong());
        try (CuFileHandle handle = place.driver().openFile(file.path());
                GuardedMemory memory =
                        GuardedMemory.allocate(place.driver().allocator(), MemoryKind.CUDA_DEVICE, ROOM)) {
            place.driver().allocator().prepare(MemoryKind.CUDA_DEVICE, 0);
            setRequests(place.driver(), Integer.MAX_VALUE - place.random().nextInt(2, 12));
            for (int i = 0; i < READS; i++) {
                int fileOffset = place.random().nextInt(ROOM - BYTES);
                int at = place.random().nextInt(ROOM - BYTES);
                memory.expect(at, file.expected(fileOffset, BYTES));
                if (handle.read(memory.range(), BYTES, fileOffset, at) != BYTES) {
                    throw new AssertionError("read less than " + BYTES);
                }
                memory.verify();
            }
        } finally {
            Files.delete(file.path());
        }
        return READS;
    }

    /** Sets the count of each board that can be reached from an object through objects of gds4j. */
    private static void setRequests(Object root, int requests) throws ReflectiveOperationException {
        Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        Deque<Object> next = new ArrayDeque<>();
        next.add(root);
        while (!next.isEmpty()) {
            Object one = next.poll();
            if (!seen.add(one)) {
                continue;
            }
            if (one instanceof PieceBoard) {
                Field count = PieceBoard.class.getDeclaredField("requests");
                count.setAccessible(true);
                count.setInt(one, requests);
            }
            addParts(one, next);
        }
    }

    private static void addParts(Object one, Deque<Object> to) throws IllegalAccessException {
        switch (one) {
            case AtomicReference<?> reference -> add(reference.get(), to);
            case AtomicReferenceArray<?> array -> {
                for (int i = 0; i < array.length(); i++) {
                    add(array.get(i), to);
                }
            }
            case Optional<?> optional -> optional.ifPresent(to::add);
            case Map<?, ?> map -> map.values().forEach(value -> add(value, to));
            case Collection<?> collection -> collection.forEach(value -> add(value, to));
            default -> {
                if (one.getClass().isArray() && !one.getClass().getComponentType().isPrimitive()) {
                    for (int i = 0; i < Array.getLength(one); i++) {
                        add(Array.get(one, i), to);
                    }
                } else if (one.getClass().getName().startsWith("io.gds4j.")) {
                    addFields(one, to);
                }
            }
        }
    }

    private static void addFields(Object one, Deque<Object> to) throws IllegalAccessException {
        for (Class<?> type = one.getClass(); type != null && type != Object.class; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !field.getType().isPrimitive()
                        && field.trySetAccessible()) {
                    add(field.get(one), to);
                }
            }
        }
    }

    private static void add(Object value, Deque<Object> to) {
        if (value != null && !(value instanceof Thread)) {
            to.add(value);
        }
    }
}
