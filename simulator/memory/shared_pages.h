// Pages of an arena that other processes may map (CUDA's inter-process memory).
//
// An arena's memory is private to its process until an allocation is shared: then the pages that it touches
// move into a memory file, at the offset that they have in the arena, and the file is mapped in their place.
// Another process maps the same part of the file. Neighbours on the first and last page are visible there
// too; what kernels may use is decided by that process's shadow, byte by byte.
//
// After fork() the child has its own copy of everything, as of all other memory: pages that are shared become
// private there.
#pragma once

#include <cstdint>
#include <map>

namespace cudasim::memory {

class SharedPages {
  public:
    /// @param base, bytes  the arena's reservation, whole pages
    SharedPages(std::uint64_t base, std::uint64_t bytes);
    ~SharedPages();
    SharedPages(const SharedPages&) = delete;
    SharedPages& operator=(const SharedPages&) = delete;

    /// Where in the memory file a shared range lies.
    struct Place {
        int file = -1;             ///< descriptor in this process; open as long as the arena lives
        std::uint64_t offset = 0;  ///< of the first page in the file
        std::uint64_t bytes = 0;   ///< whole pages
        std::uint64_t inside = 0;  ///< where the range begins in the first page
    };

    /// Shares [address, address + bytes), a whole allocation; again is the same. @throws std::system_error
    [[nodiscard]] Place share(std::uint64_t address, std::uint64_t bytes);
    /// Takes back what share() did: other processes see nothing of what comes, and zeros where the range was.
    void unshare(std::uint64_t address, std::uint64_t bytes);

  private:
    struct Pages {
        std::uint64_t first = 0, end = 0;
        [[nodiscard]] bool empty() const { return first >= end; }
    };
    static void in_child();
    [[nodiscard]] Pages pages_of(std::uint64_t address, std::uint64_t bytes) const;
    [[nodiscard]] Pages without_shared(Pages pages) const;
    void open_file();
    bool make_private(Pages pages, bool keep_contents) const;

    std::uint64_t base_, bytes_;
    int file_ = -1;
    std::map<std::uint64_t, Pages> shared_;  // by address of the allocation; they meet on single pages only
};

}  // namespace cudasim::memory
