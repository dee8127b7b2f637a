package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.text.UrlNames;
import io.gds4j.source.SourcePath;
import io.gds4j.spi.FileSource;
import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Converts Java's open options into a {@link FileSource}. */
final class OpenOptions {
    private static final String FUNCTION = "cuFileHandleRegister";
    private static final Set<StandardOpenOption> CREATING =
            Set.of(StandardOpenOption.CREATE, StandardOpenOption.CREATE_NEW, StandardOpenOption.TRUNCATE_EXISTING);

    private OpenOptions() {
    }

    /** Opens a path of a file system of sources, or the local file of the same content; they can only be read. */
    static FileSource toRanges(SourcePath path, OpenOption... options) {
        for (OpenOption option : options) {
            if (option != StandardOpenOption.READ && !(option instanceof CuFileOpenOption)) {
                throw refuse(
                        CuFileError.INVALID_FILE_OPEN_FLAG, path, option + " is not supported; a source is only read");
            }
        }
        try {
            Optional<Path> local = path.localFile();
            return local.isPresent() ? toSource(local.get(), options)
                    : new FileSource.Ranges(path.openSource(), Optional.of(path));
        } catch (IOException e) {
            throw CuFileException.builder(FUNCTION)
                    .error(CuFileError.IO_ERROR)
                    .errno(Errno.EIO)
                    .path(path)
                    .detail(String.valueOf(e.getMessage()))
                    .cause(e)
                    .build();
        }
    }

    static FileSource.Named toSource(Path path, OpenOption... options) {
        if (path.getFileSystem() != FileSystems.getDefault()) {
            throw refuse(CuFileError.INVALID_VALUE, path, "not a path of the default file system");
        }
        Set<OpenOption> set = new LinkedHashSet<>(List.of(options));
        for (OpenOption option : set) {
            check(path, option);
        }
        if (!set.contains(StandardOpenOption.WRITE)) {
            if (!Collections.disjoint(set, CREATING)) {
                throw refuse(CuFileError.INVALID_VALUE, path, "creating or truncating needs StandardOpenOption.WRITE");
            }
            set.add(StandardOpenOption.READ);
        }
        set.remove(StandardOpenOption.SPARSE);
        Optional<String> hint = UrlNames.hint(path);
        if (hint.isPresent() && Files.notExists(path)) {
            throw CuFileException.builder(FUNCTION).error(CuFileError.IO_ERROR).errno(Errno.ENOENT).path(path)
                    .detail(hint.get()).build();
        }
        return new FileSource.Named(path, set);
    }

    private static void check(Path path, OpenOption option) {
        switch (option) {
            case CuFileOpenOption own -> {
                // Both are supported.
            }
            case StandardOpenOption.APPEND ->
                throw refuse(
                        CuFileError.INVALID_FILE_OPEN_FLAG,
                        path,
                        "APPEND: with O_APPEND the kernel ignores offsets");
            case StandardOpenOption.DELETE_ON_CLOSE ->
                throw refuse(CuFileError.INVALID_FILE_OPEN_FLAG, path, "DELETE_ON_CLOSE is not supported");
            case StandardOpenOption standard -> {
                // The others are supported; Linux file systems do not need the hint SPARSE.
            }
            case LinkOption link ->
                throw refuse(CuFileError.INVALID_FILE_OPEN_FLAG, path, link + " is not supported");
            default -> throw refuse(CuFileError.INVALID_FILE_OPEN_FLAG, path, option + " is not supported");
        }
    }

    private static CuFileException refuse(CuFileError error, Path path, String detail) {
        return CuFileException.of(error, FUNCTION, path, detail);
    }
}
