// TilePack: gathers tiles of a map. packed[b,k,c,dy,dx] = map[b,c,y+dy,x+dx], where (y,x) is the upper left pixel of
// tile indices[b,k]. Map [B,C,H,W], indices int32 [B,K] in any order, packed [B,K,C,t,t]; values are moved as they
// are. Checked bit for bit against `reference` of src/kernels/tile/pack.rs.

extern "C" __global__ void tile_pack_reference(const element* map, const int* indices, element* packed, int tiles,
                                               int channels, int height, int width, int side, long long count) {
    long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (position >= count) return;
    int dx = (int)(position % side);
    int dy = (int)(position / side % side);
    long long plane = position / side / side;
    int channel = (int)(plane % channels);
    long long tile = plane / channels;
    long long sample = tile / tiles;
    int columns = width / side;
    int y = indices[tile] / columns * side + dy;
    int x = indices[tile] % columns * side + dx;
    packed[position] = map[((sample * channels + channel) * height + y) * width + x];
}

#ifdef TILE
// BLOCK threads; TILE is t; VECTOR, the bytes of an access, divides the bytes of a row of a tile; a thread has UNROLL
// accesses under way. Neighbouring threads write neighbouring vectors. A warp works on the same part of GROUP tiles
// that follow one another in the list: where a row of a tile is less than a sector of memory, 32 bytes, neighbours in
// the map share sectors, which are then read once.
//
// Grid: groups of tiles, parts of a tile, samples.
extern "C" __global__ void __launch_bounds__(BLOCK)
    tile_pack(const element* __restrict__ map, const int* __restrict__ indices, element* __restrict__ packed, int tiles,
              int channels, int height, int width) {
    constexpr int COUNT = VECTOR / sizeof(element);
    constexpr unsigned ROW = TILE / COUNT;
    constexpr unsigned PLANE = TILE * ROW;
    constexpr unsigned LANES = 32 / GROUP;
    constexpr unsigned STEP = BLOCK / GROUP;
    static_assert(TILE % COUNT == 0, "a vector must not leave its row");

    int tile = blockIdx.x * GROUP + threadIdx.x % 32 / LANES;
    if (tile >= tiles) return;
    long long row = (long long)blockIdx.z * tiles + tile;
    int index = __ldg(indices + row);
    int columns = width / TILE;
    int y = index / columns * TILE;
    int x = index % columns * TILE;
    long long plane = (long long)height * width;
    const element* from = map + blockIdx.z * channels * plane + (long long)y * width + x;
    element* to = packed + row * channels * (TILE * TILE);

    unsigned first = blockIdx.y * (STEP * UNROLL) + threadIdx.x / 32 * LANES + threadIdx.x % LANES;
    unsigned vectors = channels * PLANE;
    Vector<COUNT> moved[UNROLL];
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) {
        unsigned place = first + j * STEP;
        if (place < vectors) {
            unsigned in_plane = place % PLANE / ROW * width + place % ROW * COUNT;
            moved[j] = load_constant<COUNT>(from + place / PLANE * plane + in_plane);
        }
    }
#pragma unroll
    for (int j = 0; j < UNROLL; ++j) {
        unsigned place = first + j * STEP;
        if (place < vectors) store<COUNT>(to + (long long)place * COUNT, moved[j]);
    }
}
#endif
