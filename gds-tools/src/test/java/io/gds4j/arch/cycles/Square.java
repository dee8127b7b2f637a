package io.gds4j.arch.cycles;

/** Depends on the other permitted type. */
public record Square() implements Shape {
    @Override
    public Shape next() {
        return new Circle(new Catalogue.Page[0]);
    }
}
