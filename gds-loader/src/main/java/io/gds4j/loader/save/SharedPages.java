package io.gds4j.loader.save;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.text.InertText;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Puts the pages together that several writers share, and the headers. */
final class SharedPages {
    private final List<SaveFile> files;

    SharedPages(List<SaveFile> files) {
        this.files = files;
    }

    /**
     * Returns ranges of whole pages: headers, and pages with bytes of several writers.
     *
     * @throws CuFileException INVALID_VALUE if a tensor has no writer or more than one
     */
    List<ShareFile.Fragment> of(List<ShareFile> shares) {
        List<ShareFile.Fragment> parts = new ArrayList<>();
        int[][] checksums = checksums(shares);
        for (int i = 0; i < files.size(); i++) {
            parts.add(new ShareFile.Fragment(i, 0, files.get(i).header(checksums[i])));
        }
        shares.forEach(share -> parts.addAll(share.fragments()));
        parts.sort(Comparator.comparingInt(ShareFile.Fragment::file).thenComparingLong(ShareFile.Fragment::offset));
        List<ShareFile.Fragment> ranges = new ArrayList<>();
        int at = 0;
        while (at < parts.size()) {
            int end = at + 1;
            while (end < parts.size() && follows(parts.get(end - 1), parts.get(end))) {
                end++;
            }
            ranges.add(joined(parts.subList(at, end)));
            at = end;
        }
        return ranges;
    }

    private int[][] checksums(List<ShareFile> shares) {
        int[][] checksums = new int[files.size()][];
        boolean[][] written = new boolean[files.size()][];
        for (int i = 0; i < checksums.length; i++) {
            checksums[i] = new int[files.get(i).tensors().size()];
            written[i] = new boolean[checksums[i].length];
        }
        for (ShareFile share : shares) {
            for (ShareFile.Tensor tensor : share.tensors()) {
                boolean empty = files.get(tensor.file()).tensors().get(tensor.tensor()).bytes() == 0;
                if (written[tensor.file()][tensor.tensor()] && !empty) {
                    throw unusable(tensor.file(), tensor.tensor(), "two writers have written tensor %s");
                }
                written[tensor.file()][tensor.tensor()] = true;
                checksums[tensor.file()][tensor.tensor()] = tensor.crc();
            }
        }
        for (int f = 0; f < written.length; f++) {
            for (int t = 0; t < written[f].length; t++) {
                if (!written[f][t] && files.get(f).tensors().get(t).bytes() > 0) {
                    throw unusable(f, t, "no writer has written tensor %s");
                }
            }
        }
        return checksums;
    }

    private CuFileException unusable(int file, int tensor, String detail) {
        String name = files.get(file).tensors().get(tensor).name();
        return CuFileException.invalid(SaveFailure.FUNCTION, detail.formatted(InertText.quote(name)));
    }

    private static boolean follows(ShareFile.Fragment before, ShareFile.Fragment after) {
        return before.file() == after.file() && before.end() == after.offset();
    }

    private ShareFile.Fragment joined(List<ShareFile.Fragment> parts) {
        ShareFile.Fragment first = parts.getFirst();
        ShareFile.Fragment last = parts.getLast();
        boolean whole = first.offset() == Piece.down(first.offset())
                && (last.end() == Piece.down(last.end()) || last.end() == files.get(first.file()).size());
        if (!whole) {
            throw CuFileException.invalid(SaveFailure.FUNCTION,
                    "writers have left bytes %s to %s of file %s, which are no whole pages"
                            .formatted(first.offset(), last.end(), first.file()));
        }
        if (parts.size() == 1) {
            return first;
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        parts.forEach(part -> bytes.writeBytes(part.bytes()));
        return new ShareFile.Fragment(first.file(), first.offset(), bytes.toByteArray());
    }
}
