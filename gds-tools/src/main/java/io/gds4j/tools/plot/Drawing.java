package io.gds4j.tools.plot;

import java.awt.Graphics2D;

/** Something that can be drawn on whatever surface there is. */
public interface Drawing {
    /** Points from left to right. */
    int width();

    /** Points from top to bottom. */
    int height();

    /** Draws it. */
    void draw(Graphics2D surface);
}
