// A driver library that lacks functions, as one does that is too old.
int cuInit(unsigned flags) {
    (void)flags;
    return 0;
}
