// See content.h.
#include "simulator/records/content.h"

#include <cstring>

#include "simulator/memory/large_buffer.h"

namespace cudasim::records {

Content::Content(std::uint64_t size) : data_(memory::large_buffer(size)), size_(size) {}

Content::Content(std::string_view text) : Content(text.size()) {
    if (!text.empty()) std::memcpy(data_.get(), text.data(), text.size());
}

}  // namespace cudasim::records
