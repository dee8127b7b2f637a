package io.gds4j.loader.format.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.FileHead;
import io.gds4j.loader.format.ZipBytes;
import io.gds4j.loader.format.torch.DistcpBytes.Chunk;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A record that is compared with an earlier one gives what parsing it gives, whichever byte differs. */
class KnownRecordsTest {
    private static final Path FILE = Path.of("file");
    private static final List<Long> SHAPE = List.of(4L, 3L);
    private static final int FLIPS = 8;
    /** Of one byte each, and of names of one length. */
    private static final List<String> STORAGES = List.of("torch.ByteStorage", "torch.CharStorage", "torch.BoolStorage");

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

    /** Returns a record of 12 elements with the members, gaps and end records of many writers. */
    private static byte[] variant(Random random, String storage) {
        ZipBytes zip = random.nextBoolean() ? ZipBytes.asTorch() : ZipBytes.plain();
        zip.zip64End = random.nextBoolean();
        byte[] data = new byte[random.nextInt(9) == 0 ? 13 : 12];
        random.nextBytes(data);
        if (random.nextInt(4) == 0) {
            ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN).putInt(random.nextInt(8), 0x06054b50);
        }
        long[] strides = random.nextInt(4) == 0 ? new long[]{1, 4} : new long[]{3, 1};
        List<Runnable> members = new ArrayList<>(List.of(
                () -> zip.add("archive/data.pkl", new PickleBytes().tensor(
                        storage, "0", 12, 0, new long[]{4, 3}, strides).end()),
                () -> zip.add("archive/data/0", data)));
        if (random.nextBoolean()) {
            members.add(() -> zip.add("archive/byteorder", (random.nextInt(4) == 0 ? "big" : "little").getBytes()));
        }
        for (String other : List.of("archive/version", "archive/data/1", "archive/data/0", "other/byteorder")) {
            if (random.nextInt(6) == 0) {
                members.add(() -> zip.add(other, new byte[random.nextInt(9)]));
            }
        }
        if (random.nextBoolean()) {
            Collections.shuffle(members, random);
        }
        for (Runnable member : members) {
            member.run();
            if (random.nextInt(4) == 0) {
                zip.raw(new byte[random.nextInt(20)]);
            }
        }
        return zip.finish();
    }

    /** {@code -Dgds4j.property.seconds} and {@code -Dgds4j.property.seed} set length and seed. */
    @Test
    void variantsOfRecordsAreSeenAsByAFirstReader() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        long end = System.nanoTime() + Duration.ofSeconds(Long.getLong("gds4j.property.seconds", 0)).toNanos();
        KnownRecords known = new KnownRecords();
        int like = 0;
        for (int i = 0; i < 1000 || System.nanoTime() < end; i++, seed++) {
            Random random = new Random(-seed);
            byte[] first = variant(new Random(seed), STORAGES.get(random.nextInt(STORAGES.size())));
            described(known, first);
            byte[] second = random.nextInt(3) == 0 ? variant(new Random(seed), STORAGES.get(random.nextInt(2)))
                    : first.clone();
            for (int changes = random.nextInt(4); changes > 0; changes--) {
                int at = random.nextInt(second.length);
                second[at] = switch (random.nextInt(3)) {
                    case 0 -> (byte) random.nextInt();
                    case 1 -> (byte) (second[at] + 1 - random.nextInt(3));
                    default -> second[random.nextInt(second.length)];
                };
            }
            String seen = described(known, second);
            assertThat(seen).as("-Dgds4j.property.seed=%s", seed).isEqualTo(described(new KnownRecords(), second));
            like += seen.startsWith("'tensor'") ? 1 : 0;
        }
        assertThat(like).isPositive();
    }
}
