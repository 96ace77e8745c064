// Tiles of a block: thread_block_tile (CUDA C++ Programming Guide, "Cooperative Groups", "Thread Block
// Tile"). Included by cooperative_groups.h.
#ifndef CUDASIM_GROUP_TILES_H
#define CUDASIM_GROUP_TILES_H

namespace cudasim {
namespace groups {

template <unsigned Size, typename Parent>
struct Siblings {
    CUDASIM_GROUP_STATIC unsigned rank() { return Parent::thread_rank() / Size; }
    CUDASIM_GROUP_STATIC unsigned size() { return (Parent::num_threads() + Size - 1) / Size; }
};

template <unsigned Size>
CUDASIM_GROUP_STATIC unsigned mask_of_tile() {
    return Size == warp_lanes ? whole_warp : ((1u << (Size % warp_lanes)) - 1) << (lane() & ~(Size - 1));
}

}  // namespace groups
}  // namespace cudasim

namespace cooperative_groups {

/// What tiles of up to a warp can do.
template <unsigned Size>
class __cudasim_lane_tile : public thread_group {
  public:
    CUDASIM_GROUP_STATIC constexpr unsigned num_threads() { return Size; }
    CUDASIM_GROUP_STATIC constexpr unsigned size() { return Size; }
    CUDASIM_GROUP_STATIC unsigned thread_rank() { return cudasim::groups::lane() & (Size - 1); }
    CUDASIM_GROUP_STATIC void sync() { __nvvm_bar_warp_sync(mask()); }

    template <typename Value>
    CUDASIM_GROUP Value shfl(Value value, int rank) const {
        return cudasim::groups::shuffle<cudasim::groups::FromLane, Value>(mask(), value, rank, Size);
    }
    template <typename Value>
    CUDASIM_GROUP Value shfl_up(Value value, unsigned distance) const {
        return cudasim::groups::shuffle<cudasim::groups::FromBelow, Value>(mask(), value, distance, Size);
    }
    template <typename Value>
    CUDASIM_GROUP Value shfl_down(Value value, unsigned distance) const {
        return cudasim::groups::shuffle<cudasim::groups::FromAbove, Value>(mask(), value, distance, Size);
    }
    template <typename Value>
    CUDASIM_GROUP Value shfl_xor(Value value, unsigned bits) const {
        return cudasim::groups::shuffle<cudasim::groups::FromOther, Value>(mask(), value, bits, Size);
    }

    CUDASIM_GROUP int any(int predicate) const { return __nvvm_vote_any_sync(mask(), predicate != 0); }
    CUDASIM_GROUP int all(int predicate) const { return __nvvm_vote_all_sync(mask(), predicate != 0); }
    CUDASIM_GROUP unsigned ballot(int predicate) const {
        return of_tile(__nvvm_vote_ballot_sync(mask(), predicate != 0));
    }
    template <typename T>
    CUDASIM_GROUP unsigned match_any(T value) const {
        return of_tile(cudasim::groups::Match<T>::any(mask(), value));
    }
    template <typename T>
    CUDASIM_GROUP unsigned match_all(T value, int& equal) const {
        return of_tile(cudasim::groups::Match<T>::all(mask(), value, equal));
    }

  protected:
    friend struct __cudasim_collective;

    CUDASIM_GROUP __cudasim_lane_tile(unsigned rank, unsigned siblings)
        : thread_group(lanes, mask(), rank, siblings) {}

    CUDASIM_GROUP_STATIC unsigned mask() { return cudasim::groups::mask_of_tile<Size>(); }
    /// The bits of the tile's lanes, from bit 0.
    CUDASIM_GROUP_STATIC unsigned of_tile(unsigned bits) {
        return Size == cudasim::groups::warp_lanes
                   ? bits
                   : bits >> (cudasim::groups::lane() & ~(Size - 1)) & ((1u << (Size % 32)) - 1);
    }
};

/// What tiles of several warps can do.
template <unsigned Size>
class __cudasim_warp_tile : public thread_group {
  public:
    CUDASIM_GROUP_STATIC constexpr unsigned num_threads() { return Size; }
    CUDASIM_GROUP_STATIC constexpr unsigned size() { return Size; }
    CUDASIM_GROUP_STATIC unsigned thread_rank() { return cudasim::groups::thread_of_block() & (Size - 1); }
    CUDASIM_GROUP void sync() const { cudasim::groups::wait_for_warps(memory, Size); }

    template <typename Value>
    CUDASIM_GROUP Value shfl(Value value, unsigned rank) const {
        if (thread_rank() == rank) cudasim::groups::give<Value>(memory, first_warp(), value);
        sync();
        const Value result = cudasim::groups::taken<Value>(memory, first_warp(), value);
        sync();
        return result;
    }
    CUDASIM_GROUP int any(int predicate) const {
        return fold(__nvvm_vote_any_sync(cudasim::groups::whole_warp, predicate != 0) ? 1 : 0, Or());
    }
    CUDASIM_GROUP int all(int predicate) const {
        return fold(__nvvm_vote_all_sync(cudasim::groups::whole_warp, predicate != 0) ? 1 : 0, And());
    }

  protected:
    friend struct __cudasim_collective;

    CUDASIM_GROUP __cudasim_warp_tile(unsigned rank, unsigned siblings, cudasim::groups::TileMemory* memory)
        : thread_group(warps, Size, rank, siblings, memory) {}

    struct Or {
        CUDASIM_GROUP int operator()(int a, int b) const { return a | b; }
    };
    struct And {
        CUDASIM_GROUP int operator()(int a, int b) const { return a & b; }
    };

    CUDASIM_GROUP_STATIC unsigned first_warp() {
        return cudasim::groups::thread_of_block() / Size * (Size / cudasim::groups::warp_lanes);
    }
    CUDASIM_GROUP_STATIC unsigned warp() {
        return cudasim::groups::thread_of_block() / cudasim::groups::warp_lanes;
    }
    /// The values of the tile's warps, which their first lanes have.
    template <typename Value, typename Operation>
    CUDASIM_GROUP Value fold(Value of_warp, Operation operation) const {
        if (cudasim::groups::lane() == 0) cudasim::groups::give<Value>(memory, warp(), of_warp);
        sync();
        Value result = cudasim::groups::taken<Value>(memory, first_warp(), of_warp);
        for (unsigned i = 1; i < Size / cudasim::groups::warp_lanes; ++i)
            result = operation(result, cudasim::groups::taken<Value>(memory, first_warp() + i, of_warp));
        sync();
        return result;
    }
};

template <unsigned Size>
struct __cudasim_check_tile {
    static_assert(Size >= 1 && Size <= cudasim::groups::largest_block && (Size & (Size - 1)) == 0,
                  "the size of a tile is a power of 2, from 1 to 1024");
};

template <unsigned Size, bool within_warp = (Size <= cudasim::groups::warp_lanes)>
class __cudasim_tile : public __cudasim_lane_tile<Size> {
  protected:
    CUDASIM_GROUP __cudasim_tile(unsigned rank, unsigned siblings, cudasim::groups::TileMemory*)
        : __cudasim_lane_tile<Size>(rank, siblings) {}
};
template <unsigned Size>
class __cudasim_tile<Size, false> : public __cudasim_warp_tile<Size> {
  protected:
    CUDASIM_GROUP __cudasim_tile(unsigned rank, unsigned siblings, cudasim::groups::TileMemory* memory)
        : __cudasim_warp_tile<Size>(rank, siblings, memory) {}
};

/// A tile that knows of what it is a part.
template <unsigned Size, typename Parent>
class thread_block_tile : public __cudasim_tile<Size>, private __cudasim_check_tile<Size> {
  public:
    CUDASIM_GROUP_STATIC unsigned meta_group_rank() {
        return cudasim::groups::Siblings<Size, Parent>::rank();
    }
    CUDASIM_GROUP_STATIC unsigned meta_group_size() {
        return cudasim::groups::Siblings<Size, Parent>::size();
    }

  private:
    friend struct __cudasim_tile_factory;
    CUDASIM_GROUP explicit thread_block_tile(cudasim::groups::TileMemory* memory)
        : __cudasim_tile<Size>(meta_group_rank(), meta_group_size(), memory) {}
};

/// A tile of anything. A thread_block_tile<Size> can be made of every tile of this size.
template <unsigned Size>
class thread_block_tile<Size, void> : public __cudasim_tile<Size>, private __cudasim_check_tile<Size> {
  public:
    template <typename Parent>
    CUDASIM_GROUP thread_block_tile(const thread_block_tile<Size, Parent>& other)
        : __cudasim_tile<Size>(other.meta_group_rank(), other.meta_group_size(),
                               __cudasim_factory::memory(other)) {}

    CUDASIM_GROUP unsigned meta_group_rank() const { return this->meta_rank; }
    CUDASIM_GROUP unsigned meta_group_size() const { return this->meta_size; }

  private:
    friend struct __cudasim_tile_factory;
    CUDASIM_GROUP thread_block_tile(unsigned rank, unsigned siblings, cudasim::groups::TileMemory* memory)
        : __cudasim_tile<Size>(rank, siblings, memory) {}
};

struct __cudasim_tile_factory {
    template <typename Tile>
    CUDASIM_GROUP_STATIC Tile part(cudasim::groups::TileMemory* memory) {
        return Tile(memory);
    }
    template <unsigned Size>
    CUDASIM_GROUP_STATIC thread_block_tile<Size> whole() {
        return thread_block_tile<Size>(0, 1, nullptr);
    }
};

/// The group of the calling thread alone.
CUDASIM_GROUP_STATIC thread_block_tile<1> this_thread() {
    return __cudasim_tile_factory::whole<1>();
}

}  // namespace cooperative_groups

#endif
