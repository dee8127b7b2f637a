package io.gds4j.loader;

import io.gds4j.loader.format.TensorInfo;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Hears which tensors a load placed. */
final class PlacedNames implements LoadListener {
    private final List<String> names = new CopyOnWriteArrayList<>();

    /** Names in the order of the calls. */
    List<String> names() {
        return names;
    }

    @Override
    public void progress(LoadProgress now) {
    }

    @Override
    public void tensorPlaced(TensorInfo tensor) {
        names.add(tensor.name());
    }
}
