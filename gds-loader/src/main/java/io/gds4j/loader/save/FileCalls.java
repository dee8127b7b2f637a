package io.gds4j.loader.save;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** The calls of a save that are not transfers, one file system call each. Tests count them and make them fail. */
interface FileCalls {
    /** The calls of java.nio. */
    FileCalls SYSTEM = new SystemFileCalls();

    /** Creates a folder and its missing parents; returns if it exists. */
    void createFolder(Path folder) throws IOException;

    /** Returns the names in a folder. */
    List<String> list(Path folder) throws IOException;

    /** Returns the text of a small file; empty if there is none. */
    String read(Path file) throws IOException;

    /** Creates or replaces a small file, and forces it to the disk. */
    void write(Path file, byte[] content) throws IOException;

    /** Gives {@code to} the permissions of {@code from} where the file system has permissions. */
    void copyPermissions(Path from, Path to) throws IOException;

    /** Renames a file over another one ({@code rename}). */
    void rename(Path from, Path to) throws IOException;

    /** Gives a file a second name ({@code link}). */
    void link(Path existing, Path name) throws IOException;

    /** Deletes a file; returns if there is none. */
    void delete(Path file) throws IOException;

    /** Makes the names in a folder durable ({@code fsync}). */
    void sync(Path folder) throws IOException;
}
