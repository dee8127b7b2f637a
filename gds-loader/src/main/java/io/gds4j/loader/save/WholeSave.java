package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.OwnFolder;
import io.gds4j.internal.lifetime.Undo;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** The save of a whole plan: waits for streams, takes the snapshot, writes the files and publishes them. */
final class WholeSave extends SaveJob {
    WholeSave(SaveContent plan, CuFileDriver driver, SaveListener listener, FileCalls calls, Runnable onRelease) {
        super(plan, driver, listener, calls, onRelease);
    }

    @Override
    void work() {
        List<Path> made = new ArrayList<>();
        Undo.ifFails(() -> calls.deleteMade(made), () -> {
            SaveTarget target = plan.target();
            if (target.isFolder()) {
                calls.createFolder(target.folder(), made);
            }
            saveBelow(target, target.isShard() || made.contains(target.folder()));
        });
    }

    /** Saves below the folder that is found now: others may exchange its name later. */
    private void saveBelow(SaveTarget target, boolean isOfASave) {
        if (isOfASave) {
            try (OwnFolder folder = calls.open(target.folder())) { // which no link leads to
                save(target.within(folder.path()));
            }
            return;
        }
        try (FoundFile folder = calls.findFolder(target.folder())) {
            save(target.within(folder.path()));
        }
    }

    private void save(SaveTarget target) {
        target.checkAreNoFolders(plan.files().size());
        try (SaveLock _ = calls.lock(target.folder(), target.lockName())) {
            awaitStreams();
            writeAndPublish(target);
        }
    }

    private void writeAndPublish(SaveTarget target) {
        String id = HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
        Publication publication = new Publication(target, calls, plan.files(), id);
        try (Snapshot sources = sources()) {
            publication.removeLeftovers();
            try (FileWriter writer = new FileWriter(plan, driver, sources, this, listener)) {
                writer.write(publication);
                written();
                beginPublishing();
                sync(() -> publish(writer, publication));
            } finally {
                publication.abandon();
            }
        }
    }

    private static void publish(FileWriter writer, Publication publication) {
        writer.sync();
        writer.close();
        if (!publication.publish()) {
            writer.writeInPlace(publication);
        }
    }
}
