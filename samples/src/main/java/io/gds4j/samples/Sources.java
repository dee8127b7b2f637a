package io.gds4j.samples;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** Reads an encrypted file, and a map of the program, as if they were files. */
final class Sources {
    private static final String LESSON =
            "Implement RangeSource for bytes that are no file: the engine still reads in pieces and copies to the GPU.";

    private Sources() {
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(Sources::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws IOException {
        byte[] data = SampleArguments.randomBytes(arguments.size());
        byte[] key = new byte[16];
        ThreadLocalRandom.current().nextBytes(key);
        Path encrypted = arguments.folder().resolve("encrypted");
        try {
            Files.write(encrypted, cipher(Cipher.ENCRYPT_MODE, key, 0).doFinal(data));
        } catch (GeneralSecurityException e) {
            throw new IOException("this Java has no AES", e);
        }
        try (CuFileDriver driver = arguments.openDriver();
                FileChannel channel = FileChannel.open(encrypted);
                CuFileHandle file = driver.openSource(new EncryptedFile(channel, key));
                CuFileHandle object = driver.openSource(new InMemory("object", data));
                MemoryAllocation memory = arguments.allocate(driver, data.length)) {
            long start = System.nanoTime();
            long bytes = file.read(memory.range(), 0);
            boolean verified = Arrays.equals(Bytes.in(driver, memory.range()), data);
            driver.allocator().fill(memory.range(), (byte) 0);
            bytes += object.read(memory.range(), 0);
            verified &= Arrays.equals(Bytes.in(driver, memory.range()), data);
            double seconds = (System.nanoTime() - start) / 1e9;
            arguments.say("%s; %s", file.ioPath().reason(), object.ioPath().reason());
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    /** Returns AES in counter mode, which can begin at any block of 16 bytes: the counter is the number of the block. */
    private static Cipher cipher(int mode, byte[] key, long block) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance("AES/CTR/NoPadding");
        byte[] counter = ByteBuffer.allocate(16).putLong(8, block).array();
        cipher.init(mode, new SecretKeySpec(key, "AES"), new IvParameterSpec(counter));
        return cipher;
    }

    /** A file that is decrypted while it is read. */
    private record EncryptedFile(FileChannel channel, byte[] key) implements RangeSource {
        private static final int PART = 64 << 10;
        private static final int BLOCK = 16;

        @Override
        public long size() throws IOException {
            return channel.size();
        }

        @Override
        public String identity() {
            return "encrypted file";
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) throws IOException {
            long count = Math.clamp(size() - offset, 0, target.byteSize());
            long first = offset / BLOCK * BLOCK;
            int skip = (int) (offset - first);
            try {
                Cipher cipher = cipher(Cipher.DECRYPT_MODE, key, first / BLOCK);
                long done = -skip;
                while (done < count) {
                    ByteBuffer part = ByteBuffer.allocate((int) Math.min(PART, count - done));
                    fill(part, offset + done);
                    byte[] plain = cipher.update(part.array());
                    int from = (int) Math.max(0, -done);
                    MemorySegment.copy(
                            MemorySegment.ofArray(plain), from, target, done + from, plain.length - from);
                    done += plain.length;
                }
            } catch (GeneralSecurityException e) {
                throw new IOException("the key does not fit", e);
            }
            return count;
        }

        private void fill(ByteBuffer part, long position) throws IOException {
            while (part.hasRemaining()) {
                if (channel.read(part, position + part.position()) < 0) {
                    throw new EOFException("the file ends at " + (position + part.position()));
                }
            }
        }
    }

    /** Bytes on the Java heap, such as the value of a map. */
    private record InMemory(String identity, byte[] bytes) implements RangeSource {
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
}
