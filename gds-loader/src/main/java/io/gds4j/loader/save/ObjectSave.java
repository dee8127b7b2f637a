package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.loader.internal.Workers;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.source.SourcePath;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The save of a whole plan to objects of a store, one after the other and the index last. The store takes the bytes in parts from
 * memory. A failure removes what was stored.
 */
final class ObjectSave extends SaveJob {
    private final Checksums checksums;
    private final long total;
    private final ReentrantLock reporting = new ReentrantLock();
    private long read;

    /** An object of bytes that are in memory. */
    private record Text(String identity, byte[] bytes) implements RangeSource {
        @Override
        public long size() {
            return bytes.length;
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) {
            long count = Math.clamp(size() - offset, 0, target.byteSize());
            MemorySegment.copy(MemorySegment.ofArray(bytes), offset, target, 0, count);
            return count;
        }
    }

    /** A file of the plan: its header, and the bytes of its tensors. */
    private final class Content implements RangeSource {
        private final Path place;
        private final int number;
        private final SaveFile file;
        private final TensorBytes tensors;
        private final Text header;
        private final AtomicLong left;

        Content(Path place, int number, TensorBytes tensors) {
            this.place = place;
            this.number = number;
            this.tensors = tensors;
            file = plan.files().get(number);
            header = new Text(identity(), file.header(checksums(number, tensors)));
            left = new AtomicLong(file.size());
            tensors.expect(WriteRange.ofData(number, file));
        }

        @Override
        public String identity() {
            return place.toString();
        }

        @Override
        public long size() {
            return file.size();
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) {
            checkStopped();
            long end = Math.min(file.size(), offset + target.byteSize());
            long data = Math.clamp(file.dataOffset(), offset, end);
            if (data > offset) {
                header.read(offset, target, cancellation);
            }
            MemoryRange to = MemoryRange.ofSegment(target.asSlice(data - offset, end - data));
            tensors.copy(new WriteRange(number, data, end, WriteRange.JOINED), to, TensorBytes.Copied.IGNORED);
            if (left.addAndGet(offset - end) == 0) {
                // before the object appears
                tensors.finish();
            }
            progress(end - offset);
            return end - offset;
        }
    }

    ObjectSave(SaveContent plan, CuFileDriver driver, SaveListener listener, FileCalls calls, Runnable onRelease) {
        super(plan, driver, listener, calls, onRelease);
        checksums = new Checksums(plan, driver.allocator());
        total = plan.files().stream().mapToLong(SaveFile::size).sum();
    }

    private void progress(long bytes) {
        reporting.lock();
        try {
            read += bytes;
            listener.progress(read, total);
        } finally {
            reporting.unlock();
        }
    }

    /** A listener may cancel the save on a thread of the store. */
    @Override
    boolean isOwnThread() {
        return reporting.isHeldByCurrentThread() || super.isOwnThread();
    }

    @Override
    void work() {
        SaveTarget target = plan.target();
        List<String> names = target.names(plan.files().size());
        Predicate<String> isPart = target.isFolder() ? target::isPart : names::contains;
        interruptibly(() -> requireFree(target, names, isPart));
        awaitStreams();
        List<Path> stored = new ArrayList<>();
        try (Snapshot snapshot = sources(); TensorBytes tensors = new TensorBytes(plan, driver, snapshot, this)) {
            tensors.open();
            for (int i = 0; i < names.size(); i++) {
                Path place = target.folder().resolve(names.get(i));
                store(new Content(place, i, tensors), place);
                stored.add(place);
                moved().stored(plan.files().get(i).size());
            }
            written();
            // Another writer that began meanwhile, with other names, finds these objects or is found.
            boolean hasIndex = names.size() > 1;
            interruptibly(() -> requireFree(target, names, isPart.and(
                    name -> !names.contains(name) && !(hasIndex && name.equals(target.indexName())))));
            if (hasIndex) {
                Path index = target.folder().resolve(target.indexName());
                store(new Text(index.toString(), IndexText.of(plan.files(), names)), index);
                stored.add(index);
            }
            beginPublishing();
        } catch (Throwable e) {
            remove(stored.reversed(), e);
            throw e;
        }
    }

    /** Refuses a folder with a part of a checkpoint, as far as the store tells: a mixture of two would look like one. */
    private static void requireFree(SaveTarget target, List<String> names, Predicate<String> isTaken) {
        Optional<Path> found = Optional.empty();
        try (Stream<Path> objects = Files.list(target.folder())) {
            found = objects.filter(object -> isTaken.test(String.valueOf(object.getFileName()))).findFirst();
        } catch (IOException e) {
            // There is no such folder.
        } catch (CuFileException e) {
            // A store that lists nothing may still tell of an object.
            found = Stream.of(names.getFirst(), target.indexName()).filter(isTaken).map(target.folder()::resolve)
                    .filter(Files::isRegularFile).findFirst();
        }
        found.ifPresent(object -> {
            throw taken(object);
        });
    }

    private static CuFileException taken(Path object) {
        return SaveFailure.taken(
                object, "holds a checkpoint already, or part of one; delete it or name another folder");
    }

    private void store(RangeSource content, Path place) {
        interruptibly(() -> {
            try {
                ((SourcePath) place).create(content);
            } catch (IOException e) {
                throw SaveFailure.of(place, "cannot store the object", e);
            } catch (CuFileException e) {
                throw e.errno().orElse(0) == Errno.EEXIST ? taken(place) : e;
            }
        });
    }

    /** Returns the checksums of the tensors of a file, which its header needs before its bytes are sent. */
    private int[] checksums(int number, TensorBytes tensors) {
        SaveFile file = plan.files().get(number);
        if (!plan.options().checksums()) {
            return new int[file.tensors().size()];
        }
        List<WriteRange> pieces = WriteRange.ofData(number, file);
        checksums.expect(pieces.size());
        tensors.expect(pieces);
        run(new Workers("gds-save-", plan.options().writesInFlight(), pieces.size(), () -> new Workers.Worker() {
            private final Checksums.Calculator calculator = checksums.calculator();
            private final MemoryAllocation memory =
                    driver.allocator().allocate(MemoryKind.HOST, WriteRange.BUFFER);

            @Override
            public void work(int piece) {
                tensors.copy(pieces.get(piece), memory.range(), (tensor, part) -> calculator.add(piece, tensor, part));
            }

            @Override
            public void close() {
                memory.close();
            }
        }));
        return checksums.calculator().ofTensors(number, pieces);
    }

    /** Removes objects of a save that failed: they are its own, and in the way of the next. */
    private void remove(List<Path> stored, Throwable failure) {
        if (isStopped()) {
            // a program that waits for the end of a save is not kept waiting for a slow server
            Thread.currentThread().interrupt();
        }
        for (int i = 0; i < stored.size(); i++) {
            try {
                Files.delete(stored.get(i));
            } catch (IOException | CuFileException e) {
                failure.addSuppressed(SaveFailure.of(stored.get(i),
                        "%s objects of the failed save stay, this one and those before it".formatted(
                                stored.size() - i),
                        e));
                break;
            }
        }
        Thread.interrupted();
    }
}
