package io.gds4j.loader.parallel;

import java.util.ArrayList;
import java.util.List;

/** Divides the elements of one dimension among ranks. */
final class DimensionSplit {
    /** Elements that a rank keeps. */
    record Range(long start, long length) {
        long end() {
            return start + length;
        }
    }

    /** The dimension cannot be divided; the message says why. */
    static final class Uneven extends Exception {
        private static final long serialVersionUID = 1L;

        Uneven(String message) {
            super(message, null, false, false);
        }
    }

    private DimensionSplit() {
    }

    /** Returns the elements of a rank, one range for each part; a range may be empty after rounding up. */
    static List<Range> ranges(long size, List<Split.Part> parts, boolean roundUp, int world, int rank) throws Uneven {
        long shares = 0;
        for (Split.Part part : parts) {
            try {
                shares = Math.addExact(shares, part.share());
            } catch (ArithmeticException e) {
                throw new Uneven("has parts whose shares exceed 2^63-1");
            }
        }
        if (size % shares != 0) {
            throw new Uneven("has %s elements there, which parts with %s shares do not divide".formatted(size, shares));
        }
        long perShare = size / shares;
        List<Range> ranges = new ArrayList<>(parts.size());
        long start = 0;
        for (Split.Part part : parts) {
            long length = perShare * part.share();
            ranges.add(range(start, length, part, roundUp, world, rank));
            start += length;
        }
        return ranges;
    }

    private static Range range(long start, long length, Split.Part part, boolean roundUp, int world, int rank)
            throws Uneven {
        long heads = Math.max(0, part.heads());
        long units = heads == 0 ? length : heads;
        if (units != 0 && length % units != 0) {
            throw new Uneven("has %s elements there, which %s heads do not divide".formatted(length, heads));
        }
        long unit = units == 0 ? 0 : length / units;
        if (heads > 0 && part.headSize() > 0 && unit % part.headSize() != 0) {
            throw new Uneven("has %s elements there, which are not %s heads of %s; a rule may tell its heads"
                    .formatted(length, heads, part.headSize()));
        }
        if (heads > 0 && heads < world) {
            if (world % heads != 0) {
                throw new Uneven("has %s heads, which %s ranks can share only if their number is a multiple"
                        .formatted(heads, world));
            }
            return new Range(start + rank / (world / heads) * unit, unit);
        }
        if (units % world != 0 && !roundUp) {
            throw new Uneven("has %s %s there, which %s ranks do not divide; a rule may round up"
                    .formatted(units, heads > 0 ? "heads" : "elements", world));
        }
        long most = Math.ceilDiv(units, (long) world);
        // right even if the product overflows, since the difference does not
        long left = Math.max(0, units - most * rank);
        return new Range(start + (units - left) * unit, Math.min(most, left) * unit);
    }
}
