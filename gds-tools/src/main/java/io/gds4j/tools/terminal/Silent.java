package io.gds4j.tools.terminal;

/** A progress that shows nothing. */
final class Silent implements Progress {
    static final Silent INSTANCE = new Silent();

    private Silent() {
    }

    @Override
    public void advanceTo(long bytes) {
        // shows nothing
    }

    @Override
    public void close() {
        // nothing to end
    }
}
