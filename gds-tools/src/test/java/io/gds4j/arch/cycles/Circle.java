package io.gds4j.arch.cycles;

/** Reaches the catalogue through an array of a nested class. */
public record Circle(Catalogue.Page[] pages) implements Shape {
    @Override
    public Shape next() {
        return new Square();
    }
}
