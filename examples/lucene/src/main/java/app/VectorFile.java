package app;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.KnnFloatVectorField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.index.IndexWriter;

/** A file of vectors, such as .fvecs, .fbin or .npy, for an index of Lucene. Its batches are read ahead of the writer. */
public final class VectorFile {
    /** Field with the vector. */
    public static final String VECTOR = "vector";
    /** Field with the number of the vector in the file, stored. */
    public static final String NUMBER = "number";

    private static final int BATCH = 256;
    private static final ValueLayout.OfFloat FLOAT =
            ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private VectorFile() {
    }

    /**
     * Adds a document for each vector.
     *
     * @throws IllegalArgumentException if the elements are no float32: the bytes of others would pass for vectors of another length
     */
    public static void addTo(IndexWriter writer, CuFileDriver driver, Path file) throws IOException {
        RecordSource vectors = RecordFiles.open(List.of(file));
        String type = vectors.elementType().orElse("an unknown type");
        if (!type.equals("<f4")) {
            throw new IllegalArgumentException("%s: elements are %s, not <f4".formatted(file, type));
        }
        try (RecordLoader loader = RecordLoader.builder(driver, vectors, BATCH).target(MemoryKind.HOST, 0).open()) {
            for (RecordBatch batch : loader) {
                for (int i = 0; i < batch.count(); i++) {
                    Document document = new Document();
                    document.add(new KnnFloatVectorField(VECTOR, batch.segment(i).toArray(FLOAT)));
                    document.add(new StoredField(NUMBER, batch.record(i)));
                    writer.addDocument(document);
                }
            }
        }
    }
}
