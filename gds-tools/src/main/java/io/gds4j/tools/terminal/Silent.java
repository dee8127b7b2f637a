package io.gds4j.tools.terminal;

/** Progress that nobody watches. */
final class Silent implements Progress {
    static final Silent INSTANCE = new Silent();

    private Silent() {
    }

    @Override
    public void advanceTo(long bytes) {
        // nobody watches
    }

    @Override
    public void close() {
        // nothing to end
    }
}
