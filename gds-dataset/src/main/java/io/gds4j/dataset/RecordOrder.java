package io.gds4j.dataset;

import io.gds4j.error.CuFileException;

/**
 * The order in which an epoch visits the records of a data set. An order is a function: it needs no memory per record and finds each
 * position at once, so a program can resume anywhere. Immutable and thread-safe.
 *
 * @since 0.1
 */
public sealed interface RecordOrder {
    /** {@return the order of the record numbers, the same in every epoch} */
    static RecordOrder sequential() {
        return new Sequential();
    }

    /**
     * Returns a random order of all records, another in each epoch.
     *
     * @param seed any number; the same seed gives the same orders
     * @return the order
     */
    static RecordOrder shuffled(long seed) {
        return new Shuffled(seed);
    }

    /**
     * Returns an order that disks and servers like: consecutive records form blocks, and blocks come in random order, whichever shards
     * they are of. Records of some neighbouring blocks, a window, are mixed: each is anywhere in the window with equal chances. Two
     * neighbours in a file are fewer records apart than a window has, and a batch has records of as many places of the data set as the
     * window has blocks. For shards of equal size, a block may be a shard.
     *
     * <p>
     * The loader reads each block once, by long requests, if two windows fit into {@link RecordLoader.Builder#memory} and records have at
     * most 512 KiB. A window of one block keeps its records in sequence.
     *
     * <p>
     * Known elsewhere as the shuffle buffer of WebDataset and tf.data, or {@code py1b} of MosaicML's streaming. Unlike a buffer, it finds
     * each position at once.
     *
     * @param seed any number; the same seed gives the same orders
     * @param blockRecords records of a block, 1 or more
     * @param windowBlocks blocks whose records are mixed, 1 or more
     * @return the order
     * @throws CuFileException INVALID_VALUE (EINVAL) for a number out of range
     */
    static RecordOrder shuffledBlocks(long seed, long blockRecords, long windowBlocks) {
        return new ShuffledBlocks(seed, blockRecords, windowBlocks);
    }

    /**
     * Returns the record at an index of an epoch.
     *
     * @param index 0 to {@code records - 1}
     * @param records number of records of the data set, 1 or more
     * @param epoch number of the epoch, from 0
     * @return the record's number, 0 to {@code records - 1}; each number has one index
     */
    long recordAt(long index, long records, long epoch);

    /** The order of the record numbers. */
    record Sequential() implements RecordOrder {
        @Override
        public long recordAt(long index, long records, long epoch) {
            return index;
        }
    }

    /**
     * A random order of all records.
     *
     * @param seed the same seed gives the same orders
     */
    record Shuffled(long seed) implements RecordOrder {
        @Override
        public long recordAt(long index, long records, long epoch) {
            return Permutation.apply(index, records, Permutation.key(seed, epoch));
        }
    }

    /**
     * Blocks in random order, mixed within windows.
     *
     * @param seed the same seed gives the same orders
     * @param blockRecords records of a block, 1 or more
     * @param windowBlocks blocks whose records are mixed, 1 or more
     */
    record ShuffledBlocks(long seed, long blockRecords, long windowBlocks) implements RecordOrder {

        /** Separates the keys of windows from those of epochs. */
        private static final long WINDOWS = 0x57494E444F57L;

        /**
         * Checks the numbers.
         *
         * @throws CuFileException INVALID_VALUE (EINVAL) for a number out of range
         */
        public ShuffledBlocks {
            if (blockRecords < 1 || windowBlocks < 1) {
                throw Failures.invalid("blocks of %s records, windows of %s blocks, allowed: 1 or more".formatted(
                        blockRecords, windowBlocks));
            }
        }

        @Override
        public long recordAt(long index, long records, long epoch) {
            long key = Permutation.key(seed, epoch);
            long block = Math.min(blockRecords, records);
            long blocks = (records - 1) / block + 1;
            long rest = records - (blocks - 1) * block;
            // Place of the last block, which may be shorter than the others.
            long shortAt = rest == block ? blocks : Permutation.invert(blocks - 1, blocks, key);
            long inOrder = index;
            if (windowBlocks > 1) {
                long first = place(index, block, rest, shortAt) / windowBlocks * windowBlocks;
                long begin = begin(first, block, rest, shortAt);
                long next = first > blocks - windowBlocks ? blocks : first + windowBlocks;
                long end = begin(next, block, rest, shortAt);
                long window = Permutation.key(key ^ WINDOWS, first);
                inOrder = begin + Permutation.apply(index - begin, end - begin, window);
            }
            long place = place(inOrder, block, rest, shortAt);
            long number = Permutation.apply(place, blocks, key);
            return number * block + inOrder - begin(place, block, rest, shortAt);
        }

        /** Returns the block of a record. */
        long block(long record, long records) {
            return record / Math.min(blockRecords, records);
        }

        /**
         * Returns the place of a block in the order of all epochs, counted in blocks: the last window of an epoch and the first of the next one are
         * neighbours. It is negative behind 2^63 blocks.
         */
        long place(long block, long records, long epoch) {
            long blocks = (records - 1) / Math.min(blockRecords, records) + 1;
            return epoch * blocks + Permutation.invert(block, blocks, Permutation.key(seed, epoch));
        }

        /** Returns the place, among the blocks in their order, of the block that has an index. */
        private static long place(long index, long block, long rest, long shortAt) {
            long place = index / block;
            if (place < shortAt) {
                return place;
            }
            long behind = index - shortAt * block - rest;
            return behind < 0 ? shortAt : shortAt + 1 + behind / block;
        }

        /** Returns the first index of a block, by its place. */
        private static long begin(long place, long block, long rest, long shortAt) {
            return place <= shortAt ? place * block : (place - 1) * block + rest;
        }
    }
}
