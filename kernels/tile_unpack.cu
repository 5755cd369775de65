// TileUnpack: writes tiles over a copy of a map. merged starts as base; the tiles of a sample are applied by ascending
// turn, (level - lowest) << bits | k, or k alone without levels. A tile replaces the pixels that it covers, or is
// mixed in: `keep * current + take * new`, where both products and the sum are rounded to the element type. Base and
// merged [B,C,H,W], packed [B,K,C,t,t], levels int32 [B,K] or null; tiles lie where indices, int32 [B,K], say or,
// where that is null, at origins, int32 [B,K,2], row and column of any pixel. Checked bit for bit against `reference`
// of src/kernels/tile/unpack_levels.rs.
//
// All forms ask for each output which tiles cover it, in one pass without atomic operations on global memory: equal
// inputs give equal bits, wherever tiles overlap.

// The tiles of one sample and their order.
struct Tiles {
    const int* indices;
    const int* origins;
    const int* levels;
    int count, lowest, bits;

    __device__ __forceinline__ Tiles(const int* indices, const int* origins, const int* levels, int count, int lowest,
                                     int bits, long long sample)
        : indices(indices ? indices + sample * count : nullptr),
          origins(origins ? origins + sample * count * 2 : nullptr),
          levels(levels ? levels + sample * count : nullptr),
          count(count),
          lowest(lowest),
          bits(bits) {}

    __device__ __forceinline__ int turn(int k) const { return levels ? (__ldg(levels + k) - lowest) << bits | k : k; }

    __device__ __forceinline__ int tile_of(int turn) const { return turn & ((1 << bits) - 1); }

    // The first turn after `last` of a tile for which `covers(k)` holds; -1 where there is none.
    template <class Covers> __device__ __forceinline__ int next_turn(int last, Covers covers) const {
        int next = -1;
#pragma unroll 1
        for (int k = 0; k < count; ++k) {
            int turn = this->turn(k);
            if (turn > last && (next < 0 || turn < next) && covers(k)) next = turn;
        }
        return next;
    }
};

__device__ __forceinline__ element mixed(element current, element taken, float keep, float take) {
    float kept = to_float(from_float(rounded_product(keep, to_float(current))));
    float added = to_float(from_float(rounded_product(take, to_float(taken))));
    return from_float(rounded_sum(kept, added));
}

extern "C" __global__ void tile_unpack_reference(const element* base, const element* packed, const int* indices,
                                                 const int* origins, const int* levels, element* merged, int count,
                                                 int channels, int height, int width, int side, int lowest, int bits,
                                                 int blend, float keep, float take, long long elements) {
    long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (position >= elements) return;
    int x = (int)(position % width);
    int y = (int)(position / width % height);
    long long plane = position / width / height;
    int channel = (int)(plane % channels);
    long long sample = plane / channels;
    Tiles tiles(indices, origins, levels, count, lowest, bits, sample);
    int columns = width / side;
    auto covers = [&](int k) {
        if (tiles.indices) return tiles.indices[k] == y / side * columns + x / side;
        int dy = y - tiles.origins[2 * k], dx = x - tiles.origins[2 * k + 1];
        return dy >= 0 && dy < side && dx >= 0 && dx < side;
    };
    element current = base[position];
    for (int turn = tiles.next_turn(-1, covers); turn >= 0; turn = tiles.next_turn(turn, covers)) {
        int k = tiles.tile_of(turn);
        int dy = tiles.indices ? y % side : y - tiles.origins[2 * k];
        int dx = tiles.indices ? x % side : x - tiles.origins[2 * k + 1];
        element taken = packed[(((sample * count + k) * channels + channel) * side + dy) * side + dx];
        current = blend ? mixed(current, taken, keep, take) : taken;
    }
    merged[position] = current;
}

#ifdef TILE
constexpr int COUNT = VECTOR / sizeof(element);
constexpr int TILE_PIXELS = TILE * TILE;
constexpr int NONE = -1;
constexpr int MOST = 0x7fffffff;

__device__ __forceinline__ void mix(Vector<COUNT>& current, const Vector<COUNT>& taken, float keep, float take) {
#pragma unroll
    for (int i = 0; i < COUNT; ++i) current.at[i] = mixed(current.at[i], taken.at[i], keep, take);
}
#endif

#if defined(TILE) && !defined(LIST)
// Tiles on the grid. BLOCK threads; TILE is t; VECTOR, the bytes of an access, divides the bytes of a row of a tile; a
// thread has UNROLL accesses under way; BLEND says whether tiles are mixed in. A block takes `cells` columns of one
// row of tiles, in `group` channels of one sample. For each cell it notes in shared memory the turn of the tile
// applied last, and to mix that of the first; only where the two differ, so where an id repeats, is the list searched
// again. Base is read where no tile covers it, or to mix. Threads go through one tile after the other, so that packed
// is read in long pieces and the map in rows of neighbouring tiles.
//
// Grid: parts of rows of tiles, groups of channels, samples. Shared: an int for each cell, two to mix.
extern "C" __global__ void __launch_bounds__(BLOCK)
    tile_unpack(const element* __restrict__ base, const element* __restrict__ packed, const int* __restrict__ indices,
                const int* __restrict__ levels, element* __restrict__ merged, int count, int channels, int height,
                int width, int lowest, int bits, float keep, float take, int cells, int parts, int group) {
    extern __shared__ unsigned char shared[];
    constexpr unsigned ROW = TILE / COUNT;
    constexpr unsigned PLANE = TILE * ROW;
    static_assert(TILE % COUNT == 0, "a vector must not leave its row");

    int columns = width / TILE;
    int tile_row = blockIdx.x / parts;
    int first_column = blockIdx.x % parts * cells;
    int first_cell = tile_row * columns + first_column;
    unsigned n_cells = min(cells, columns - first_column);
    int first_channel = blockIdx.y * group;
    unsigned n_channels = min(group, channels - first_channel);
    Tiles tiles(indices, nullptr, levels, count, lowest, bits, blockIdx.z);
    int* last = (int*)shared;
    int* first = last + cells;

    for (unsigned cell = threadIdx.x; cell < n_cells; cell += BLOCK) {
        last[cell] = NONE;
        if (BLEND) first[cell] = MOST;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += BLOCK) {
        unsigned cell = __ldg(tiles.indices + k) - first_cell;
        if (cell < n_cells) {
            int turn = tiles.turn(k);
            atomicMax(last + cell, turn);
            if (BLEND) atomicMin(first + cell, turn);
        }
    }
    __syncthreads();

    long long sample = blockIdx.z;
    long long plane = (long long)height * width;
    long long corner = (sample * channels + first_channel) * plane + (long long)tile_row * TILE * width
                       + first_column * TILE;
    const element* pixels = base + corner;
    element* out = merged + corner;
    // Where the first tile of this sample has these channels, and how far on the next tile has them.
    const element* patch = packed + (sample * count * channels + first_channel) * TILE_PIXELS;
    long long stride = (long long)channels * TILE_PIXELS;

    unsigned band = n_cells * PLANE;
    unsigned vectors = n_channels * band;
    for (unsigned start = threadIdx.x; start < vectors; start += BLOCK * UNROLL) {
        Vector<COUNT> moved[UNROLL], taken[UNROLL];
        long long targets[UNROLL];
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            // Beyond the end the last vector is read once more, which is cheaper than a branch.
            unsigned place = min(start + j * BLOCK, vectors - 1);
            unsigned channel = place / band, in_band = place - channel * band;
            unsigned cell = in_band / PLANE, in_tile = in_band % PLANE;
            targets[j] = channel * plane + (in_tile / ROW * width + cell * TILE + in_tile % ROW * COUNT);
            unsigned source = channel * TILE_PIXELS + in_tile * COUNT;
            bool covered = last[cell] != NONE;
            if (BLEND) {
                moved[j] = load_constant<COUNT>(pixels + targets[j]);
                if (covered) taken[j] = load_constant<COUNT>(patch + tiles.tile_of(first[cell]) * stride + source);
            } else {
                const element* from = pixels + targets[j];
                if (covered) from = patch + tiles.tile_of(last[cell]) * stride + source;
                moved[j] = load_constant<COUNT>(from);
            }
        }
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            unsigned place = start + j * BLOCK;
            if (place >= vectors) continue;
            if (BLEND && last[(place % band) / PLANE] != NONE) mix(moved[j], taken[j], keep, take);
            store<COUNT>(out + targets[j], moved[j]);
        }
    }

    // Ids that repeat are rare: what they add is mixed in afterwards, by the thread that has written the pixels.
    for (unsigned place = threadIdx.x; BLEND && place < vectors; place += BLOCK) {
        unsigned channel = place / band, in_band = place - channel * band;
        unsigned cell = in_band / PLANE, in_tile = in_band % PLANE;
        if (first[cell] >= last[cell]) continue;
        int id = first_cell + cell;
        auto covers = [&](int k) { return __ldg(tiles.indices + k) == id; };
        element* target = out + channel * plane + (in_tile / ROW * width + cell * TILE + in_tile % ROW * COUNT);
        const element* source = patch + channel * TILE_PIXELS + in_tile * COUNT;
        Vector<COUNT> current = load<COUNT>(target);
        for (int turn = first[cell]; turn < last[cell];) {
            turn = tiles.next_turn(turn, covers);
            mix(current, load_constant<COUNT>(source + tiles.tile_of(turn) * stride), keep, take);
        }
        store<COUNT>(target, current);
    }
}
#endif

#ifdef LIST
// Tiles anywhere. As above, but VECTOR divides the bytes of a row of the map. A block takes a patch of 32 vectors by
// BLOCK / 32 rows, in `group` channels of one sample, UNROLL of them at a time. It finds the tiles that touch the
// patch in their order, LIST at a time, and applies them; a further LIST goes on from what the same thread has
// written.
//
// Grid: patches, groups of channels, samples.
extern "C" __global__ void __launch_bounds__(BLOCK)
    tile_unpack_anywhere(const element* __restrict__ base, const element* __restrict__ packed,
                         const int* __restrict__ origins, const int* __restrict__ levels, element* merged, int count,
                         int channels, int height, int width, int lowest, int bits, float keep, float take, int group) {
    constexpr int ACROSS = 32 * COUNT;
    constexpr int DOWN = BLOCK / 32;
    __shared__ int next[2];
    __shared__ int turns[LIST];

    int patches = (width + ACROSS - 1) / ACROSS;
    int top = blockIdx.x / patches * DOWN;
    int left = blockIdx.x % patches * ACROSS;
    int y = top + threadIdx.x / 32;
    int x = left + threadIdx.x % 32 * COUNT;
    int first_channel = blockIdx.y * group;
    int n_channels = y < height && x < width ? min(group, channels - first_channel) : 0;
    Tiles tiles(nullptr, origins, levels, count, lowest, bits, blockIdx.z);

    long long sample = blockIdx.z;
    long long plane = (long long)height * width;
    long long corner = (sample * channels + first_channel) * plane + (long long)y * width + x;
    const element* patch = packed + (sample * count * channels + first_channel) * TILE_PIXELS;
    long long stride = (long long)channels * TILE_PIXELS;

    int last = NONE;
    int found;
    const element* current = base;
    do {
        for (found = 0; found < LIST; ++found) {
            // The turns of two steps alternate, so that nobody overwrites one that another thread has yet to read.
            int* nearest = next + found % 2;
            if (threadIdx.x == 0) *nearest = MOST;
            __syncthreads();
            for (int k = threadIdx.x; k < count; k += BLOCK) {
                int dy = __ldg(tiles.origins + 2 * k) - top, dx = __ldg(tiles.origins + 2 * k + 1) - left;
                int turn = tiles.turn(k);
                bool touches = dy > -TILE && dy < DOWN && dx > -TILE && dx < ACROSS;
                if (touches && turn > last) atomicMin(nearest, turn);
            }
            __syncthreads();
            if (*nearest == MOST) break;
            last = *nearest;
            if (threadIdx.x == 0) turns[found] = last;
        }
        __syncthreads();
        for (int channel = 0; channel < n_channels; channel += UNROLL) {
            Vector<COUNT> values[UNROLL];
#pragma unroll
            for (int j = 0; j < UNROLL; ++j) {
                if (channel + j < n_channels) values[j] = load<COUNT>(current + corner + (channel + j) * plane);
            }
            for (int i = 0; i < found; ++i) {
                int k = tiles.tile_of(turns[i]);
                int dy = y - __ldg(tiles.origins + 2 * k), dx = x - __ldg(tiles.origins + 2 * k + 1);
                if (dy < 0 || dy >= TILE || dx <= -COUNT || dx >= TILE) continue;
                const element* row = patch + k * stride + channel * TILE_PIXELS + dy * TILE;
#pragma unroll
                for (int j = 0; j < UNROLL; ++j) {
                    if (channel + j >= n_channels) continue;
#pragma unroll
                    for (int e = 0; e < COUNT; ++e) {
                        if (dx + e < 0 || dx + e >= TILE) continue;
                        element taken = row[j * TILE_PIXELS + dx + e];
                        values[j].at[e] = BLEND ? mixed(values[j].at[e], taken, keep, take) : taken;
                    }
                }
            }
#pragma unroll
            for (int j = 0; j < UNROLL; ++j) {
                if (channel + j < n_channels) store<COUNT>(merged + corner + (channel + j) * plane, values[j]);
            }
        }
        current = merged;
    } while (found == LIST);
}
#endif
