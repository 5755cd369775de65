// A driver library on a machine without a device: it initialises and counts none.
int cuInit(unsigned flags) {
    (void)flags;
    return 0;
}
int cuDeviceGetCount(int* count) {
    *count = 0;
    return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    (void)context;
    (void)device;
    return 101;
}
int cuEventElapsedTime_v2(float* milliseconds, void* start, void* end) {
    (void)milliseconds;
    (void)start;
    (void)end;
    return 400;
}
