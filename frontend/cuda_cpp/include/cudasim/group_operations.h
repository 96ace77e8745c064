// Operations of reductions and scans by groups, and how groups of each kind carry them out.
#ifndef CUDASIM_GROUP_OPERATIONS_H
#define CUDASIM_GROUP_OPERATIONS_H

namespace cooperative_groups {

template <typename T>
struct plus {
    CUDASIM_GROUP T operator()(T a, T b) const { return a + b; }
};
/// The smaller one.
template <typename T>
struct less {
    CUDASIM_GROUP T operator()(T a, T b) const { return b < a ? b : a; }
};
/// The larger one.
template <typename T>
struct greater {
    CUDASIM_GROUP T operator()(T a, T b) const { return a < b ? b : a; }
};
template <typename T>
struct bit_and {
    CUDASIM_GROUP T operator()(T a, T b) const { return a & b; }
};
template <typename T>
struct bit_xor {
    CUDASIM_GROUP T operator()(T a, T b) const { return a ^ b; }
};
template <typename T>
struct bit_or {
    CUDASIM_GROUP T operator()(T a, T b) const { return a | b; }
};

/// Operations that a warp has an instruction for (redux.sync, from architecture 8.0 on).
template <typename Operation, typename Value>
struct __cudasim_redux : cudasim::groups::Truth<false> {
    CUDASIM_GROUP_STATIC Value of(unsigned, Value value) { return value; }
};
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define CUDASIM_REDUX(operation, type, instruction)                                                   \
    template <>                                                                                       \
    struct __cudasim_redux<operation<type>, type> : cudasim::groups::Truth<true> {                    \
        CUDASIM_GROUP_STATIC type of(unsigned mask, type value) {                                     \
            return static_cast<type>(__nvvm_redux_sync_##instruction(value, static_cast<int>(mask))); \
        }                                                                                             \
    }
CUDASIM_REDUX(plus, int, add);
CUDASIM_REDUX(plus, unsigned, add);
CUDASIM_REDUX(less, int, min);
CUDASIM_REDUX(less, unsigned, umin);
CUDASIM_REDUX(greater, int, max);
CUDASIM_REDUX(greater, unsigned, umax);
CUDASIM_REDUX(bit_and, int, and);
CUDASIM_REDUX(bit_and, unsigned, and);
CUDASIM_REDUX(bit_or, int, or);
CUDASIM_REDUX(bit_or, unsigned, or);
CUDASIM_REDUX(bit_xor, int, xor);
CUDASIM_REDUX(bit_xor, unsigned, xor);
#undef CUDASIM_REDUX
#endif

struct __cudasim_collective {
    // Tiles of up to a warp: threads exchange values with the one whose rank differs in one bit.
    template <unsigned Size, typename Value, typename Operation>
    CUDASIM_GROUP_STATIC Value reduce(const __cudasim_lane_tile<Size>& tile, Value value,
                                      Operation& operation) {
        typedef __cudasim_redux<typename cudasim::groups::Bare<Operation>::type, Value> Redux;
        if (Redux::value && Size >= 4) return Redux::of(tile.mask(), value);
#pragma unroll
        for (unsigned bit = Size / 2; bit != 0; bit /= 2) value = operation(value, tile.shfl_xor(value, bit));
        return value;
    }
    template <unsigned Size, typename Value, typename Operation>
    CUDASIM_GROUP_STATIC Value inclusive(const __cudasim_lane_tile<Size>& tile, Value value,
                                         Operation& operation) {
#pragma unroll
        for (unsigned distance = 1; distance < Size; distance *= 2) {
            const Value before = tile.shfl_up(value, distance);
            if (tile.thread_rank() >= distance) value = operation(before, value);
        }
        return value;
    }
    template <unsigned Size, typename Value>
    CUDASIM_GROUP_STATIC Value from_previous(const __cudasim_lane_tile<Size>& tile, Value value) {
        return tile.shfl_up(value, 1);
    }

    // Coalesced threads: any number of them.
    template <typename Value, typename Operation>
    CUDASIM_GROUP_STATIC Value reduce(const coalesced_group& group, Value value, Operation& operation) {
        typedef __cudasim_redux<typename cudasim::groups::Bare<Operation>::type, Value> Redux;
        if (Redux::value) return Redux::of(__cudasim_factory::mask(group), value);
        typedef __cudasim_redux<typename cudasim::groups::Bare<Operation>::type, Value> Redux;
        if (Redux::value) return Redux::of(__cudasim_factory::mask(group), value);
        const unsigned threads = group.num_threads(), rank = group.thread_rank();
        for (unsigned distance = 1; distance < threads; distance *= 2) {
            const Value other = group.shfl_down(value, distance);
            if (rank + distance < threads) value = operation(value, other);
        }
        return group.shfl(value, 0);
    }
    template <typename Value, typename Operation>
    CUDASIM_GROUP_STATIC Value inclusive(const coalesced_group& group, Value value, Operation& operation) {
        const unsigned threads = group.num_threads(), rank = group.thread_rank();
        for (unsigned distance = 1; distance < threads; distance *= 2) {
            const Value before = group.shfl_up(value, distance);
            if (rank >= distance) value = operation(before, value);
        }
        return value;
    }
    template <typename Value>
    CUDASIM_GROUP_STATIC Value from_previous(const coalesced_group& group, Value value) {
        return group.shfl_up(value, 1);
    }

    // Tiles of several warps: each warp by itself, then its result with those of the others.
    typedef thread_block_tile<cudasim::groups::warp_lanes> Warp;

    template <unsigned Size, typename Value, typename Operation>
    CUDASIM_GROUP_STATIC Value reduce(const __cudasim_warp_tile<Size>& tile, Value value,
                                      Operation& operation) {
        return tile.fold(reduce(warp(), value, operation), operation);
    }
    template <unsigned Size, typename Value, typename Operation>
    CUDASIM_GROUP_STATIC Value inclusive(const __cudasim_warp_tile<Size>& tile, Value value,
                                         Operation& operation) {
        value = inclusive(warp(), value, operation);
        const Earlier<Value> earlier = of_earlier_warps(tile, value, operation);
        return earlier.any ? operation(earlier.value, value) : value;
    }
    template <unsigned Size, typename Value>
    CUDASIM_GROUP_STATIC Value from_previous(const __cudasim_warp_tile<Size>& tile, Value value) {
        const Value within = warp().shfl_up(value, 1);
        if (cudasim::groups::lane() == cudasim::groups::warp_lanes - 1)
            cudasim::groups::give(tile.memory, tile.warp(), value);
        tile.sync();
        const bool crosses = cudasim::groups::lane() == 0 && tile.thread_rank() != 0;
        const Value result = crosses ? cudasim::groups::taken(tile.memory, tile.warp() - 1, within) : within;
        tile.sync();
        return result;
    }

    template <typename Group, typename Value, typename Operation>
    CUDASIM_GROUP_STATIC Value exclusive(const Group& group, Value value, Operation& operation) {
        const Value before = from_previous(group, inclusive(group, value, operation));
        return group.thread_rank() == 0 ? Value() : before;
    }

    // Updates of cuda::atomic and cuda::atomic_ref, or whatever has their functions.
    template <typename Atomic, typename Value, typename T>
    CUDASIM_GROUP_STATIC Value update(Atomic& target, Value value, const plus<T>&) {
        return target.fetch_add(value);
    }
    template <typename Atomic, typename Value, typename Operation>
    CUDASIM_GROUP_STATIC Value update(Atomic& target, Value value, const Operation& operation) {
        auto before = target.load();
        while (!target.compare_exchange_weak(before, operation(before, value))) {
        }
        return before;
    }

  private:
    template <typename Value>
    struct Earlier {
        bool any;
        Value value;
    };

    CUDASIM_GROUP_STATIC Warp warp() { return __cudasim_tile_factory::whole<cudasim::groups::warp_lanes>(); }
    /// @param inclusive  the scan of the thread's warp
    template <unsigned Size, typename Value, typename Operation>
    CUDASIM_GROUP_STATIC Earlier<Value> of_earlier_warps(const __cudasim_warp_tile<Size>& tile,
                                                         Value inclusive, Operation& operation) {
        if (cudasim::groups::lane() == cudasim::groups::warp_lanes - 1)
            cudasim::groups::give(tile.memory, tile.warp(), inclusive);
        tile.sync();
        Earlier<Value> earlier = {false, inclusive};
        for (unsigned warp = tile.first_warp(); warp < tile.warp(); ++warp) {
            const Value next = cudasim::groups::taken(tile.memory, warp, inclusive);
            earlier.value = earlier.any ? operation(earlier.value, next) : next;
            earlier.any = true;
        }
        tile.sync();
        return earlier;
    }
};

}  // namespace cooperative_groups

#endif
