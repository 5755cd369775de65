// Computes nothing: its time is that of a launch. No reference checks it.
extern "C" __global__ void empty() {}
