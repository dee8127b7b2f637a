package app;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.RangeRead;
import io.gds4j.error.CuFileException;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.parquet.bytes.ByteBufferAllocator;
import org.apache.parquet.io.DelegatingSeekableInputStream;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.ParquetFileRange;
import org.apache.parquet.io.SeekableInputStream;

/**
 * A file that Parquet's readers read by gds4j. The chunks of the columns that a query names are one call of
 * {@link CuFileDriver#readRangesAsync}: neighbours are read together, the others several at a time.
 *
 * <pre>{@code
 * try (CuFileHandle file = driver.openFile(path);
 *         ParquetFileReader reader = ParquetFileReader.open(new RangesFile(driver, file), options)) {
 * }</pre>
 *
 * <p>
 * The file belongs to the caller, who closes it after the readers. It may also be a source, such as an object of S3.
 */
public final class RangesFile implements InputFile {
    private final CuFileDriver driver;
    private final CuFileHandle file;

    public RangesFile(CuFileDriver driver, CuFileHandle file) {
        this.driver = driver;
        this.file = file;
    }

    @Override
    public long getLength() throws IOException {
        try (SeekableByteChannel channel = file.asChannel()) {
            return channel.size();
        }
    }

    @Override
    public SeekableInputStream newStream() {
        return new Stream(file.asChannel());
    }

    /** Reads the footer by the channel, and chunks of columns by ranges. */
    private final class Stream extends DelegatingSeekableInputStream {
        private final SeekableByteChannel channel;

        Stream(SeekableByteChannel channel) {
            super(Channels.newInputStream(channel));
            this.channel = channel;
        }

        @Override
        public long getPos() throws IOException {
            return channel.position();
        }

        @Override
        public void seek(long position) throws IOException {
            channel.position(position);
        }

        @Override
        public boolean readVectoredAvailable(ByteBufferAllocator allocator) {
            return true;
        }

        @Override
        public void readVectored(List<ParquetFileRange> ranges, ByteBufferAllocator allocator) throws IOException {
            List<ByteBuffer> buffers = new ArrayList<>();
            List<RangeRead> reads = new ArrayList<>();
            for (ParquetFileRange range : ranges) {
                ByteBuffer buffer = allocator.allocate(range.getLength()).limit(range.getLength());
                buffers.add(buffer);
                reads.add(RangeRead.of(file, buffer, range.getOffset()));
            }
            List<CompletableFuture<Long>> bytes;
            try {
                bytes = driver.readRangesAsync(reads);
            } catch (CuFileException e) {
                throw new IOException(e);
            }
            for (int i = 0; i < ranges.size(); i++) {
                ParquetFileRange range = ranges.get(i);
                ByteBuffer buffer = buffers.get(i);
                range.setDataReadFuture(bytes.get(i).thenCompose(count -> count == range.getLength()
                        ? CompletableFuture.completedFuture(buffer)
                        : CompletableFuture.failedFuture(new EOFException("the file ends in " + range))));
            }
        }
    }
}
