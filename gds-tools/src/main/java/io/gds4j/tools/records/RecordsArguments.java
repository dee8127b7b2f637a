package io.gds4j.tools.records;

import io.gds4j.dataset.ErrorPolicy;
import io.gds4j.dataset.RecordOrder;
import io.gds4j.dataset.Remainder;
import io.gds4j.dataset.Share;
import io.gds4j.tools.load.Target;
import java.nio.file.FileVisitOption;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Arguments of {@code gds records}.
 *
 * @param paths the files, one data set
 * @param links whether indexes beside the files may be links to anywhere
 * @param record bytes of a record; null if the names tell the format
 * @param header bytes in front of the first record of each file
 * @param batch records of a batch
 * @param order order of the records
 * @param epochs number of epochs
 * @param share rank and number of ranks
 * @param remainder what happens to records that do not fill whole batches
 * @param policy what happens to records that cannot be read
 * @param resumeAt position of the first record
 * @param warmUp seconds that the rates leave out
 * @param seconds most time after that; infinite for no limit
 * @param memory most bytes of all buffers; null for as many as the batch needs
 * @param readers number of threads that read; null for the loader's choice
 * @param target memory of the records; null for gpu:0 if there is a GPU, else the host
 * @param backend auto, compat or libcufile
 */
public record RecordsArguments(
        List<Path> paths,
        List<FileVisitOption> links,
        @Nullable Long record,
        long header,
        int batch,
        RecordOrder order,
        long epochs,
        Share share,
        Remainder remainder,
        ErrorPolicy policy,
        long resumeAt,
        double warmUp,
        double seconds,
        @Nullable Long memory,
        @Nullable Integer readers,
        @Nullable Target target,
        String backend) {
    /** Copies the list. */
    public RecordsArguments {
        paths = List.copyOf(paths);
        links = List.copyOf(links);
    }
}
