// A compiler library that lacks functions.
int nvrtcVersion(int* major, int* minor) {
    *major = 7;
    *minor = 0;
    return 0;
}
