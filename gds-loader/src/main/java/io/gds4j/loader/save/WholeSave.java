package io.gds4j.loader.save;

import io.gds4j.CuFileDriver;
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
            if (plan.target().isFolder()) {
                calls.createFolder(plan.target().folder(), made);
            }
            SaveTarget target = plan.target();
            if (!target.isShard()) {
                save(target);
                return;
            }
            try (OwnFolder folder = calls.open(target.folder())) {
                // others may exchange the name of the folder, and their link is not followed
                save(target.within(folder.path()));
            }
        });
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
