// See message_loop.h.
#include "debugger/server/message_loop.h"

#include "debugger/dap/framing.h"

namespace cudasim::debugger {

void read_messages(Adapter& adapter, const std::function<std::string()>& receive) {
    MessageReader reader;
    bool is_there = true;
    for (std::string bytes = receive(); is_there && !bytes.empty(); bytes = receive()) {
        reader.add(bytes);
        while (is_there) {
            const MessageReader::Result result = reader.next();
            if (!result.complaint.empty()) adapter.complain(result.complaint);
            if (result.message) adapter.receive(*result.message);
            is_there = !result.broken && adapter.session().client_is_there.load();
            if (!result.message && result.complaint.empty()) break;
        }
        if (!is_there) break;
    }
    adapter.session().end();
}

}  // namespace cudasim::debugger
