package app;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.gds4j.CuFileDriver;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.KnnFloatVectorQuery;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class VectorFileTest {
    private static final int COUNT = 500;
    private static final int LENGTH = 24;
    private static final int NEAREST = 10;

    private final float[][] vectors = new float[COUNT][LENGTH];

    @TempDir
    private Path folder;

    @Test
    void indexFindsTheNearestOfEachFormat() throws IOException {
        Random random = new Random(5);
        for (float[] vector : vectors) {
            for (int i = 0; i < LENGTH; i++) {
                vector[i] = (float) random.nextGaussian();
            }
        }
        for (Path file : List.of(fvecs(), fbin(), npy("<f4", Float.BYTES))) {
            try (CuFileDriver driver = CuFileDriver.open(); ByteBuffersDirectory index = new ByteBuffersDirectory()) {
                try (IndexWriter writer = new IndexWriter(index, new IndexWriterConfig())) {
                    VectorFile.addTo(writer, driver, file);
                }
                try (DirectoryReader reader = DirectoryReader.open(index)) {
                    assertEquals(COUNT, reader.numDocs());
                    int found = 0;
                    for (int i = 0; i < 20; i++) {
                        Set<Integer> expected = nearest(vectors[i]);
                        expected.retainAll(search(reader, vectors[i]));
                        found += expected.size();
                    }
                    assertTrue(found > 190, found + " of 200 in " + file);
                }
            }
        }
    }

    /** Its bytes would be 500 vectors of half the length. */
    @Test
    void shorterFloatsAreRefused() throws IOException {
        Path file = npy("<f2", Short.BYTES);
        try (CuFileDriver driver = CuFileDriver.open();
                ByteBuffersDirectory index = new ByteBuffersDirectory();
                IndexWriter writer = new IndexWriter(index, new IndexWriterConfig())) {
            String message = assertThrows(
                    IllegalArgumentException.class, () -> VectorFile.addTo(writer, driver, file)).getMessage();
            assertTrue(message.endsWith("elements are <f2, not <f4"), message);
        }
    }

    private static Set<Integer> search(DirectoryReader reader, float[] query) throws IOException {
        IndexSearcher searcher = new IndexSearcher(reader);
        Set<Integer> numbers = new HashSet<>();
        for (ScoreDoc hit : searcher.search(
                new KnnFloatVectorQuery(VectorFile.VECTOR, query, 20 * NEAREST), NEAREST).scoreDocs) {
            numbers.add(searcher.storedFields().document(hit.doc).getField(VectorFile.NUMBER).numericValue().intValue());
        }
        return numbers;
    }

    private Set<Integer> nearest(float[] query) {
        return IntStream.range(0, COUNT).boxed()
                .sorted(Comparator.comparingDouble(i -> distance(query, vectors[i])))
                .limit(NEAREST).collect(Collectors.toSet());
    }

    private static double distance(float[] a, float[] b) {
        return IntStream.range(0, LENGTH).mapToDouble(i -> Math.pow(a[i] - b[i], 2)).sum();
    }

    private Path fvecs() throws IOException {
        ByteBuffer bytes = bytes(COUNT * (LENGTH + 1) * Float.BYTES);
        for (float[] vector : vectors) {
            put(bytes.putInt(LENGTH), vector);
        }
        return Files.write(folder.resolve("vectors.fvecs"), bytes.array());
    }

    private Path fbin() throws IOException {
        ByteBuffer bytes = bytes((2 + COUNT * LENGTH) * Float.BYTES).putInt(COUNT).putInt(LENGTH);
        for (float[] vector : vectors) {
            put(bytes, vector);
        }
        return Files.write(folder.resolve("vectors.fbin"), bytes.array());
    }

    /** An array whose elements are the vectors', or zero if they are shorter. */
    private Path npy(String type, int elementBytes) throws IOException {
        String header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s, %s), }".formatted(type, COUNT, LENGTH);
        ByteBuffer bytes = bytes(128 + COUNT * LENGTH * elementBytes);
        bytes.put(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}).putShort((short) 118)
                .put(("%-117s\n".formatted(header)).getBytes(StandardCharsets.US_ASCII));
        if (elementBytes == Float.BYTES) {
            for (float[] vector : vectors) {
                put(bytes, vector);
            }
        }
        return Files.write(folder.resolve(type.substring(1) + ".npy"), bytes.array());
    }

    private static ByteBuffer bytes(int count) {
        return ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static void put(ByteBuffer bytes, float[] vector) {
        for (float element : vector) {
            bytes.putFloat(element);
        }
    }
}
