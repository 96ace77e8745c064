// Asynchronous copies (cp.async) of the race detector: pending from their begin to their thread's wait.
//
// A pending copy's target has a record whose epoch nothing is ordered behind (pending_epoch), so that every
// access finds it; at the wait it becomes a write of the thread in its present epoch. The source may not be
// written in between, not even by the thread itself. Such writes find the copy's read, as those of any other
// access, unless they are ordered behind it: these are looked for at the wait.
#include <algorithm>

#include "simulator/checks/race_state.h"

namespace cudasim::checks {

void RaceDetector::copy_begins(Block& block, std::uint32_t thread, const PendingCopy& begun) {
    if (block.copy_groups.empty()) block.copy_groups.resize(block.threads);
    Copy copy{begun};
    copy.thread = thread;
    copy.group = block.copy_groups[thread];
    copy.site = std::min(begun.site, unknown_site);
    const Record pending = record_of(pending_epoch, thread) | (Record{copy.site} << site_shift) | all_bytes;
    for (std::uint64_t at = 0; at < copy.bytes; at += word_bytes)
        shadow_.cell(copy.target + at).written = pending;
    if (copy.source != 0)
        for (std::uint64_t at = 0; at < copy.source_bytes; at += word_bytes)
            copy.written[at / word_bytes] = shadow_.cell(copy.source + at).written;
    block.copies.push_back(copy);
}

void RaceDetector::copies_are_group(Block& block, std::uint32_t thread) {
    if (!block.copy_groups.empty()) ++block.copy_groups[thread];
}

void RaceDetector::waits_for_copies(Block& block, std::uint32_t thread, std::uint32_t groups) {
    if (block.copies.empty()) return;
    const std::uint64_t begun = block.copy_groups[thread];
    const auto is_waited_for = [&](const Copy& copy) {
        return copy.thread == thread && (groups == all_copies || copy.group + std::uint64_t{groups} < begun);
    };
    for (const Copy& copy : block.copies)
        if (is_waited_for(copy)) copy_ends(block, copy);
    std::erase_if(block.copies, is_waited_for);
}

/// What it does counts as done by its thread now.
void RaceDetector::copy_ends(Block& block, const Copy& copy) {
    const Record now = present(block, copy.thread) | (Record{copy.site} << site_shift) | all_bytes;
    for (std::uint64_t at = 0; at < copy.bytes; at += word_bytes) {
        Cell& target = shadow_.cell(copy.target + at);
        // Where several copies write the word, the last one is still to come.
        if (epoch_of(target.written) == pending_epoch && thread_of(target.written) == copy.thread)
            target.written = now;
    }
    if (copy.source != 0) compare_source(block, copy);
}

/// Writes to the source that were ordered behind the copy's begin, and are not behind its end.
void RaceDetector::compare_source(Block& block, const Copy& copy) {
    const Record site = Record{copy.site} << site_shift;
    const std::uint32_t floor = floor_of(block, copy.source);
    for (std::uint64_t at = 0; at < copy.source_bytes; at += word_bytes) {
        const Word word{copy.source + at, all_bytes, shadow_.cell(copy.source + at)};
        const Record written = word.cell.written;
        const bool was_silent = epoch_of(written) >= floor && epoch_of(written) != pending_epoch &&
                                block.owns(epoch_of(written)) &&
                                (thread_of(written) == copy.thread ||
                                 (copy.next_phase != 0 && epoch_of(written) >= copy.next_phase));
        if (written != copy.written[at / word_bytes] && was_silent) {
            Looked writer{block, thread_of(written)};
            writer.kind = AccessClass::write;
            writer.record = written & ~all_bytes;
            writer.floor = floor;
            writer.address = word.address;
            writer.bytes = word_bytes;
            report(record_of(pending_epoch, copy.thread) | site | all_bytes, AccessClass::read, writer, word,
                   all_bytes);
        } else {
            // Later writes in this phase may come before the wait.
            Looked reader{block, copy.thread};
            reader.record = present(block, copy.thread) | site;
            reader.floor = floor;
            reader.address = word.address;
            reader.bytes = word_bytes;
            note_read(reader, word);
            mark_readers(reader, word);
        }
    }
}

/// Those that the block leaves pending.
void RaceDetector::forget_copies(Block& block) {
    for (const Copy& copy : block.copies)
        for (std::uint64_t at = 0; at < copy.bytes; at += word_bytes) {
            Cell& target = shadow_.cell(copy.target + at);
            if (epoch_of(target.written) == pending_epoch) target.written = 0;
        }
    block.copies.clear();
    block.copy_groups.clear();
}

}  // namespace cudasim::checks
