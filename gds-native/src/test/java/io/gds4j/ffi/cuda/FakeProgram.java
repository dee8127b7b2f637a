package io.gds4j.ffi.cuda;

/** The program's use of {@link FakeCuda}, which knows when a rule of CUDA is broken. */
public final class FakeProgram extends CudaProgram {
    private final FakeCuda cuda;

    /** @param available the driver as backends find it */
    public FakeProgram(FakeCuda cuda, CudaAvailability.Available available) {
        super(available.contexts());
        this.cuda = cuda;
    }

    @Override
    protected void asProgram(Runnable calls) {
        cuda.asProgram(calls);
    }

    @Override
    public void occupied(Runnable work) {
        cuda.occupy(true);
        try {
            work.run();
        } finally {
            cuda.occupy(false);
        }
    }

    @Override
    public void captured(Runnable work) {
        cuda.captureGlobally(true);
        try {
            work.run();
            if (cuda.isCaptureLost()) {
                throw new AssertionError("the capture is lost");
            }
        } finally {
            cuda.captureGlobally(false);
        }
    }

    @Override
    public void check() {
        if (!cuda.violations().isEmpty()) {
            throw new AssertionError(
                    "rules of CUDA broken: " + cuda.violations().stream().distinct().limit(5).toList());
        }
    }
}
