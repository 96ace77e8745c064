// See child_compilation.h. What comes back has the form of an entry of the object cache behind one letter; an
// error is an entry without code, whose name is the message and whose only site is the place.
#include "simulator/jit/child_compilation.h"

#include "simulator/image/isolated_reading.h"

namespace cudasim::jit {
namespace {

constexpr char made = 'm', compile_error = 'c', resource_error = 'r';

std::string answer(char letter, const std::string& key, const KernelFacts& facts, std::string_view object) {
    const auto bytes = write_entry(key, facts, object);
    return letter + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string answer(char letter, const std::string& key, const CompileError& error) {
    KernelFacts facts;
    facts.name = error.what();
    facts.sites.push_back(error.location);
    facts.globals = std::make_shared<GlobalsLayout>();
    return answer(letter, key, facts, {});
}

std::string work(const std::string& key, const std::function<CachedKernel()>& finish) {
    try {
        const CachedKernel kernel = finish();
        return answer(made, key, kernel.facts, {kernel.object.data(), kernel.object.size()});
    } catch (const ResourceError& error) {
        return answer(resource_error, key, error);
    } catch (const CompileError& error) {
        return answer(compile_error, key, error);
    }
}

}  // namespace

CachedKernel finish_in_child_process(const std::string& key, const std::string& kernel,
                                     const std::function<CachedKernel()>& finish,
                                     const image::Cancellation& cancellation) {
    std::string answer;
    try {
        answer = image::read_in_child_process(
            "kernel '" + kernel + "' cannot be compiled", [&] { return work(key, finish); },
            image::ReadingLimits::none(), cancellation);
    } catch (const image::NoChildProcess&) {
        throw;
    } catch (const image::ImageError& error) {
        throw CompileError(error.what(), {});
    }
    auto entry = read_entry(key, std::as_bytes(std::span(answer).subspan(1)));
    if (!entry) throw std::logic_error("simulator/jit: a child process compiled something else");
    if (answer.front() == resource_error) throw ResourceError(entry->facts.name, entry->facts.sites.front());
    if (answer.front() == compile_error) throw CompileError(entry->facts.name, entry->facts.sites.front());
    return std::move(*entry);
}

}  // namespace cudasim::jit
