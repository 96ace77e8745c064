// Notices that host code touches memory which enqueued work has still to do with (V7): the pages of the
// memory are protected, and the fault of the first access is noted, the pages are opened, and the access goes
// on as if nothing had been. An access that begins in front of the memory, in the same pages, is not seen,
// and neither is one by the kernel of the operating system, whose call fails with EFAULT.
//
// The signal handler passes on every fault that is not its own to whoever was there before. Device code must
// not meet protected pages: open() before anything runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudasim::streams::page_watch {

/// What of the memory cannot be touched unnoticed.
enum class Access { any, write };

/// Begins to watch [address, address + bytes).
/// @param own_pages whether nothing else lies in its pages; else only those pages are watched that lie in it
/// as a whole
/// @return a number for the other functions; -1 when there are no such pages, or too many are watched
int begin(std::uintptr_t address, std::size_t bytes, Access access, bool own_pages);
/// Ends it. @return whether the memory was touched
bool end(int watch);
/// The first watched byte that was touched; 0: none.
[[nodiscard]] std::uintptr_t touched_at(int watch);
/// A watch whose memory was touched notices the next access, too, once protect_all() is called.
void go_on(int watch);
/// Opens the pages of all watches, and protects those again that were not touched. Costs next to
/// nothing where there are none.
void open_all();
void protect_all();

/// Sets a function that is called in the signal handler, on the thread that touches watched memory. It has to
/// be async-signal-safe.
void on_touch(void (*function)(int watch));

}  // namespace cudasim::streams::page_watch
