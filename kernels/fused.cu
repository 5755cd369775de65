// Fused pack, operate, unpack: a gated affine map of the pixels of chosen tiles, all others copied. For a pixel x of a
// tile that `indices` names: v = vs x + vb, g = gs x + gb, y = v max(g, 0), in f32, each operation rounded, y rounded
// to the element type once. A NaN gate stays NaN; a zero gate keeps the sign of v. Map and merged [B,C,H,W], indices
// int32 [B,K], which may repeat. Checked bit for bit against `reference` of src/kernels/fused.rs.

__device__ __forceinline__ element operated(element pixel, float value_scale, float value_bias, float gate_scale,
                                            float gate_bias) {
    float x = to_float(pixel);
    float value = rounded_sum(rounded_product(value_scale, x), value_bias);
    float gate = rounded_sum(rounded_product(gate_scale, x), gate_bias);
    float open = gate > 0.0f || is_nan(gate) ? gate : 0.0f;
    return from_float(value * open);
}

extern "C" __global__ void fused_reference(const element* map, const int* indices, element* merged, int count,
                                           int channels, int height, int width, int side, float value_scale,
                                           float value_bias, float gate_scale, float gate_bias, long long elements) {
    long long position = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (position >= elements) return;
    int x = (int)(position % width);
    int y = (int)(position / width % height);
    long long sample = position / width / height / channels;
    int id = y / side * (width / side) + x / side;
    bool chosen = false;
    for (int k = 0; k < count; ++k) chosen |= indices[sample * count + k] == id;
    element pixel = map[position];
    merged[position] = chosen ? operated(pixel, value_scale, value_bias, gate_scale, gate_bias) : pixel;
}

#ifdef TILE
// BLOCK threads; TILE is t; VECTOR, the bytes of an access, divides the bytes of a row of a tile; a thread has UNROLL
// accesses under way. A block takes `cells` columns of one row of tiles, in `group` channels of one sample, and notes
// in shared memory which of the cells are chosen. Neighbouring threads take neighbours in a row of the map.
//
// Grid: parts of rows of tiles, groups of channels, samples. Shared: an int for each cell.
extern "C" __global__ void __launch_bounds__(BLOCK)
    fused(const element* __restrict__ map, const int* __restrict__ indices, element* __restrict__ merged, int count,
          int channels, int height, int width, float value_scale, float value_bias, float gate_scale, float gate_bias,
          int cells, int parts, int group) {
    extern __shared__ unsigned char shared[];
    constexpr int COUNT = VECTOR / sizeof(element);
    constexpr unsigned ROW = TILE / COUNT;
    static_assert(TILE % COUNT == 0, "a vector must not leave its row");

    int columns = width / TILE;
    int tile_row = blockIdx.x / parts;
    int first_column = blockIdx.x % parts * cells;
    int first_cell = tile_row * columns + first_column;
    unsigned n_cells = min(cells, columns - first_column);
    int first_channel = blockIdx.y * group;
    unsigned n_channels = min(group, channels - first_channel);
    long long sample = blockIdx.z;
    int* chosen = (int*)shared;

    for (unsigned cell = threadIdx.x; cell < n_cells; cell += BLOCK) chosen[cell] = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < count; k += BLOCK) {
        unsigned cell = __ldg(indices + sample * count + k) - first_cell;
        // Where ids repeat, several threads store the same word: volatile, so that this is no race.
        if (cell < n_cells) *(volatile int*)(chosen + cell) = 1;
    }
    __syncthreads();

    long long plane = (long long)height * width;
    long long corner = (sample * channels + first_channel) * plane + (long long)tile_row * TILE * width
                       + first_column * TILE;
    map += corner;
    merged += corner;

    unsigned across = n_cells * ROW;
    unsigned band = across * TILE;
    unsigned vectors = n_channels * band;
    for (unsigned start = threadIdx.x; start < vectors; start += BLOCK * UNROLL) {
        Vector<COUNT> values[UNROLL];
        long long places[UNROLL];
        bool touched[UNROLL];
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            // Beyond the end the last vector is read once more, which is cheaper than a branch.
            unsigned place = min(start + j * BLOCK, vectors - 1);
            unsigned channel = place / band, in_band = place - channel * band;
            unsigned row = in_band / across, column = in_band - row * across;
            places[j] = channel * plane + (row * width + column * COUNT);
            values[j] = load_constant<COUNT>(map + places[j]);
            touched[j] = chosen[column / ROW] != 0;
        }
#pragma unroll
        for (int j = 0; j < UNROLL; ++j) {
            if (start + j * BLOCK >= vectors) continue;
            if (touched[j]) {
#pragma unroll
                for (int i = 0; i < COUNT; ++i) {
                    element& pixel = values[j].at[i];
                    pixel = operated(pixel, value_scale, value_bias, gate_scale, gate_bias);
                }
            }
            store<COUNT>(merged + places[j], values[j]);
        }
    }
}
#endif
