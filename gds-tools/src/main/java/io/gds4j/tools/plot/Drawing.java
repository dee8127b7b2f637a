package io.gds4j.tools.plot;

import java.awt.Graphics2D;

/** A drawing for any {@link Graphics2D}. */
public interface Drawing {
    /** Width in points. */
    int width();

    /** Height in points. */
    int height();

    /** Draws on the surface. */
    void draw(Graphics2D surface);
}
