package io.gds4j.loader.format.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.torch.DistcpBytes.Chunk;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A record that is compared with an earlier one gives what parsing it gives, whichever byte differs. */
class KnownRecordsTest {
    private static final Path FILE = Path.of("file");
    private static final List<Long> SHAPE = List.of(4L, 3L);
    private static final int FLIPS = 8;

    /** Bytes as a file, which counts its reads. */
    private static final class Counted implements FileHead {
        private final byte[] bytes;
        private int reads;

        Counted(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public long size() {
            return bytes.length;
        }

        @Override
        public ByteBuffer first() {
            return read(0, Math.min(bytes.length, FIRST_BYTES));
        }

        @Override
        public ByteBuffer read(long offset, int length) {
            reads++;
            return ByteBuffer.wrap(bytes).slice((int) offset, length).order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    private static byte[] record() {
        return new DistcpBytes().record(new long[]{4, 3}, new Chunk("a", new long[]{0, 0}, new long[]{4, 3}));
    }

    private static String described(KnownRecords known, byte[] bytes) {
        try {
            return known.read(new Counted(bytes), FILE, SHAPE).toString();
        } catch (CheckpointException e) {
            return e.getMessage();
        }
    }

    @Test
    void everyChangedBitIsSeenAsByAFirstReader() {
        byte[] bytes = record();
        for (int bit = 0; bit < FLIPS * bytes.length; bit++) {
            KnownRecords known = new KnownRecords();
            known.read(new Counted(bytes), FILE, SHAPE);
            byte[] changed = bytes.clone();
            changed[bit / FLIPS] ^= (byte) (1 << bit % FLIPS);
            assertThat(described(known, changed)).as("bit %s", bit).isEqualTo(described(new KnownRecords(), changed));
        }
    }

    @Test
    void otherBytesOfTheTensorAreNoReasonToParse() {
        byte[] bytes = record();
        KnownRecords known = new KnownRecords();
        long data = known.read(new Counted(bytes), FILE, SHAPE).fileOffset();
        bytes[(int) data] ^= 1;
        Counted like = new Counted(bytes);
        known.read(like, FILE, SHAPE);
        assertThat(like.reads).isEqualTo(2);
    }
}
