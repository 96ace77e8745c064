// See blocks.h.
#include "simulator/records/blocks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "simulator/image/byte_stream.h"
#include "simulator/memory/host_memory.h"
#include "simulator/records/gpu_launch.h"

namespace cudasim::records {

namespace {

constexpr std::size_t magic_bytes = 16, header_bytes = magic_bytes + 8;
constexpr std::size_t block_header_bytes = 9;

RecordError cannot(const char* what, const std::filesystem::path& path) {
    return RecordError(std::string("cannot ") + what + " " + path.string() + ": " + std::strerror(errno));
}

/// Several records in one process would hold it several times.
void require_memory(std::uint64_t bytes, const std::string& what) {
    if (bytes >= (64 << 20) && bytes + memory::host_reserve > memory::host_memory_available())
        throw RecordError(what + " is more than this host can give (" + memory::describe_host_memory() + ")");
}

}  // namespace

struct BlockWriter::Compressor {
    Compressor() : context(ZSTD_createCCtx()) {
        if (context == nullptr) throw std::bad_alloc();
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    }
    ~Compressor() { ZSTD_freeCCtx(context); }
    Compressor(const Compressor&) = delete;
    Compressor& operator=(const Compressor&) = delete;

    ZSTD_CCtx* context;
    std::vector<std::byte> buffer;
};

BlockWriter::BlockWriter(std::filesystem::path path, const FileFormat& format, Hasher hasher)
    : path_(std::move(path)),
      file_(nullptr, &std::fclose),
      compressor_(std::make_unique<Compressor>()),
      hasher_(hasher) {
    file_.reset(std::fopen(path_.c_str(), "wbe"));
    if (!file_) throw cannot("write", path_);
    image::ByteWriter header;
    header.raw(format.magic.data(), magic_bytes);
    header.number(format.version, 4);
    header.number(0, 4);
    write(header.bytes().data(), header.bytes().size());
    // Flushed at once because a forked process would write what is left in the buffer a second time.
    if (std::fflush(file_.get()) != 0) throw cannot("write", path_);
}

BlockWriter::~BlockWriter() = default;

void BlockWriter::write(const void* data, std::size_t bytes) {
    if (!file_) throw RecordError("the file of records " + path_.string() + " is closed");
    if (std::fwrite(data, 1, bytes, file_.get()) != bytes) throw cannot("write", path_);
}

void BlockWriter::block(char kind, std::span<const std::byte> raw) {
    auto& buffer = compressor_->buffer;
    buffer.resize(ZSTD_compressBound(raw.size()));
    const std::size_t stored =
        ZSTD_compress2(compressor_->context, buffer.data(), buffer.size(), raw.data(), raw.size());
    if (ZSTD_isError(stored)) throw RecordError(std::string("zstd: ") + ZSTD_getErrorName(stored));
    image::ByteWriter header;
    header.number(static_cast<unsigned char>(kind), 1);
    header.number(raw.size(), 4);
    header.number(stored, 4);
    write(header.bytes().data(), header.bytes().size());
    write(buffer.data(), stored);
}

ChunkList BlockWriter::chunks(std::span<const std::byte> bytes) {
    ChunkList list;
    list.bytes = bytes.size();
    for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes) {
        const auto chunk = bytes.subspan(at, std::min<std::size_t>(chunk_bytes, bytes.size() - at));
        std::uint32_t number = count_;
        if (hasher_ != nullptr) number = known_.try_emplace(hasher_(chunk), count_).first->second;
        if (number == count_) {
            block('C', chunk);
            ++count_;
        }
        if (!list.runs.empty() && list.runs.back().first + list.runs.back().second == number)
            ++list.runs.back().second;
        else
            list.runs.emplace_back(number, 1);
    }
    return list;
}

void BlockWriter::add(char kind, std::span<const std::byte> raw) {
    if (raw.size() > most_block_bytes)
        throw RecordError("the launch has too many allocations to be recorded");
    block(kind, raw);
    if (std::fflush(file_.get()) != 0) throw cannot("write", path_);
}

void BlockWriter::close() {
    if (!file_) return;
    block('E', {});
    if (std::fclose(file_.release()) != 0) throw cannot("write", path_);
}

std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // or a pipe would be waited for
    if (file < 0) throw cannot("read", path);
    struct stat status{};
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(file);
        throw RecordError("cannot read " + path.string() + ": it is not a regular file");
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    // Read, not mapped: a mapped file that is cut short meanwhile ends the process.
    std::vector<std::byte> bytes;
    try {
        bytes.resize(size);
    } catch (const std::bad_alloc&) {
        ::close(file);
        throw RecordError("there is no memory for the " + memory::bytes_text(size) + " of " + path.string());
    }
    std::size_t done = 0;
    while (done < size) {
        const ssize_t part = ::read(file, bytes.data() + done, size - done);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) break;
        done += static_cast<std::size_t>(part);
    }
    const int error = errno;
    ::close(file);
    errno = error;
    if (done != size) throw cannot("read", path);
    return bytes;
}

BlockReader::BlockReader(const std::filesystem::path& path, const FileFormat& format)
    : name_(format.name), bytes_(bytes_of(path)) {
    if (bytes_.size() < header_bytes) throw malformed(bytes_.size(), "the file ends inside its header");
    index(format);
}

BlockReader::BlockReader(std::vector<std::byte> bytes, const FileFormat& format)
    : name_(format.name), bytes_(std::move(bytes)) {
    index(format);
}

RecordError BlockReader::malformed(std::uint64_t offset, const std::string& what) const {
    return RecordError("this is not a " + name_ + ", or it is damaged: at byte " + std::to_string(offset) +
                       ", " + what);
}

void BlockReader::index(const FileFormat& format) {
    const auto begins_with = [this](const FileFormat& other) {
        return bytes_.size() >= header_bytes &&
               std::memcmp(bytes_.data(), other.magic.data(), magic_bytes) == 0;
    };
    if (!begins_with(format)) {
        for (const FileFormat& other : {launch_format, result_format})
            if (begins_with(other))
                throw RecordError("this is a " + std::string(other.name) + ", not a " + name_);
        throw malformed(0, "the header is another one");
    }
    image::ByteReader rest(std::span<const std::byte>(bytes_).subspan(magic_bytes));
    const auto version = static_cast<std::uint32_t>(rest.number(4));
    (void)rest.number(4);
    if (version < format.oldest_version || version > format.version)
        throw RecordError("the " + name_ + " has version " + std::to_string(version) +
                          ", this cudasim reads version " + std::to_string(format.version) +
                          (version > format.version ? ": a newer one wrote it" : ""));
    std::uint64_t chunk_offset = 0;
    while (!rest.rest().empty()) {
        const std::uint64_t offset = bytes_.size() - rest.rest().size();
        if (finished_) throw malformed(offset, "something follows the end");
        if (rest.rest().size() < block_header_bytes) return;  // not finished
        const auto kind = static_cast<char>(rest.number(1));
        const auto raw = static_cast<std::uint32_t>(rest.number(4)),
                   stored = static_cast<std::uint32_t>(rest.number(4));
        if (stored > rest.rest().size()) return;  // not finished
        const Block block{offset + block_header_bytes, raw, stored};
        (void)rest.take(stored);
        if (kind == 'C') {
            if (raw == 0 || raw > chunk_bytes) throw malformed(offset, "a chunk has no possible size");
            chunks_.push_back(block);
            chunk_offsets_.push_back(chunk_offset);
            chunk_offset += raw;
        } else if (kind == 'E') {
            finished_ = true;
        } else if (format.kinds.find(kind) != std::string_view::npos) {
            if (raw > most_block_bytes) throw malformed(offset, "a block has no possible size");
            blocks_[kind].push_back(block);
        } else {
            throw malformed(offset, "a block is of no known kind");
        }
    }
}

std::size_t BlockReader::count(char kind) const {
    const auto found = blocks_.find(kind);
    return found == blocks_.end() ? 0 : found->second.size();
}

Content BlockReader::read(char kind, std::size_t index) const {
    if (index >= count(kind))
        throw RecordError("the " + name_ + " has " + std::to_string(count(kind)) + " launches");
    return unpacked(blocks_.at(kind)[index]);
}

Content BlockReader::unpacked(const Block& block) const {
    const auto* stored = bytes_.data() + block.offset;
    const auto announced = ZSTD_getFrameContentSize(stored, block.stored);
    if (announced != block.raw) throw malformed(block.offset, "a block's size is not what its frame says");
    Content content(block.raw);
    const std::size_t size = ZSTD_decompress(content.data(), content.size(), stored, block.stored);
    if (ZSTD_isError(size))
        throw malformed(block.offset, std::string("zstd says: ") + ZSTD_getErrorName(size));
    if (size != block.raw) throw malformed(block.offset, "a block's content is shorter than it says");
    return content;
}

Content BlockReader::content(const ChunkList& list) const {
    std::uint64_t bytes = 0;
    for (const auto& [first, count] : list.runs) {
        if (count == 0 || first >= chunks_.size() || count > chunks_.size() - first)
            throw RecordError("a launch names chunks that are not in the file");
        const std::size_t last = first + count - 1;
        bytes += chunk_offsets_[last] + chunks_[last].raw - chunk_offsets_[first];
        if (bytes > list.bytes) break;
    }
    if (bytes != list.bytes) throw RecordError("the chunks of a content do not add up to its size");
    require_memory(bytes, "the record's memory, " + memory::bytes_text(bytes) + " of it in one piece,");
    Content content(list.bytes);
    std::uint64_t at = 0;
    for (const auto& [first, count] : list.runs)
        for (std::uint32_t i = first; i < first + count; ++i) {
            const Content chunk = unpacked(chunks_[i]);
            std::memcpy(content.data() + at, chunk.data(), chunk.size());
            at += chunk.size();
        }
    return content;
}

}  // namespace cudasim::records
