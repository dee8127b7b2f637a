package io.gds4j.samples;

import java.util.List;
import java.util.Optional;

/** The registry of all samples. It knows the samples; no sample knows it. */
public final class Samples {
    private static final List<Named> ALL = List.of(
            pattern(1, "register and deregister in each iteration", Pattern1RegisterInLoop.class,
                    Pattern1RegisterInLoop::run),
            pattern(2, "register once, vary the buffer offset", Pattern2RegisterOnce.class, Pattern2RegisterOnce::run),
            pattern(3, "no registration", Pattern3NoRegistration.class, Pattern3NoRegistration::run),
            pattern(4, "unaligned file offsets", Pattern4UnalignedFileOffset.class,
                    Pattern4UnalignedFileOffset::run),
            pattern(5, "unaligned buffer offsets", Pattern5UnalignedBufferOffset.class,
                    Pattern5UnalignedBufferOffset::run),
            pattern(6, "many small reads in batches", Pattern6Batch.class, Pattern6Batch::run),
            pattern(7, "reads ordered by a stream", Pattern7Stream.class, Pattern7Stream::run),
            sample("first-writes", "the smallest programs", FirstWrites.class, FirstWrites::run, 1, 2, 28),
            sample("integrity", "file to memory to file, digests compared", Integrity.class, Integrity::run, 3, 4),
            sample("buffer-offsets", "parts of a registered buffer", BufferOffsets.class, BufferOffsets::run, 5, 14),
            sample("pointer-arithmetic", "64 KiB at a time, not registered", PointerArithmetic.class,
                    PointerArithmetic::run, 6),
            sample("driver-settings", "properties and limits of the driver", DriverSettings.class,
                    DriverSettings::run, 7),
            sample("errors", "error codes and exceptions", Errors.class, Errors::run, 8),
            sample("threads-own-handles", "threads with one handle each", ThreadsOwnHandles.class,
                    ThreadsOwnHandles::run, 9, 16),
            sample("threads-shared-handle", "threads that share a handle", ThreadsSharedHandle.class,
                    ThreadsSharedHandle::run, 10, 11, 17),
            sample("many-buffers", "64 buffers, 64 threads, a registration limit", ManyBuffers.class,
                    ManyBuffers::run, 12, 13),
            sample("memory-kinds", "every kind of memory", MemoryKinds.class, MemoryKinds::run, 15),
            sample("range-locks", "locks for unaligned writes of two processes", RangeLocks.class, RangeLocks::run, 18),
            sample("batch-write-read", "a batch of writes, a batch of reads", BatchWriteRead.class,
                    BatchWriteRead::run, 19, 20),
            sample("batch-cancel", "a cancelled batch", BatchCancel.class, BatchCancel::run, 21),
            sample("batch-polling", "polling for completions during other work", BatchPolling.class,
                    BatchPolling::run, 22),
            sample("growing-memory", "registered memory that grows", GrowingMemory.class, GrowingMemory::run,
                    23, 24, 25, 26),
            sample("batch-unaligned", "unaligned writes in batches", BatchUnaligned.class, BatchUnaligned::run, 27, 29),
            sample("batch-memory-kinds", "one batch, many kinds of memory", BatchMemoryKinds.class,
                    BatchMemoryKinds::run, 30),
            sample("streams", "read, kernel and write in streams", Streams.class, Streams::run, 31, 32, 33, 34),
            sample("futures", "reads that return a future", Futures.class, Futures::run),
            sample("data-loader", "records of shards in random order, read ahead", DataLoader.class,
                    DataLoader::run),
            sample("training-loop", "shuffled batches while a step works on earlier ones", TrainingLoop.class,
                    TrainingLoop::run),
            sample("resumed-training", "a training that dies and resumes its data set", ResumedTraining.class,
                    ResumedTraining::run),
            sample("checkpoint-to-arrays", "a checkpoint into arrays of other libraries", CheckpointToArrays.class,
                    CheckpointToArrays::run),
            sample("resharding", "a checkpoint of four ranks into buffers of three", Resharding.class,
                    Resharding::run),
            sample("sources", "an encrypted file and memory of the program as files", Sources.class, Sources::run),
            sample("rdma-registration", "file reads into memory of an RDMA device", RdmaRegistration.class,
                    RdmaRegistration::run),
            sample("python-tensors", "tensors shared with PyTorch or NumPy", PythonTensors.class,
                    PythonTensors::run));

    private Samples() {
    }

    private static Named pattern(int number, String summary, Class<?> program, Sample sample) {
        return new Named("pattern-" + number, summary, List.of(), program, sample);
    }

    private static Named sample(
            String name, String summary, Class<?> program, Sample sample, Integer... topics) {
        return new Named(name, summary, List.of(topics), program, sample);
    }

    /** {@return all samples in reading order} */
    public static List<Named> all() {
        return ALL;
    }

    /**
     * Finds a sample.
     *
     * @param name its name
     * @return the sample; empty if there is none of this name
     */
    public static Optional<Named> named(String name) {
        return ALL.stream().filter(sample -> sample.name().equals(name)).findFirst();
    }

    /**
     * An entry of the registry {@link Samples}.
     *
     * @param name the name for {@code gds sample}
     * @param summary what the sample shows, in a few words
     * @param topics numbers of the cuFile topics in samples/README.md that it covers; may be empty
     * @param program the class with the source
     * @param sample runs the program
     */
    public record Named(String name, String summary, List<Integer> topics, Class<?> program, Sample sample) {
        /** Copies the list. */
        public Named {
            topics = List.copyOf(topics);
        }

        /** Returns the largest {@code --io-size} of the program in bytes. */
        public long mostIoSize() {
            return program == Pattern6Batch.class ? Pattern6Batch.MAX_BYTES : Long.MAX_VALUE;
        }
    }
}
